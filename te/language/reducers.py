"""Reductions: `reduce_axis`, the known reducers, and `comm_reducer` for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from ...dialects.sizes import SizeExpr
from ...support.dtypes import BOOL, fail
from .expr import (
    NUMERIC,
    Axis,
    Binary,
    Const,
    Expr,
    ExprLike,
    Extent,
    Read,
    Var,
    binary,
    constant,
    convert,
)
from .reductions import Combiner, Reduce
from .tensor import check_extent
from .walks import walk

Values: TypeAlias = ExprLike | Sequence[ExprLike]
Identity: TypeAlias = (
    Callable[[str], object]
    | Callable[[str, str], object]
    | Callable[[str, str, str], object]
    | Callable[[str, str, str, str], object]
)
"""The start of a reduction, for a dtype per value."""


def reduce_axis(dom: tuple[Extent, Extent], name: str = "rv") -> Axis:
    """A reduction variable over `dom = (begin, end)`."""
    begin, end = (check_extent(bound, "te.reduce_axis") for bound in dom)
    if isinstance(begin, int) and isinstance(end, int) and end < begin:
        fail(f"te.reduce_axis: expected an end of at least the begin, got {dom} (axis '{name}')")
    extent = end if isinstance(begin, int) and begin == 0 else end - begin
    return Axis(name, extent, start=begin, reduce=True)


def _reduce_axes(name: str, axis: Axis | Sequence[Axis]) -> tuple[Axis, ...]:
    axes = (axis,) if isinstance(axis, Axis) else tuple(axis)
    if not axes or any(not isinstance(a, Axis) or not a.reduce for a in axes):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te.{name}: expected reduce axes, got {list(axes)}")
    if len(set(axes)) != len(axes):
        fail(f"te.{name}: expected each reduce axis once, got {list(axes)}")
    return axes


def _where(name: str, where: ExprLike | None) -> Expr | None:
    if where is None:
        return None
    condition = convert(where)
    if condition.dtype != BOOL:
        fail(f"te.{name}: expected bool as condition, got {condition.dtype}; compare it")
    return condition


def _starts(name: str, init: Values | None, values: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the start of a reduction, none without `init`."""
    if init is None:
        return ()
    inits = cast(Sequence[ExprLike], init if isinstance(init, tuple | list) else (init,))
    if len(inits) != len(values):
        fail(f"te.{name}: expected {len(values)} values as init, got {len(inits)}")
    starts = [convert(start, value.dtype) for start, value in zip(inits, values, strict=True)]
    for start, value in zip(starts, values, strict=True):
        if start.dtype != value.dtype:
            fail(f"te.{name}: expected init of {value.dtype}, got {start.dtype}")
        if not isinstance(start, Read | Const):
            fail(f"te.{name}: expected a number or an element of a tensor as init, got {type(start).__name__}")
    for node in walk(starts):
        if isinstance(node, Axis) and node.reduce:
            fail(f"te.{name}: expected init to depend on data axes only, got {node.name}")
    return tuple(starts)


def _known(kind: str, operator: str) -> Callable[..., Expr]:
    def reduce(
        expr: ExprLike,
        axis: Axis | Sequence[Axis] | ExprLike,
        where: ExprLike | None = None,
        init: ExprLike | None = None,
    ) -> Expr:
        number = isinstance(axis, int | float | np.generic | SizeExpr)
        if number or (isinstance(axis, Expr) and not isinstance(axis, Axis)):
            return binary(operator, expr, axis)
        value = convert(expr)
        if value.dtype == BOOL:
            fail(f"te.{kind}: expected numbers, got bool; use astype")
        axes, condition = _reduce_axes(kind, axis), _where(kind, where)
        return Reduce(kind, (value,), axes, condition, init=_starts(kind, init, (value,)))

    reduce.__name__ = kind
    reduce.__doc__ = (
        f"The {kind} of an expression over reduce axes, where a condition holds; or of two expressions. "
        "init: what it starts from, a number or an element at the data axes."
    )
    return reduce


sum = _known("sum", "add")
prod = _known("prod", "mul")
max = _known("max", "max")
min = _known("min", "min")


def comm_reducer(fcombine: Callable[[Any, Any], Any], fidentity: Identity, name: str = "reduce") -> Callable[..., Any]:
    """Make a reducer of your own: commutative and associative, of numbers or of tuples of them.

    fcombine: two operands (of a tuple reduction: two lists) -> the combination. fidentity: a dtype per operand -> the
    values it starts from: constants, or expressions of variables, data axes and elements. The result is called as
    `te.sum` is: `(expr or tuple, axis, where, init)`; of a tuple it gives a tuple, which is the whole body of a
    compute; with expressions in place of axes it combines them at once. Raises ScheduleError when the parts do not fit
    together.

        argmax = te.comm_reducer(
            lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
            lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax")
    """

    def reduce(
        expr: Values,
        axis: Axis | Sequence[Axis] | ExprLike,
        where: ExprLike | None = None,
        init: Values | None = None,
        *more: ExprLike,
    ) -> Any:
        if isinstance(axis, NUMERIC) and not (isinstance(axis, Axis) and axis.reduce):
            operands = (axis, *(argument for argument in (where, init) if argument is not None), *more)
            result: Any = convert(cast(ExprLike, expr))
            for operand in operands:
                result = convert(fcombine(result, convert(cast(ExprLike, operand))))
            return result
        several = isinstance(expr, tuple | list)
        values = tuple(convert(e) for e in (cast(Sequence[ExprLike], expr) if several else (cast(ExprLike, expr),)))
        axes, condition = _reduce_axes(name, axis), _where(name, where)
        combiner = _combiner(name, [value.dtype for value in values], fcombine, fidentity, several)
        if not several and (reducer := _known_as(combiner)) is not None:
            return Reduce(reducer, values, axes, condition, init=_starts(name, init, values))
        if combiner.starts and init is not None:
            fail(f"te.comm_reducer '{name}': expected init or an identity of expressions, got both")
        starts = combiner.starts or _starts(name, init, values)
        results = tuple(
            Reduce(
                reducer=name, values=values, axes=axes, condition=condition, combiner=combiner, index=index, init=starts
            )
            for index in range(len(values))
        )
        return results if several else results[0]

    reduce.__name__ = name
    return reduce


def _known_as(combiner: Combiner) -> str | None:
    """Return the named reducer that is equal to this one."""
    if combiner.starts:
        return None
    match combiner.result[0]:
        case Binary(op="add", a=a, b=b) if combiner.identity[0].value == 0:
            reducer = "sum"
        case Binary(op="mul", a=a, b=b) if combiner.identity[0].value == 1:
            reducer = "prod"
        case _:
            return None
    return reducer if {a, b} == {combiner.lhs[0], combiner.rhs[0]} else None


def _several(values: object) -> Sequence[ExprLike]:
    return cast(Sequence[ExprLike], values if isinstance(values, tuple | list) else (values,))


def _combiner(
    name: str, dtypes: Sequence[str], fcombine: Callable[[Any, Any], Any], fidentity: Identity, several: bool
) -> Combiner:
    lhs, rhs = (tuple(Var(f"{side}{i}", dtype) for i, dtype in enumerate(dtypes)) for side in ("x", "y"))
    combined = fcombine(list(lhs), list(rhs)) if several else fcombine(lhs[0], rhs[0])
    result = tuple(map(convert, _several(combined)))
    identity = list(map(convert, _several(cast(Callable[..., object], fidentity)(*dtypes))))
    for role, parts in (("fcombine", result), ("fidentity", identity)):
        if [part.dtype for part in parts] != list(dtypes):
            actual = ", ".join(part.dtype for part in parts)
            fail(f"te.comm_reducer '{name}': expected {role} to give ({', '.join(dtypes)}), got ({actual})")
    terms = [node for node in walk(identity) if isinstance(node, Reduce) or (isinstance(node, Axis) and node.reduce)]
    if terms:
        fail(f"te.comm_reducer '{name}': expected fidentity to depend on data axes only, got {terms[0]}")
    constants = tuple(part if isinstance(part, Const) else constant(0, part.dtype) for part in identity)
    for node in walk(result):
        if isinstance(node, Axis | Read | Reduce):
            actual = node.name if isinstance(node, Axis) else type(node).__name__
            fail(f"te.comm_reducer '{name}': expected fcombine to use its operands and variables only, got {actual}")
    return Combiner(name, lhs, rhs, result, constants, () if constants == tuple(identity) else tuple(identity))
