"""Numbers out of expressions, as TVM has them at `topi.utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.arith import Analyzer
from whence.support.dtypes import fail
from whence.te.language.expr import Const, Expr


def get_const_int(expr: Any) -> int:
    """The int that an expression of numbers is; raises ScheduleError for another one."""
    if not isinstance(expr, Expr):
        return int(expr)
    simple = Analyzer().simplify(expr)
    if not isinstance(simple, Const):
        fail(f"topi.utils: expected a number, got {expr}")
    return int(simple.value)


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Return extents as ints; an extent that is not a number stays."""
    numbers: list[Any] = []
    for item in in_tuple:
        simple = Analyzer().simplify(item) if isinstance(item, Expr) else item
        numbers.append(int(simple.value) if isinstance(simple, Const) else simple)
    return tuple(int(item) if isinstance(item, int) else item for item in numbers)
