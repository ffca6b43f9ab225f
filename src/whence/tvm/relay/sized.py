"""Builders whose shapes may be expressions: `relay.reshape(x, relay.shape_of(y))` is a `dyn.reshape`."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any, cast

import numpy as np

from whence.relay.builders import Builder, TupleWrapper, builder, const
from whence.syntax.relay.expr import Constant, Expr, Tuple

SIZED: dict[str, tuple[str, ...]] = {
    "reshape": ("newshape",),
    "broadcast_to": ("shape",),
    "tile": ("reps",),
    "strided_slice": ("begin", "end", "strides"),
    "full": ("shape",),
    "zeros": ("shape",),
    "ones": ("shape",),
    "arange": ("start", "stop", "step"),
    "topk": ("k",),
    "one_hot": ("depth",),
    "squeeze": ("axis",),
    "expand_dims": ("axis",),
    "sparse_to_dense": ("output_shape",),
    "nn.pad": ("pad_width",),
    "nn.upsampling": ("scale_h", "scale_w"),
    "image.resize2d": ("size", "roi"),
}
"""The parameters of operators with a `dyn` twin that are operands of the twin."""
_DEFAULTS: dict[str, dict[str, Any]] = {"image.resize2d": {"roi": np.zeros(4, np.float32)}}


def _plain(value: Any) -> Any:
    """Return known numbers as Python's, else an expression."""
    if isinstance(value, Constant):
        return value.data.tolist()
    if isinstance(value, list | tuple) and any(isinstance(item, Expr) for item in cast("list[Any]", value)):
        items: list[Any] = [_plain(item) for item in cast("list[Any]", value)]
        if not any(isinstance(item, Expr) for item in items):
            return items
        scalars = [item if isinstance(item, Expr) else const(item, "int64") for item in items]
        return builder("stack")(Tuple([builder("cast")(scalar, dtype="int64") for scalar in scalars]), axis=0)
    return cast(Any, value)


def sized(name: str, static: Builder) -> Builder:
    """Return a builder of an operator that makes its `dyn` form if a parameter of its shape is an expression."""
    deciding, signature = SIZED[name], inspect.signature(static)

    @wraps(static)
    def build(*args: Any, **kwargs: Any) -> Any:
        span = kwargs.pop("span", None)
        arguments = signature.bind(*args, **kwargs).arguments
        arguments |= {key: _plain(arguments[key]) for key in deciding if key in arguments}
        if not any(isinstance(arguments.get(key), Expr) for key in deciding):
            return static(**arguments, **({} if span is None else {"span": span}))
        if name == "arange":
            first, last = (
                (0, arguments["start"]) if arguments.get("stop") is None else (arguments["start"], arguments["stop"])
            )
            arguments |= {
                "start": first,
                "stop": last,
                "step": 1 if arguments.get("step") is None else arguments["step"],
            }
        arguments = _DEFAULTS.get(name, {}) | {key: value for key, value in arguments.items() if value is not None}
        for key in deciding:
            if key in arguments and not isinstance(arguments[key], Expr):
                arguments[key] = const(np.asarray(arguments[key]), np.asarray(arguments[key]).dtype.name)
        if name == "nn.pad":
            arguments.setdefault("pad_value", 0.0)
        call = builder(f"dyn.{name}")(**arguments, span=span)
        return TupleWrapper(call, 2) if name == "topk" and arguments.get("ret_type", "both") == "both" else call

    return build


def resized(static: dict[str, Builder]) -> dict[str, Builder]:
    """Return builders for all of them, from the composed builders or those of the operators."""
    return {name: sized(name, static.get(name) or builder(name)) for name in SIZED}
