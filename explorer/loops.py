"""The loops of a kernel as text, each line with the layers that it serves and the machine code it became."""

from __future__ import annotations

from dataclasses import dataclass

from ..planning.artifact import Artifact
from ..provenance.span import layer_names
from .calls import find_calls
from .code import kernel_of, line_location, machine_lines
from .report import some, table

_NAMES = 2
"""The number of layers of a line that are named."""


@dataclass(frozen=True)
class LoopLine:
    """A line of a kernel's TIR."""

    text: str
    layers: tuple[str, ...]
    native: int
    """The number of machine instructions that it became."""


@dataclass(frozen=True)
class Loops:
    """The TIR of a kernel, with the layers of one of its calls."""

    symbol: str
    call: str
    others: tuple[str, ...]
    """Other calls of the same machine code, which have other layers."""
    lines: tuple[LoopLine, ...]

    def __str__(self) -> str:
        title = f"kernel {self.symbol}"
        if self.call:
            title += f"\nlayers of the call {self.call}"
        if self.others:
            title += f", one of {len(self.others) + 1}: --call takes {some(self.others, 3)}"
        rows = [
            (number, line.native or "", some(line.layers, _NAMES), line.text)
            for number, line in enumerate(self.lines, 1)
        ]
        return f"{title}\n\n{table(rows, ('line', 'native', 'layers', 'tir'), indent='')}"


def loops(artifact: Artifact, kernel: str | int, call: str | None = None) -> Loops:
    """The TIR of a kernel; of several calls, layers are those of the first, or of the one called `call`.

    Raises FrontendError for an unknown kernel or call.
    """
    selection = find_calls(artifact, kernel, call)
    code = kernel_of(artifact, selection.kernel)
    native = machine_lines(code)
    layers = selection.asked[0].layers if selection.asked else ()
    lines = tuple(
        LoopLine(text, layer_names(line_location(code, number, layers)), native[number])
        for number, text in enumerate(code.tir.splitlines(), 1)
    )
    names = [kernel_call.name for kernel_call in (*selection.asked, *selection.others)]
    return Loops(code.symbol, names[0] if names else "", tuple(names[1:]), lines)
