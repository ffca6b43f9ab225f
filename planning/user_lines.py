"""Objects of kernels whose line tables name the Python files that asked for the code, in place of their TIR.

Made where code is linked or exported, when WHENCE_SOURCE_LINES is set to anything but "" and 0. Kernels are shared by
calls and kept in a cache, so the objects that they have name nothing but their TIR.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import LocationAttr

from ..lowering.kernel.record import Kernel
from ..lowering.llvm_to_native.compile import with_places
from ..provenance.span import Caller, leaves, positions
from .artifact import Artifact


def kernel_object(artifact: Artifact, index: int) -> bytes:
    """Return the object of kernel number `index` as it is to be linked."""
    kernel = artifact.kernels[index]
    if os.environ.get("WHENCE_SOURCE_LINES", "0") in ("", "0") or not isinstance(kernel, Kernel):
        return kernel.object
    places = user_lines(kernel, [call.layers for call in artifact.calls if call.kernel == index])
    return with_places(kernel.llvm, artifact.target, kernel.lines, places) if places else kernel.object


def user_lines(kernel: Kernel, calls: Sequence[Sequence[LocationAttr]]) -> dict[int, Caller]:
    """Line of a kernel's TIR -> file and line of the user's Python; `calls` are the layers of the slots, per call.

    Only lines that serve one line of Python in all calls are there: an instruction has one line, or else its TIR's.
    """
    result: dict[int, Caller] = {}
    for number, slots in enumerate(kernel.lines, start=1):
        behind = {line for layers in calls for slot in slots for line in _python(layers, slot)}
        if len(behind) == 1 and (line := behind.pop()) is not None:
            result[number] = line
    return result


def _python(layers: Sequence[LocationAttr], slot: int) -> Iterator[Caller | None]:
    """The lines of Python of a slot's layers; None for a layer that has none."""
    for leaf in leaves(layers[slot]) if slot < len(layers) else ():
        innermost = next(iter(positions(leaf)), None)
        yield innermost[:2] if innermost is not None and innermost.file.endswith(".py") else None
