"""Block schedules as text: the loops around each block.

```
block C
  for i.0 in 2    # parallel
    for i.1 in 4
      for k in 6
```
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from ...dialects.tir import BlockOp, ForOp, prim_funcs
from ...provenance.walk import walk
from .state import loops_of, name_of


def blocks_of(module: ModuleOp) -> Iterator[tuple[str, BlockOp]]:
    """The blocks of kernels by their names, in order; of an equal name `C`, `C#1`, .."""
    count: dict[str, int] = {}
    for func in prim_funcs(module):
        for op in walk(func):
            if isinstance(op, BlockOp):
                label = op.label.data
                number = count[label] = count.get(label, -1) + 1
                yield f"{label}#{number}" if number else label, op


def marks(loop: ForOp) -> list[str]:
    """The marks of a loop: how it runs, and its notes."""
    kind = [] if loop.kind.data == "serial" else [loop.kind.data]
    return kind + [f"{key} = {value}" for key, value in loop.attributes.items()]


def trees(module: ModuleOp) -> dict[str, list[str]]:
    """The lines of each block, by its name."""
    found: dict[str, list[str]] = {}
    for label, block in blocks_of(module):
        lines = [f"block {label}"]
        for depth, loop in enumerate(loops_of(block), 1):
            about = ", ".join(marks(loop))
            lines.append(f"{'  ' * depth}for {name_of(loop)} in {loop.trip_count}" + (f"  # {about}" if about else ""))
        found[label] = lines
    return found
