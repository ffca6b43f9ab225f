"""Reductions as expressions."""

from __future__ import annotations

from dataclasses import dataclass

from .expr import Axis, Const, Expr, Var


@dataclass(frozen=True, eq=False)
class Combiner:
    """The function by which a custom reduction combines tuples: `result` of `lhs` and `rhs`, from `identity` on."""

    name: str
    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[Expr, ...]
    identity: tuple[Const, ...]
    starts: tuple[Expr, ...] = ()
    """The identity in place of these constants, if it is of expressions: of variables, data axes and elements."""


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Expr):
    """Value `index` of the reduction of `values` over `axes`, where `condition` holds.

    Stands only at the top of a compute. `reducer` is the name of a known one unless there is a `combiner`.
    """

    reducer: str
    values: tuple[Expr, ...]
    axes: tuple[Axis, ...]
    condition: Expr | None = None
    combiner: Combiner | None = None
    index: int = 0
    init: tuple[Expr, ...] = ()
    """The start, if that is not the one of its reducer: numbers, or elements at the data axes."""

    @property
    def axis(self) -> list[Axis]:
        return list(self.axes)

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.values[self.index].dtype
