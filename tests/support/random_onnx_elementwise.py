"""How nodes of operators on single elements, reductions and normalizations are drawn.

A recipe draws one node, with what it reads. It keeps away from numbers where a rounding decides much.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from random_onnx import Program, Value, is_float

Recipe = Callable[[Program], Any]
Dtype = np.dtype[Any]

_EVERYWHERE = ("Abs Neg Relu Sigmoid Atan Tanh Identity Softsign Softplus Mish Sin Cos Selu").split()
_BETWEEN: dict[str, tuple[float, float]] = {
    "Sqrt": (0.1, 100),
    "Exp": (-5, 5),
    "Log": (0.1, 100),
    "Reciprocal": (0.25, 100),
    "Tan": (-1.1, 1.1),
    "Asin": (-0.9, 0.9),
    "Acos": (-0.9, 0.9),
    "Sinh": (-4, 4),
    "Cosh": (-4, 4),
    "Asinh": (-50, 50),
    "Acosh": (1.1, 50),
    "Atanh": (-0.9, 0.9),
}
_MOVES = ("Abs", "Neg", "Relu", "Identity", "Ceil", "Floor", "Round", "Sign")
"""Which round nothing."""
_STEPS = ("Ceil", "Floor", "Round", "Sign")
"""Where a rounding may decide: of exact numbers only."""
_WITH: dict[str, dict[str, tuple[float, float]]] = {
    "LeakyRelu": {"alpha": (-0.5, 0.9)},
    "Elu": {"alpha": (0.2, 2)},
    "Celu": {"alpha": (0.5, 2)},
    "HardSigmoid": {"alpha": (0.1, 0.5), "beta": (0.1, 0.9)},
    "Selu": {"alpha": (0.5, 2), "gamma": (0.5, 2)},
}


def _unary(op: str, p: Program, low: float | None = None, high: float | None = None, exact: bool = False) -> None:
    x = p.tensor(p.dtype(op, "X" if op == "Mish" and not _has(p, op, "T") else "T"), low, high, exact=exact)
    p.emit(op, x, exact=op in _MOVES, attributes=_attributes(p, op))


def _but_float64(op: str, p: Program) -> None:
    """References compute it in float32."""
    p.emit(op, p.tensor(p.dtype(op, among=_narrow)))


def _has(p: Program, op: str, param: str) -> bool:
    return any(c.type_param_str == param for c in p.schema(op).type_constraints)


def _attributes(p: Program, op: str) -> dict[str, float]:
    return {name: p.dice.uniform(*bounds) for name, bounds in _WITH.get(op, {}).items() if p.chance(0.6)}


def gelu(p: Program) -> None:
    """The references round 1 + tanh(..), or 1 + erf(..), near zero for negative x: to a part of x, not the result."""
    x = p.tensor(p.dtype("Gelu", among=_narrow))
    numbers = x.array.astype(np.float64)
    results = numbers * (1 + np.tanh(0.8 * numbers)) / 2
    loss = np.abs(numbers).max(initial=0) / np.abs(results).max(initial=1e-3)
    p.emit("Gelu", x, steps=8 * max(1.0, float(loss)), approximate=p.choice((None, "none", "tanh")))


def thresholded(p: Program) -> None:
    p.emit("ThresholdedRelu", p.tensor(p.dtype("ThresholdedRelu"), exact=True), alpha=p.choice((None, 0.3)))


def shrink(p: Program) -> None:
    x = p.tensor(p.dtype("Shrink", among=_narrow), exact=True)
    p.emit("Shrink", x, lambd=p.choice((None, 1.3)), bias=p.choice((None, 0.25) if is_float(x.dtype) else (None, 1.0)))


def clip(p: Program) -> None:
    dtype = p.dtype("Clip")
    x = p.tensor(dtype)
    low = p.fresh((), dtype, 0 if dtype.kind == "u" else -2, 1) if p.chance(0.7) else None
    high = p.fresh((), dtype, 0, 3) if p.chance(0.7) else None
    p.emit("Clip", x, low, high, exact=True)


def _narrow(dtype: Dtype) -> bool:
    """Signed, and not float64, of which some references make float32."""
    return dtype.kind != "u" and dtype != np.float64


def tests_of_floats(op: str, p: Program) -> None:
    dtype = p.dtype(op, "T1")
    shape = p.shape()
    array = np.where(p.numbers.random(shape) < 0.4, p.choice((np.nan, np.inf, -np.inf)), p.array(shape, dtype))
    more = {name: p.choice((None, 0, 1)) for name in ("detect_negative", "detect_positive")} if op == "IsInf" else {}
    p.emit(op, p.given(np.asarray(array).astype(dtype)), **more)


def _pair(p: Program, dtype: Dtype, exact: bool = False) -> tuple[Value, Value]:
    x = p.tensor(dtype, exact=exact)
    y = p.fresh(p.partner(x.shape), dtype)
    return (x, y) if p.chance(0.5) else (y, x)


def _binary(op: str, p: Program, exact: bool = False) -> None:
    p.emit(op, *_pair(p, p.dtype(op), exact))


def div(p: Program) -> None:
    x = p.tensor(p.dtype("Div"))
    y = p.array(p.partner(x.shape), x.dtype, 0.3, 5)
    p.emit("Div", x, p.given(np.where(p.numbers.random(y.shape) < 0.5, y, y if x.dtype.kind == "u" else -y)), gain=5)


def mod(p: Program) -> None:
    dtype = p.dtype("Mod")
    x = p.tensor(dtype, exact=True)
    y = p.array(p.partner(x.shape), dtype, 1, 7)
    sign = -1 if dtype.kind != "u" and p.chance(0.5) else 1
    p.emit(
        "Mod", x, p.given((y * dtype.type(sign)).astype(dtype)), fmod=1 if is_float(dtype) else p.choice((None, 0, 1))
    )


def power(p: Program) -> None:
    base = p.tensor(p.dtype("Pow"), 0.3, 4)
    exponent = p.fresh(p.partner(base.shape), p.dtype("Pow", "T1"), 0, 3)
    p.emit("Pow", base, exponent, gain=30, steps=20)


def shift(p: Program) -> None:
    x = p.tensor(p.dtype("BitShift"))
    y = p.fresh(p.partner(x.shape), x.dtype, 0, x.dtype.itemsize * 8 - 1)
    p.emit("BitShift", x, y, direction=p.choice(("LEFT", "RIGHT")))


def _comparison(op: str, p: Program) -> None:
    p.emit(op, *_pair(p, p.dtype(op), exact=True))


def _logical(op: str, p: Program) -> None:
    p.emit(op, *_pair(p, np.dtype(bool)))


def _variadic(op: str, p: Program) -> None:
    dtype = p.dtype(op)
    x = p.tensor(dtype)
    others = [p.fresh(p.partner(x.shape), dtype) for _ in range(p.dice.randint(0, 3))]
    # What two operands broadcast to, a third need not fit.
    kept: list[Value] = []
    shape = x.shape
    for one in others:
        try:
            shape = np.broadcast_shapes(shape, one.shape)
            kept.append(one)
        except ValueError:
            continue
    p.emit(op, x, *kept, exact=op in ("Max", "Min"), gain=4)


def where(p: Program) -> None:
    x, y = _pair(p, p.dtype("Where"))
    shape = np.broadcast_shapes(x.shape, y.shape)
    p.emit("Where", p.fresh([n if p.chance(0.7) else 1 for n in shape], bool), x, y, exact=True)


def prelu(p: Program) -> None:
    x = p.tensor(p.dtype("PRelu"))
    slope = [n if p.chance(0.6) else 1 for n in x.shape]
    p.emit("PRelu", x, p.fresh(slope[p.dice.randint(0, len(slope)) :], x.dtype))


def _reduction(op: str, p: Program) -> None:
    low, high = {"ReduceLogSum": (0.2, 5), "ReduceProd": (0.5, 1.5), "ReduceLogSumExp": (-4, 4)}.get(op, (None, None))
    # Where logarithms of integers are rounded, the standard leaves open.
    x = p.tensor(p.dtype(op, among=is_float if "Log" in op else None), low, high, empty=False)
    axes = [a - x.rank if p.chance(0.3) else a for a in range(x.rank) if p.chance(0.5)] or None
    keep = p.choice((None, 0, 1))
    steps = 8.0 + x.array.size
    if p.attributed(op, "axes"):
        p.emit(op, x, axes=axes, keepdims=keep, gain=4, steps=steps)
        return
    given = p.known(axes) if axes else p.known([]) if p.chance(0.3) else None
    p.emit(op, x, given, keepdims=keep, noop_with_empty_axes=p.choice((None, 0, 1)), gain=4, steps=steps)


def _arg(op: str, p: Program) -> None:
    x = p.tensor(p.dtype(op), rank=(1, 4), exact=True, empty=False)
    last = p.choice((None, 0, 1))
    p.emit(op, x, axis=p.choice((None, p.axis(x.rank))), keepdims=p.choice((None, 0, 1)), select_last_index=last)


def cumsum(p: Program) -> None:
    x = p.tensor(p.dtype("CumSum"), rank=(1, 4))
    axis = p.known(p.axis(x.rank), p.choice((np.int32, np.int64)))
    p.emit("CumSum", x, axis, exclusive=p.choice((None, 0, 1)), reverse=p.choice((None, 0, 1)), steps=50)


def _softmax(op: str, p: Program) -> None:
    x = p.tensor(p.dtype(op), -20, 20, rank=(1, 4), empty=False, exact=op == "Hardmax")
    p.emit(op, x, axis=p.choice((None, p.axis(x.rank))), gain=20, steps=20)


def _scale(p: Program, shape: tuple[int, ...], like: Value, low: float = -2, high: float = 2) -> Value:
    return p.fresh(shape, like.dtype, low, high)


def layer_norm(p: Program) -> None:
    x = p.fresh(p.shape(1, 4, False), np.float32)
    axis = p.axis(x.rank)
    kept = x.shape[axis:]
    bias = _scale(p, kept, x) if p.chance(0.5) else None
    wanted = (True, *((True, True) if p.chance(0.2) else ()))
    epsilon = p.choice((0.1, 0.01))
    p.emit("LayerNormalization", x, _scale(p, kept, x), bias, wanted=wanted, axis=axis, epsilon=epsilon, steps=60)


def _plain(dtype: Dtype) -> bool:
    return dtype.name in ("float32", "float64")


def batch_norm(p: Program) -> None:
    x = p.tensor(p.dtype("BatchNormalization", among=_plain), -50, 50, rank=(2, 4), empty=False)
    c = (x.shape[1],)
    more = (_scale(p, c, x), _scale(p, c, x), _scale(p, c, x), _scale(p, c, x, 0.2, 3))
    p.emit("BatchNormalization", x, *more, epsilon=p.choice((None, 0.1)), gain=5, steps=30)


def instance_norm(p: Program) -> None:
    x = p.fresh(p.shape(3, 4, False), p.dtype("InstanceNormalization", among=_plain))
    c = (x.shape[1],)
    p.emit("InstanceNormalization", x, _scale(p, c, x), _scale(p, c, x), epsilon=p.choice((0.01, 0.1)), steps=60)


def group_norm(p: Program) -> None:
    groups = p.size(3)
    x = p.fresh((p.size(3), groups * p.size(3), *p.shape(1, 2, False)), np.float32)
    c = (x.shape[1] if p.opset >= 21 else groups,)
    more = (_scale(p, c, x), _scale(p, c, x))
    p.emit("GroupNormalization", x, *more, num_groups=groups, epsilon=0.01, steps=60)


def lp_norm(p: Program) -> None:
    x = p.fresh(p.shape(1, 4, False), p.dtype("LpNormalization", among=_plain), 0.1, 3)
    p.emit("LpNormalization", x, axis=p.choice((None, p.axis(x.rank))), p=p.choice((None, 1, 2)), steps=30)


def mean_variance(p: Program) -> None:
    x = p.fresh(tuple(n + 2 for n in p.shape(4, 4, False)), np.float32)
    p.emit("MeanVarianceNormalization", x, axes=p.choice((None, [0, 2, 3], [1, 2])), steps=100)


def lrn(p: Program) -> None:
    x = p.tensor(np.float32, -10, 10, rank=(3, 4), empty=False)
    p.emit("LRN", x, size=p.choice((1, 3, 5)), alpha=p.choice((None, 0.5)), bias=p.choice((None, 1.5)), steps=30)


def dropout(p: Program) -> None:
    ratio = p.known(0.3, np.float32) if p.chance(0.5) else None
    p.emit("Dropout", p.tensor(p.dtype("Dropout")), ratio, wanted=p.choice(((True,), (True, True))), exact=True)


def unary_bits(op: str, p: Program) -> None:
    p.emit(op, p.tensor(np.dtype(bool) if op == "Not" else p.dtype(op)))


def _sum_to_shape(p: Program) -> None:
    """Losses: scores of classes, labels, weights."""
    op = p.choice(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
    classes = p.size(5)
    shape = (p.size(4), classes, *p.shape(0, 2, False))
    dtype = p.dtype(op, among=_plain)
    labels = p.fresh((shape[0], *shape[2:]), p.choice((np.int32, np.int64)), 0, classes - 1)
    weights = p.fresh((classes,), dtype, 0.2, 2) if p.chance(0.5) else None
    ignore = p.dice.randint(0, classes - 1) if p.chance(0.2) and classes > 2 else None
    reduction = p.choice((None, "none", "mean", "sum"))
    wanted = (True, True) if op[0] == "S" and p.chance(0.4) else (True,)
    p.emit(
        op, p.fresh(shape, dtype), labels, weights, wanted=wanted, ignore_index=ignore, reduction=reduction, steps=60
    )


RECIPES: dict[str, Recipe] = {
    **{op: partial(_unary, op) for op in (*_EVERYWHERE, *_WITH)},
    **{op: partial(_unary, op, low=low, high=high) for op, (low, high) in _BETWEEN.items()},
    **{op: partial(_unary, op, exact=True) for op in _STEPS},
    **{op: partial(tests_of_floats, op) for op in ("IsNaN", "IsInf")},
    **{op: partial(_binary, op) for op in ("Add", "Sub", "Mul", "BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    **{op: partial(_comparison, op) for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")},
    **{op: partial(_logical, op) for op in ("And", "Or", "Xor")},
    **{op: partial(_variadic, op) for op in ("Max", "Min", "Sum", "Mean")},
    **{
        f"Reduce{kind}": partial(_reduction, f"Reduce{kind}")
        for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    },
    **{op: partial(_arg, op) for op in ("ArgMax", "ArgMin")},
    **{op: partial(_softmax, op) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    **{op: partial(unary_bits, op) for op in ("Not", "BitwiseNot")},
    **{op: partial(_but_float64, op) for op in ("Erf", "HardSwish")},
    "Gelu": gelu,
    "ThresholdedRelu": thresholded,
    "Shrink": shrink,
    "Clip": clip,
    "Div": div,
    "Mod": mod,
    "Pow": power,
    "BitShift": shift,
    "Where": where,
    "PRelu": prelu,
    "CumSum": cumsum,
    "LayerNormalization": layer_norm,
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "LRN": lrn,
    "Dropout": dropout,
    "NegativeLogLikelihoodLoss": _sum_to_shape,
}
