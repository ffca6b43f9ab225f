"""Rarer functions, statistics that leave out what is no number, and integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import pi
from typing import Any

import numpy as np

from ...dialects.relay import elementwise as ew
from ...dialects.relay.rearrange import ReverseOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import TakeOp, TransposeOp
from ...support.dtypes import Array
from ..importing.attributes import Element, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, axis_of, constant, copysign, is_nan, log, where
from ..meanings import formulas
from ..meanings.activations import log_sigmoid
from ..meanings.elementwise import infinite
from ..meanings.reductions import Axes, mean_of_numbers, of_numbers, reduced
from ..meanings.special_functions import erf_inverse, erfc
from .context import Context
from .elementwise import of_floats
from .promotion import FLOAT, LONG, floating, kind_of, meeting
from .reductions import over


def _entropy(x: Term) -> Term:
    inside = where(x > 0.0, -(x * log(x)), where(x.equal(0.0), x.number(0.0), -np.inf))
    return where(is_nan(x), x, inside)


def _angle(x: Term) -> Term:
    return where(is_nan(x), x, where(x < 0.0, x.number(pi), 0.0))


def _normal_part(x: Term) -> Term:
    """The part of a normal distribution that lies below."""
    return erfc(x * -(0.5**0.5)) * 0.5


def _log_sigmoid(x: Term) -> tuple[Term, ...]:
    """The logarithm; the other result, which only gradients need, is not given."""
    return (log_sigmoid(x),)


# Statistics.


def _of_numbers(function: Callable[..., Term]) -> Converter[Context]:
    """Of integers plain sums, of int64."""

    def computed(x: Term, axes: Axes, keepdims: bool, dtype: np.dtype[Any] | None) -> Term:
        dtype = dtype or (x.dtype if kind_of(x.dtype) == 2 else LONG)
        if kind_of(dtype) < 2:
            return reduced(SumOp, x.to(dtype), axes, keepdims)
        return function(x.to(dtype), axes=axes, keepdims=keepdims)

    return over(computed, dtype=Element(None))


# Order of elements.


def _reversed(x: Term, axis: int) -> Term:
    return x.apply(ReverseOp, axis=(axis,))


def _turned(x: Term, k: int, dims: tuple[int, int]) -> Term:
    """A plane of two axes turned by right angles."""
    turns = k % 4
    first, second = (axis_of(x, axis) for axis in dims)
    if turns in (1, 2):
        x = x.apply(ReverseOp, axis=(second,))
    if turns in (2, 3):
        x = x.apply(ReverseOp, axis=(first,))
    if not turns % 2:
        return x if turns else x.apply(ew.CopyOp)
    order = list(range(len(x.shape)))
    order[first], order[second] = second, first
    return x.apply(TransposeOp, axes=order)


def cross(a: Term, b: Term, axis: int | None) -> Term:
    """The product of vectors of three numbers, along the first axis that has as many unless another is said."""
    if axis is None:
        threes = [at for at, extent in enumerate(a.shape) if extent.__class__ is int and extent == 3]
        if not threes:
            a.ctx.fail("an axis of 3 numbers", str(list(a.shape)))
        axis = threes[0]
    axis = axis_of(a, axis)
    order = [constant(a.ctx, np.asarray(places), "axes") for places in ((1, 2, 0), (2, 0, 1))]
    left, right = ([x.apply(TakeOp, places, axis=axis) for places in order] for x in (a, b))
    return left[0] * right[1] - left[1] * right[0]


def _sum_to_size(x: Term, size: tuple[int, ...]) -> Term:
    """The opposite of a broadcast: the sum over axes that a shape does not have, or has as 1."""
    before = len(x.shape) - len(size)
    axes = [*range(before), *(before + at for at, n in enumerate(size) if n.__class__ is int and n == 1)]
    return (x.apply(SumOp, axis=axes, keepdims=True) if axes else x.apply(ew.CopyOp)).reshape(*size)


def _logspace(start: float, end: float, steps: int, base: float, dtype: np.dtype[Any]) -> Array:
    return (base ** np.linspace(start, end, steps, dtype=np.float64)).astype(dtype)


_FLOAT_POWER = meeting(ew.PowerOp, "self exponent", dtype=lambda common: np.dtype(np.float64))
TABLE: dict[str, Converter[Context]] = {
    "aten.nansum.default": _of_numbers(partial(of_numbers, SumOp, neutral=0.0)),
    "aten.nanmean.default": _of_numbers(mean_of_numbers),
    **{f"aten.float_power.{form}": _FLOAT_POWER for form in ("Scalar", "Tensor_Scalar", "Tensor_Tensor")},
    **{
        f"aten.special_xlog1py.{form}": meeting(partial(formulas.times_log1p, nan=True), dtype=floating)
        for form in ("default", "other_scalar", "self_scalar")
    },
    "aten.angle.default": of_floats(_angle),
    "aten.copysign.Scalar": meeting(copysign, dtype=floating),
    "aten.copysign.Tensor": meeting(copysign, dtype=floating),
    "aten.cross.default": row(cross, "self other", axis=Int(None, name="dim")),
    "aten.erfinv.default": of_floats(erf_inverse),
    "aten.fliplr.default": row(partial(_reversed, axis=1), "self"),
    "aten.flipud.default": row(partial(_reversed, axis=0), "self"),
    "aten.fmax.default": meeting(partial(formulas.of_numbers, ew.MaximumOp)),
    "aten.fmin.default": meeting(partial(formulas.of_numbers, ew.MinimumOp)),
    "aten.isneginf.default": row(partial(infinite, above=False), "self"),
    "aten.isposinf.default": row(partial(infinite, below=False), "self"),
    "aten.ldexp.Tensor": meeting(formulas.ldexp, dtype=floating),
    "aten.log_sigmoid_forward.default": row(_log_sigmoid, "self"),
    "aten.logaddexp2.default": meeting(formulas.log_add_exp2, dtype=floating),
    "aten.logspace.default": row(
        _logspace, start=Float(0.0), end=Float(0.0), steps=Int(), base=Float(10.0), dtype=Element(FLOAT)
    ),
    "aten.rot90.default": row(_turned, "self", k=Int(1), dims=Ints((0, 1), count=2)),
    "aten.signbit.default": row(formulas.signed, "self"),
    "aten.sinc.default": of_floats(formulas.sinc),
    "aten.special_entr.default": of_floats(_entropy),
    "aten.special_ndtr.default": of_floats(_normal_part),
    "aten.sum_to_size.default": row(_sum_to_size, "self", size=Ints()),
}
