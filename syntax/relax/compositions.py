"""Operators of Relax that several operators of relay make up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from ..relay.expr import Constant, Expr
from .rows import Values
from .terms import call, constant, dtype_of, number_of, product, scalar, shape_of, variance


def _square(values: Values) -> Expr:
    return call("multiply", values["x"], values["x"])


def _relu6(values: Values) -> Expr:
    return call("clip", values["data"], a_min=0.0, a_max=6.0)


def _silu(values: Values) -> Expr:
    return call("multiply", values["data"], call("sigmoid", values["data"]))


def _gelu(values: Values) -> Expr:
    """x * (0.5 + 0.5 * erf(x / sqrt(2))), in TVM's order."""
    data = values["data"]
    erf = call("erf", call("multiply", data, scalar(sqrt(0.5), data)))
    return call("multiply", data, call("add", scalar(0.5, data), call("multiply", erf, scalar(0.5, data))))


def _gelu_tanh(values: Values) -> Expr:
    data = values["data"]
    cube = call("multiply", call("multiply", data, data), data)
    inner = call("add", data, call("multiply", cube, scalar(0.044715, data)))
    tanh = call("tanh", call("multiply", inner, scalar(sqrt(2 / np.pi), data)))
    half = call("multiply", data, scalar(0.5, data))
    return call("multiply", half, call("add", tanh, scalar(1.0, data)))


def _selu(values: Values) -> Expr:
    data = values["data"]
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    below = call("multiply", call("subtract", call("exp", data), scalar(1.0, data)), scalar(alpha, data))
    chosen = call("where", call("greater", data, scalar(0.0, data)), data, below)
    return call("multiply", chosen, scalar(scale, data))


def _softplus(values: Values) -> Expr:
    data, beta = values["data"], float(values["beta"])
    scaled = call("multiply", data, scalar(beta, data))
    # log(1 + exp(s)) without an overflow of exp.
    above = call("maximum", scaled, scalar(0.0, data))
    tail = call("log", call("add", scalar(1.0, data), call("exp", call("negative", call("abs", scaled)))))
    soft = call("divide", call("add", above, tail), scalar(beta, data))
    linear = call("greater", scaled, scalar(float(values["threshold"]), data))
    return call("where", linear, data, soft)


def _std(values: Values) -> Expr:
    return call("sqrt", variance(values))


def _fma(values: Values) -> Expr:
    return call("add", call("multiply", values["x1"], values["x2"]), values["x3"])


def _log_add_exp(values: Values) -> Expr:
    a, b = values["x1"], values["x2"]
    greatest = call("maximum", a, b)
    total = call("add", call("exp", call("subtract", a, greatest)), call("exp", call("subtract", b, greatest)))
    return call("add", greatest, call("log", total))


def _flatten(values: Values) -> Expr:
    return call("reshape", values["x"], newshape=[-1])


def _outer(values: Values) -> Expr:
    return call("multiply", call("expand_dims", values["x1"], axis=1), call("expand_dims", values["x2"], axis=0))


def _masked_fill(values: Values) -> Expr:
    data, value = values["x"], values["value"]
    return call("where", values["mask"], value if isinstance(value, Expr) else scalar(value, data), data)


def _bucketize(values: Values) -> Expr:
    dtype = "int32" if values["out_int32"] else "int64"
    return call("searchsorted", values["boundaries"], values["input_tensor"], right=values["right"], dtype=dtype)


def _eye(values: Values) -> Expr:
    n, m, k = values["n"], values["m"], values["k"]
    eye: Array = np.eye(n, n if m is None else m, k)
    return constant(eye, values["dtype"])


def _eye_like(values: Values) -> Expr:
    rows, columns = shape_of(values["x"])
    wanted = {"n": rows, "m": columns, "k": values["k"], "dtype": values["dtype"] or dtype_of(values["x"])}
    return _eye(wanted)


def _pixel_shuffle(values: Values) -> Expr:
    return call("nn.depth_to_space", values["data"], block_size=values["upscale_factor"], mode="CRD")


def _size(values: Values) -> Expr:
    return call("ndarray_size", values["expr"], dtype="int64")


def _attention(values: Values) -> Expr:
    """softmax(q k^T * scale + bias) v over (batch, length, heads, width)."""
    if values["window_size"] is not None:
        raise FrontendError(f"attention: expected no window_size, got {values['window_size']}")
    query, key, value = (call("transpose", values[name], axes=[0, 2, 1, 3]) for name in ("query", "key", "value"))
    width = shape_of(values["query"])[3]
    scale = values["scale"] if values["scale"] is not None else 1 / sqrt(int(width))
    scores = product(query, call("transpose", key, axes=[0, 1, 3, 2]), None)
    scores = call("multiply", scores, scalar(number_of(scale, "scale"), values["query"]))
    if values["bias"] is not None:
        scores = call("add", scores, values["bias"])
    if values["causal_mask"] is not None:
        scores = _causal(scores, values)
    mixed = product(call("nn.softmax", scores), value, None)
    return call("transpose", mixed, axes=[0, 2, 1, 3])


def _causal(scores: Expr, values: Values) -> Expr:
    rows, columns = (int(shape_of(values[name])[1]) for name in ("query", "key"))
    corners = {"TopLeft": 0, "BottomRight": columns - rows}
    if values["causal_mask"] not in corners:
        raise FrontendError(f"attention: expected TopLeft or BottomRight as causal_mask, got {values['causal_mask']}")
    seen: Array = np.tri(rows, columns, corners[values["causal_mask"]], dtype=np.bool_)
    return call("where", Constant(seen), scores, scalar(-np.inf, values["query"]))


COMPOSED: Mapping[str, Callable[[Values], Expr]] = {
    "square x": _square,
    "std x axis=None keepdims=False": _std,
    "ewise_fma x1 x2 x3": _fma,
    "log_add_exp x1 x2": _log_add_exp,
    "flatten x": _flatten,
    "outer x1 x2": _outer,
    "masked_fill x mask value=!": _masked_fill,
    "bucketize input_tensor boundaries out_int32=False right=False": _bucketize,
    'eye n=! m=None k=0 dtype="float32"': _eye,
    "eye_like x k=0 dtype=None": _eye_like,
    "size expr": _size,
    "nn.relu6 data": _relu6,
    "nn.silu data": _silu,
    "nn.gelu data": _gelu,
    "nn.gelu_tanh data": _gelu_tanh,
    "nn.selu data": _selu,
    "nn.softplus data beta=1.0 threshold=20.0": _softplus,
    "nn.pixel_shuffle data upscale_factor=!": _pixel_shuffle,
    "nn.attention query key value bias? scale=None causal_mask=None window_size=None": _attention,
    "nn.attention_bias query key value bias? scale=None causal_mask=None window_size=None": _attention,
}
"""Operators that relay does not have, by their signatures: the expressions that they are."""
