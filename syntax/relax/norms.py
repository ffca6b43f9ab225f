"""Products, norms and losses of Relax: how calls are read, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ...dialects.sizes import product as product_of
from ...dialects.sizes import same
from ...support.errors import FrontendError
from ..relay.defaults import completed
from ..relay.expr import Call, Expr, Op, Tuple, TupleGetItem
from .rows import Values
from .terms import axes_of, call, dtype_of, product, rank_of, scalar, shape_of


def _matmul(values: Values) -> Expr:
    left, right = values["x1"], values["x2"]
    ranks = rank_of(left), rank_of(right)
    if not all(ranks):
        raise FrontendError("matmul: expected operands of at least one dimension, got a scalar")
    a = left if ranks[0] > 1 else call("expand_dims", left, axis=0)
    b = right if ranks[1] > 1 else call("expand_dims", right, axis=1)
    matrices = product(a, b, values["out_dtype"])
    dropped = [-2] * (ranks[0] == 1) + [-1] * (ranks[1] == 1)
    return call("squeeze", matrices, axis=dropped) if dropped else matrices


def _written_matmul(call_: Call) -> Values | None:
    attrs = completed(cast(Op, call_.op).name, call_.attrs)
    if attrs["transpose_a"] or attrs["transpose_b"]:
        return None
    return {"x1": call_.args[0], "x2": call_.args[1], "out_dtype": attrs["out_dtype"] or None}


def _linear(values: Values) -> Expr:
    data, weight, bias = values["data"], values["weight"], values["bias"]
    if rank_of(data) == 1:
        row = _linear({**values, "data": call("expand_dims", data, axis=0), "bias": None})
        product: Expr = call("squeeze", row, axis=[0])
    else:
        product = call("nn.dense", data, weight, out_dtype=values["out_dtype"])
    return product if bias is None else call("add", product, bias)


def _written_linear(call_: Call) -> Values:
    data, weight = call_.args
    return {"data": data, "weight": weight, "bias": None, "out_dtype": call_.attrs["out_dtype"] or None}


def _row_norm(op: str, *factors: str) -> Callable[[Values], Expr]:
    """`layer_norm` and `rms_norm`: rows along several axes are those of a tensor with these joined at the end."""

    def read(values: Values) -> Expr:
        data, options = values["data"], {key: values[key] for key in _NORM_OPTIONS if key in values}
        rank = rank_of(data)
        axes = axes_of(values["axes"], rank)
        if len(axes) == 1:
            return call(op, data, *(values[name] for name in factors), axis=_only(values["axes"]), **options)
        order = [*(axis for axis in range(rank) if axis not in axes), *axes]
        is_last = order == list(range(rank))
        moved = data if is_last else call("transpose", data, axes=order)
        shape = shape_of(moved)
        rows = call("reshape", moved, newshape=[*shape[: rank - len(axes)], product_of(shape[rank - len(axes) :])])
        joined = [call("reshape", values[name], newshape=[-1]) for name in factors]
        normal = call("reshape", call(op, rows, *joined, axis=-1, **options), newshape=list(shape))
        return normal if is_last else call("transpose", normal, axes=[order.index(axis) for axis in range(rank)])

    return read


def _only(axes: Any) -> int:
    return axes if isinstance(axes, int) else axes[0]


def _written_row_norm(*operands: str) -> Callable[[Call], Values]:
    def write(call_: Call) -> Values:
        attrs = completed(cast(Op, call_.op).name, call_.attrs)
        return {**dict(zip(operands, call_.args, strict=True)), "axes": attrs.pop("axis"), **attrs}

    return write


def _prelu(values: Values) -> Expr:
    data, alpha = values["data"], values["alpha"]
    channels, (count,) = shape_of(data)[axes_of(values["axis"], rank_of(data))[0]], shape_of(alpha)
    if same(count, 1) and not same(channels, 1):
        alpha = call("broadcast_to", alpha, shape=[channels])
    return call("nn.prelu", data, alpha, axis=values["axis"])


def _written_prelu(call_: Call) -> Values:
    return {"data": call_.args[0], "alpha": call_.args[1], "axis": completed("nn.prelu", call_.attrs)["axis"]}


_NORM_OPTIONS = ("epsilon", "center", "scale")


def _options(values: Values) -> dict[str, Any]:
    return {key: values[key] for key in _NORM_OPTIONS}


def _batch_norm(values: Values) -> Expr:
    names = ("data", "gamma", "beta", "moving_mean", "moving_var")
    data, gamma, beta, *moving = (values[name] for name in names)
    axis = axes_of(values["axis"], rank_of(data))[0]
    if not values["training"]:
        return call("nn.batch_norm", data, gamma, beta, *moving, axis=axis, **_options(values))
    others = [a for a in range(rank_of(data)) if a != axis]
    mean = call("mean", data, axis=others)
    spread = call("variance", data, call("mean", data, axis=others, keepdims=True), axis=others)
    normal = call("nn.batch_norm", data, gamma, beta, mean, spread, axis=axis, **_options(values))
    momentum = float(values["momentum"])
    moved = [
        call(
            "add",
            call("multiply", old, scalar(1 - momentum, old)),
            call("multiply", new, scalar(momentum, old)),
        )
        for old, new in zip(moving, (mean, spread), strict=True)
    ]
    return Tuple([TupleGetItem(normal, 0), *moved])


def _written_batch_norm(call_: Call) -> Values:
    names = ("data", "gamma", "beta", "moving_mean", "moving_var")
    attrs = completed("nn.batch_norm", call_.attrs)
    return {**dict(zip(names, call_.args, strict=True)), **attrs, "momentum": 0.1, "training": False}


def _channel_norm(op: str) -> Callable[[Values], Expr]:
    """`group_norm` and `instance_norm`, whose axes are all behind the channels."""

    def read(values: Values) -> Expr:
        data = values["data"]
        rank = rank_of(data)
        (channel,) = axes_of(values["channel_axis"], rank)
        axes = sorted(axes_of(values["axes"], rank))
        if axes != [a for a in range(1, rank) if a != channel]:
            expected = [a for a in range(1, rank) if a != channel]
            raise FrontendError(f"{op}: expected all other axes behind the batch, {expected}, got {axes}")
        groups = {"num_groups": values["num_groups"]} if "num_groups" in values else {}
        return call(op, data, values["gamma"], values["beta"], axis=channel, **groups, **_options(values))

    return read


def _written_channel_norm(call_: Call) -> Values:
    data, gamma, beta = call_.args
    attrs = completed(cast(Op, call_.op).name, call_.attrs)
    rank = rank_of(data)
    (channel,) = axes_of(attrs.pop("axis"), rank)
    axes = [a for a in range(1, rank) if a != channel]
    groups = {"num_groups": attrs.pop("num_groups")} if "num_groups" in attrs else {}
    operands = {"data": data, "gamma": gamma, "beta": beta}
    return {**operands, **groups, "channel_axis": channel, "axes": axes, **attrs}


def _nll_loss(values: Values) -> Expr:
    predictions, weights = values["predictions"], values["weights"]
    if weights is None:
        classes = shape_of(predictions)[min(1, rank_of(predictions) - 1)]
        weights = call("ones", shape=[classes], dtype=dtype_of(predictions))
    options = {key: values[key] for key in ("reduction", "ignore_index")}
    return call("nn.nll_loss", predictions, values["targets"], weights, **options)


def _written_nll_loss(call_: Call) -> Values:
    names = ("predictions", "targets", "weights")
    return {**dict(zip(names, call_.args, strict=True)), **completed("nn.nll_loss", call_.attrs)}


NORMS_READ: Mapping[str, Callable[[Values], Expr]] = {
    "matmul": _matmul,
    "linear": _linear,
    "nn.prelu": _prelu,
    "nn.layer_norm": _row_norm("nn.layer_norm", "gamma", "beta"),
    "nn.rms_norm": _row_norm("nn.rms_norm", "weight"),
    "nn.batch_norm": _batch_norm,
    "nn.group_norm": _channel_norm("nn.group_norm"),
    "nn.instance_norm": _channel_norm("nn.instance_norm"),
    "nn.nll_loss": _nll_loss,
}
NORMS_WRITTEN: Mapping[str, Callable[[Call], Values | None]] = {
    "matmul": _written_matmul,
    "linear": _written_linear,
    "nn.prelu": _written_prelu,
    "nn.layer_norm": _written_row_norm("data", "gamma", "beta"),
    "nn.rms_norm": _written_row_norm("data", "weight"),
    "nn.batch_norm": _written_batch_norm,
    "nn.group_norm": _written_channel_norm,
    "nn.instance_norm": _written_channel_norm,
    "nn.nll_loss": _written_nll_loss,
}
"""As `READ` and `WRITTEN` of `forms.py`."""
