"""Calls of operators as TVM has them, which are several calls of operators here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .expr import Call, Constant, Expr, Op, Tuple, TupleGetItem

Form = Callable[[Sequence[Expr], Mapping[str, Any]], "Expr | None"]


def _call(name: str, *args: Expr, **attrs: Any) -> Call:
    return Call(Op(name), list(args), attrs)


def _vector(*numbers: int) -> Constant:
    return Constant(np.array(numbers, np.int64))


def argwhere(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Expr:
    """The points of the elements that are not 0, (?, rank) of int32."""
    both = _call("padded_argwhere", *args, **attrs)
    points, number = (TupleGetItem(both, index) for index in range(2))
    end = _call("reshape", number, newshape=[1])
    return _call("cast", _call("dyn.strided_slice", points, _vector(0), end, _vector(1)), dtype="int32")


def unique(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Tuple:
    """The distinct elements, padded; where each is first, which each one is, how many there are; how often each is."""
    rest = dict(attrs)
    counts = rest.pop("return_counts", False)
    whole = _call("padded_unique", *args, **rest)
    fields: list[Expr] = [TupleGetItem(whole, 0)]
    for index in (1, 2, 4, 3) if counts else (1, 2, 4):
        field = _call("cast", TupleGetItem(whole, index), dtype="int32")
        fields.append(_call("reshape", field, newshape=[1]) if index == 4 else field)
    return Tuple(fields)


def arange(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Expr | None:
    """Of three operands; None of none, where attributes say what they do."""
    if not args:
        return None
    rest = {key: value for key, value in attrs.items() if key not in ("start", "stop", "step")}
    if len(args) == 3 and all(isinstance(arg, Constant) for arg in args):
        numbers = (float(arg.data.item()) for arg in args if isinstance(arg, Constant))
        return _call("arange", **dict(zip(("start", "stop", "step"), numbers, strict=True)), **rest)
    return _call("dyn.arange", *args, **rest)


CALLS: dict[str, Form] = {"argwhere": argwhere, "unique": unique, "arange": arange}
"""TVM's name -> the expression for operands and attributes; None where there is an operator of that form."""
