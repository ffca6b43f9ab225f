"""The heads of loops in TVMScript."""

from __future__ import annotations

from whence.te.language.expr import Const, Var
from whence.te.language.statements import For, ForKind
from whence.te.language.walks import walk
from whence.tir.script_blocks import Names

_LOOPS = {ForKind.PARALLEL: "parallel", ForKind.VECTORIZED: "vectorized", ForKind.UNROLLED: "unroll"}


def head_of(stmt: For, names: Names) -> str:
    """Return what a loop runs over: `range(8)`, `T.parallel(n)`."""
    extent = names.expr(stmt.extent)
    ends = extent if starts_at_zero(stmt) else f"{names.expr(stmt.min)}, {names.expr(stmt.min + stmt.extent)}"
    notes = {key: value for key, value in stmt.annotations.items() if isinstance(value, int | str)}
    kind = _LOOPS.get(ForKind(stmt.kind), "serial")
    last = f", annotations={notes!r}" if notes else ""
    return f"range({ends})" if kind == "serial" and not notes else f"T.{kind}({ends}{last})"


def grid(stmt: For) -> list[For]:
    """Loops that hold nothing but one another, which run in order from 0 to extents that do not depend on them."""
    nest = [stmt]
    while _is_plain(nest[-1]) and isinstance(inner := nest[-1].body, For) and _is_plain(inner):
        variables = {loop.loop_var for loop in nest}
        if any(node in variables for node in walk([inner.extent]) if isinstance(node, Var)):
            break
        nest.append(inner)
    return nest


def starts_at_zero(loop: For) -> bool:
    """Return whether a loop begins at the number 0."""
    return isinstance(loop.min, Const) and loop.min.value == 0


def _is_plain(loop: For) -> bool:
    return starts_at_zero(loop) and ForKind(loop.kind) not in _LOOPS and not loop.annotations
