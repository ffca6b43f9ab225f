"""The factor or the number of parts of a split: a number, or a size that a call decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...dialects.sizes import Size, SizeExpr, UndecidedSize
from ...dialects.sizes.expr import symbol
from ...support.dtypes import is_float, python_number
from ...support.errors import ScheduleError
from ..language.expr import Axis, Const, Expr
from ..language.extents import evaluate
from ..language.walks import walk
from .choices import Choice, plain
from .record import Record
from .stage_state import StageState


class _Names(Mapping[str, "float | SizeExpr"]):
    """Every variable as the size of its name."""

    def __getitem__(self, name: str) -> SizeExpr:
        return symbol(name)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def split_count(stage: StageState, record: Record, what: str, value: Any) -> tuple[Size, int | str]:
    """The count that `value` is, as a size of the function, and as it is recorded: by names.

    value: an int of at least 1, an expression of variables, or a size over names. A size counts as 1 where a call has
    less. Raises ScheduleError for anything else.
    """
    number = plain(value) if isinstance(value, Choice) else value
    number = python_number(number.value if isinstance(number, Const) else number)
    try:
        named = _named(number)
    except (ScheduleError, UndecidedSize) as error:
        stage.fail("split", f"expected an int or a size of variables as {what}, got {value!r} ({error})")
    if named is None:
        stage.fail("split", f"expected an int or a size of variables as {what}, got {value!r}")
    if isinstance(named, int) and named < 1:
        stage.fail("split", f"expected a positive {what.removeprefix('the ')}, got {named}")
    if isinstance(value, Choice):
        return record.size(named), value
    return record.size(named), named if isinstance(named, int) else str(named)


def _named(value: object) -> Size | None:
    """A count by the names of sizes; None for what is none."""
    if isinstance(value, Expr):
        nodes = walk([value])
        return None if is_float(value.dtype) or any(isinstance(n, Axis) for n in nodes) else evaluate(value, _Names())
    return value if isinstance(value, int | SizeExpr) and not isinstance(value, bool) else None
