"""Why is this kernel, or this line of it, here? The layers it serves, and the passes that made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from ..dialects.relay.operator import Operator
from ..dialects.relay.python_call import PythonCallOp
from ..lowering.kernel.record import Kernel
from ..lowering.kernel.tuned import Applied
from ..planning.artifact import Artifact, Call
from ..provenance.ledger import Entry, Ledger
from ..provenance.numbers import number_of
from ..provenance.span import layer_names, leaves
from ..support.errors import FrontendError, expectation
from ..support.names import shown
from .calls import Found, find_calls
from .code import compiler_of, kernel_of, line_location, machine_code
from .events import told
from .index import Index
from .layers import Layer, unique_leaves
from .report import count, percent, some, table
from .source_lines import SourceLine, source_lines, table_of_lines
from .times import Times

_INSTRUCTIONS = 40
"""The number of instructions of a line that are printed."""


@dataclass(frozen=True)
class OperatorOrigin:
    """A relay operator of a kernel: what it serves, how it came to be, what became of it."""

    op: str
    result: str
    layers: tuple[str, ...]
    stages: tuple[str, ...]
    entries: tuple[Entry, ...]
    compiler: str = ""
    """The external compiler that runs it, if one does."""

    def __str__(self) -> str:
        lines = [
            f"  {self.op} : {self.result}",
            f"    serves     {', '.join(map(shown, self.layers)) or 'no known layer'}",
        ]
        if self.compiler:
            lines.append(f"    run by     {self.compiler}")
        else:
            lines.append(f"    te stages  {', '.join(self.stages) or 'none of its own'}")
        if self.entries:
            lines += ["    made by", table(map(told, self.entries), indent="      ")]
        elif self.layers:
            lines.append("    made by    the frontend, unchanged since")
        else:
            lines.append("    made by    not known: it has no location")
        return "\n".join(lines)


@dataclass(frozen=True)
class LayerPart:
    """A layer that a call serves, and the operators it is in."""

    layer: Layer
    operators: tuple[OperatorOrigin, ...]
    seconds: float | None = None
    """Its part of the call's time, estimated from work, if that was measured."""


@dataclass(frozen=True)
class CallOrigin:
    """A call of the kernel."""

    name: str
    layers: tuple[LayerPart, ...]
    operators: tuple[OperatorOrigin, ...]
    """In the order of the kernel."""

    time: tuple[float, float] | None = None
    """Seconds of the call and of all calls, if measured."""

    def __str__(self) -> str:
        title = f"{self.name} serves {count(len(self.layers), 'layer')}"
        if self.time is not None:
            seconds, total = self.time
            title += f" in {1e3 * seconds:.3f} ms, {percent(seconds / total)} of all kernels"
        rows = [
            (
                part.layer.name,
                part.layer.type,
                part.layer.origin,
                ", ".join(operator.op.removeprefix("relay.") for operator in part.operators),
                *self._share(part),
            )
            for part in self.layers
        ]
        return "\n".join([title + (":" if rows else ""), *([table(rows)] if rows else [])])

    def _share(self, part: LayerPart) -> tuple[str, ...]:
        if self.time is None or part.seconds is None:
            return ()
        total = self.time[0] or 1.0
        return (f"{1e3 * part.seconds:.3f} ms", percent(part.seconds / total))


@dataclass(frozen=True)
class Line:
    """A line of the kernel's TIR: its text, its layers in each call, and the machine code made of it."""

    number: int
    text: str
    layers: tuple[tuple[str, tuple[str, ...]], ...]
    """(call, layers)."""
    instructions: tuple[str, ...]
    lines: tuple[SourceLine, ...] = ()
    """The lines of the exported program that called these layers."""
    places: tuple[str, ...] = ()
    """The origins of the line in your own operator, if it is a kernel with locations of its own."""

    def __str__(self) -> str:
        lines = [f"line {self.number}: {self.text.strip()}", *(f"  from {shown(at)}" for at in self.places)]
        several = len(self.layers) > 1
        for call, names in self.layers:
            served = ", ".join(map(shown, names)) or "no layer"
            lines.append(f"  serves {served}" + (f"  in {call}" if several else ""))
        if self.lines:
            lines.append(table_of_lines(self.lines, indent="    "))
        if self.instructions:
            lines.append(f"  became {count(len(self.instructions), 'machine instruction')}")
        else:
            lines.append("  became no machine instruction: LLVM removed it, or merged it with other lines")
        lines += [f"    {text}" for text in self.instructions[:_INSTRUCTIONS]]
        if len(self.instructions) > _INSTRUCTIONS:
            lines.append(f"    and {len(self.instructions) - _INSTRUCTIONS} more")
        return "\n".join(lines)


@dataclass(frozen=True)
class Why:
    """The answer to `why`."""

    symbol: str
    calls: tuple[CallOrigin, ...]
    """The requested calls."""
    twins: tuple[str, ...]
    """Other calls of the same machine code."""
    line: Line | None
    compiler: str = ""
    """The external compiler that runs it; "" for machine code of ours."""
    tuned: Applied | None = None
    """The decisions of tuning about it; None: it is made by rule."""
    lines: tuple[SourceLine, ...] = ()
    """The lines of the exported program that called its layers."""

    def __str__(self) -> str:
        parts = [f"kernel {self.symbol}" + (f", run by {self.compiler}" if self.compiler else "")]
        if self.tuned is not None:
            parts[0] += f"\ntuned: {self.tuned.about}"
        if self.twins:
            parts[0] += f"\nshared with {count(len(self.twins), 'other call')}: {some(self.twins, 3)}"
        if self.line is not None:
            return "\n\n".join([*parts, str(self.line)])
        parts += map(str, self.calls)
        if self.lines:
            parts.append(f"lines of the program:\n{table_of_lines(self.lines)}")
        if self.calls:
            first = self.calls[0]
            title = "operators" if len(self.calls) == 1 else f"operators, as in {first.name}"
            parts.append("\n".join([f"{title}:", *map(str, first.operators)]))
        return "\n\n".join(parts)


def why(
    artifact: Artifact | Index,
    kernel: str | int,
    line: int | None = None,
    call: str | None = None,
    times: Times | None = None,
) -> Why:
    """The layers, operators, passes and stages behind a kernel, or behind one line of its TIR.

    artifact: or its index, for one who asks more than once.
    kernel, call: as in `find_calls`. times: what calls and layers took, to be told as well.
    Raises FrontendError for an unknown kernel, call or line.
    """
    index = artifact if isinstance(artifact, Index) else Index(artifact)
    selection = find_calls(index.artifact, _kernel_of(index, kernel), call)
    code = kernel_of(index.artifact, selection.kernel)
    if line is not None:
        others = tuple(kernel_call.name for kernel_call in selection.others)
        line_of = _line(code, line, selection.asked, index.artifact.ledger)
        return Why(code.symbol, (), others, line_of, tuned=index.artifact.tuned.get(code.symbol))
    return _why(index, selection, times)


def why_all(artifact: Artifact | Index, times: Times | None = None) -> Iterator[Why]:
    """The layers, operators, passes and stages behind every kernel, with all its calls: in time linear in the calls.

    Arguments as for `why`.
    """
    index = artifact if isinstance(artifact, Index) else Index(artifact)
    calls: dict[int, list[Call]] = {number: [] for number in range(len(index.artifact.kernels))}
    for call in index.artifact.calls:
        calls[call.kernel].append(call)
    return (_why(index, Found(kernel, tuple(own), ()), times) for kernel, own in calls.items())


def _kernel_of(index: Index, name: str | int) -> str | int:
    """The call that serves a layer or tensor of a name that is no kernel's, where it is one."""
    kernels = {
        other for code in index.artifact.calls for other in (code.name, kernel_of(index.artifact, code.kernel).symbol)
    }
    if not isinstance(name, str) or name in kernels or name.isdecimal():
        return name
    try:
        layers = index.find(name)
    except FrontendError:
        return name
    wanted = (leaf for layer in layers for leaf in index.leaves.get(layer, (layer.leaf,)))
    calls = sorted({position for leaf in wanted for position in index.slots.get(leaf, ())})
    names = tuple(dict.fromkeys(index.artifact.calls[position].name for position in calls))
    if len(names) != 1:
        raise FrontendError(expectation(f"kernel of '{shown(name)}'", "one", some(names) if names else "none"))
    return names[0]


def _why(index: Index, selection: Found, times: Times | None) -> Why:
    code = kernel_of(index.artifact, selection.kernel)
    others = tuple(kernel_call.name for kernel_call in selection.others)
    origins = tuple(_origin(index, kernel_call, times) for kernel_call in selection.asked)
    layers = dict.fromkeys(part.layer.leaf for origin in origins for part in origin.layers)
    tuned, lines = index.artifact.tuned.get(code.symbol), source_lines(index.artifact.ledger, layers)
    return Why(
        symbol=code.symbol, calls=origins, twins=others, line=None, compiler=compiler_of(code), tuned=tuned, lines=lines
    )


def _origin(index: Index, call: Call, times: Times | None) -> CallOrigin:
    artifact, ops = index.artifact, index.ops(call.name)
    stages, compiler = index.parts(call.kernel, call.name).stages, compiler_of(kernel_of(artifact, call.kernel))
    operators: dict[Operation, OperatorOrigin] = {}
    for slot, op in enumerate(ops):
        if isinstance(op, Operator | PythonCallOp):
            operators[op] = OperatorOrigin(
                op.name,
                ", ".join(str(result.type) for result in op.results),
                layer_names(op.location),
                stages.get(slot, ()),
                tuple(artifact.ledger.history(number_of(op))),
                compiler,
            )
    serving: dict[LocationAttr, list[Operation]] = {}
    for op in operators:
        for leaf in dict.fromkeys(leaves(op.location)):
            serving.setdefault(leaf, []).append(op)
    # Weights are inside of what an external compiler runs; they are no layers of their own.
    inside = unique_leaves(op.location for op in ops)
    layers = [leaf for leaf in inside if not compiler or leaf not in index.owners or index.owners[leaf].leaf == leaf]
    position = index.positions[id(call)]
    spent = (
        {layer.leaf: seconds for layer, seconds in times.layers[position].items() if layer}
        if times is not None
        else None
    )
    parts = [
        LayerPart(
            Layer.of(leaf, index.types.get(leaf, ""), index.artifact.ledger.modules.get(leaf, "")),
            tuple(operators[op] for op in serving.get(leaf, ())),
            spent.get(leaf, 0.0) if spent is not None else None,
        )
        for leaf in _sorted(layers)
    ]
    return CallOrigin(
        call.name,
        tuple(parts),
        tuple(operators.values()),
        (times.calls[position], times.total) if times is not None else None,
    )


def _sorted(locations: Sequence[LocationAttr]) -> list[LocationAttr]:
    def position(leaf: LocationAttr) -> tuple[str, int]:
        layer = Layer.of(leaf)
        return layer.file, layer.node

    return sorted(locations, key=position)


def _line(kernel: Kernel, number: int, calls: Sequence[Call], ledger: Ledger) -> Line:
    text = kernel.tir.splitlines()
    if compiler := compiler_of(kernel):
        raise FrontendError(f"line {number}: expected a kernel with TIR, got {kernel.symbol}, which {compiler} runs")
    if not 1 <= number <= len(text):
        raise FrontendError(f"line {number}: expected one from 1 to {len(text)} (the TIR of {kernel.symbol})")
    served = [(call.name, line_location(kernel, number, call.layers)) for call in calls]
    return Line(
        number,
        text[number - 1],
        tuple((call, layer_names(location)) for call, location in served),
        tuple(
            instruction.text + ("" if instruction.exact else "  (inferred)")
            for instruction in machine_code(kernel)
            if instruction.line == number
        ),
        source_lines(ledger, unique_leaves(location for _, location in served)),
        dict(kernel.places).get(number, ()),
    )
