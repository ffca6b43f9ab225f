"""What the elementwise operators mean, in numpy. The caller casts results to the type the op states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...dialects.element_types import DTYPES, numpy_dtype
from ...dialects.relay import elementwise as ops
from ...dialects.relay.operator import Operator, Signature

AnyArray: TypeAlias = npt.NDArray[Any]
Evaluator: TypeAlias = Callable[[Signature, Sequence[AnyArray]], Sequence[AnyArray]]


def is_float(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.floating) or dtype == ml_dtypes.bfloat16


def widened(x: AnyArray) -> AnyArray:
    """Half precision as float32, in which formulas of several steps are computed; others unchanged."""
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize < 4 else x


def relu(x: AnyArray) -> AnyArray:
    return np.maximum(x, x.dtype.type(0))


def rsqrt(x: AnyArray) -> AnyArray:
    return 1 / np.sqrt(widened(x))


def divide(x: AnyArray, y: AnyArray) -> AnyArray:
    """x / y; integers towards zero."""
    if is_float(x.dtype):
        return np.true_divide(x, y)
    quotient, remainder = np.divmod(x, y)
    return quotient + ((remainder != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def power(x: AnyArray, y: AnyArray) -> AnyArray:
    """x to the power y; for integers and a negative y the quotient 1 / x**-y towards zero."""
    if is_float(x.dtype):
        return np.power(x, y)
    positive = np.power(x, np.maximum(y, 0))
    reciprocal = np.where(np.abs(x) == 1, np.power(x, np.abs(y)), 0)
    return np.where(y < 0, reciprocal, positive)


def erf(x: AnyArray) -> AnyArray:
    """The error function, computed in float64 and rounded once."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def sigmoid(x: AnyArray) -> AnyArray:
    wide = widened(x)
    return 1 / (1 + np.exp(-wide))


def clip(sig: Signature, x: AnyArray) -> AnyArray:
    low, high = sig.get("a_min"), sig.get("a_max")
    if not is_float(x.dtype):
        info = np.iinfo(x.dtype)
        # Bounds beyond the type's range do not bind; a fractional one binds at the next integer inside.
        low = math.ceil(max(low, info.min)) if low > info.min else info.min
        high = math.floor(min(high, info.max)) if high < info.max else info.max
    return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))


def leaky_relu(sig: Signature, x: AnyArray) -> AnyArray:
    return np.where(x > 0, x, x * x.dtype.type(sig.get("alpha")))


def cast(sig: Signature, x: AnyArray) -> AnyArray:
    return x.astype(numpy_dtype(DTYPES[sig.str("dtype")]), copy=False)


def _plain(function: Callable[..., AnyArray]) -> Evaluator:
    return lambda sig, inputs: (function(*inputs),)


def _attributed(function: Callable[..., AnyArray]) -> Evaluator:
    return lambda sig, inputs: (function(sig, *inputs),)


TABLE: dict[type[Operator], Evaluator] = {
    ops.AbsOp: _plain(np.abs),
    ops.AcosOp: _plain(np.arccos),
    ops.AcoshOp: _plain(np.arccosh),
    ops.AsinOp: _plain(np.arcsin),
    ops.AsinhOp: _plain(np.arcsinh),
    ops.AtanOp: _plain(np.arctan),
    ops.AtanhOp: _plain(np.arctanh),
    ops.BitwiseNotOp: _plain(np.invert),
    ops.CeilOp: _plain(np.ceil),
    ops.CopyOp: _plain(np.copy),
    ops.CosOp: _plain(np.cos),
    ops.CoshOp: _plain(np.cosh),
    ops.ErfOp: _plain(erf),
    ops.ExpOp: _plain(np.exp),
    ops.FloorOp: _plain(np.floor),
    ops.IsFiniteOp: _plain(np.isfinite),
    ops.IsInfOp: _plain(np.isinf),
    ops.IsNanOp: _plain(np.isnan),
    ops.LogOp: _plain(np.log),
    ops.Log10Op: _plain(np.log10),
    ops.Log2Op: _plain(np.log2),
    ops.LogicalNotOp: _plain(np.logical_not),
    ops.NegativeOp: _plain(np.negative),
    ops.OnesLikeOp: _plain(np.ones_like),
    ops.ReluOp: _plain(relu),
    ops.RoundOp: _plain(np.round),
    ops.RsqrtOp: _plain(rsqrt),
    ops.SigmoidOp: _plain(sigmoid),
    ops.SignOp: _plain(np.sign),
    ops.SinOp: _plain(np.sin),
    ops.SinhOp: _plain(np.sinh),
    ops.SqrtOp: _plain(np.sqrt),
    ops.TanOp: _plain(np.tan),
    ops.TanhOp: _plain(np.tanh),
    ops.TruncOp: _plain(np.trunc),
    ops.ZerosLikeOp: _plain(np.zeros_like),
    ops.ClipOp: _attributed(clip),
    ops.LeakyReluOp: _attributed(leaky_relu),
    ops.CastOp: _attributed(cast),
    ops.AddOp: _plain(np.add),
    ops.SubtractOp: _plain(np.subtract),
    ops.MultiplyOp: _plain(np.multiply),
    ops.DivideOp: _plain(divide),
    ops.PowerOp: _plain(power),
    ops.MaximumOp: _plain(np.maximum),
    ops.MinimumOp: _plain(np.minimum),
    ops.EqualOp: _plain(np.equal),
    ops.LessOp: _plain(np.less),
    ops.GreaterOp: _plain(np.greater),
}
