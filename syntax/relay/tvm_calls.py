"""Calls of TVM's operators that are several calls of operators here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...support.errors import FrontendError
from .expr import Call, Constant, Expr, Op, Tuple, TupleGetItem

Form = Callable[[Sequence[Expr], Mapping[str, Any]], "Expr | None"]


def _call(name: str, *args: Expr, **attrs: Any) -> Call:
    return Call(Op(name), list(args), attrs)


def _vector(*numbers: int) -> Constant:
    return Constant(np.array(numbers, np.int64))


def argwhere(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Expr:
    """Return the indices of the elements that are not 0, (?, rank) of int32."""
    padded = _call("padded_argwhere", *args, **attrs)
    points, number = (TupleGetItem(padded, index) for index in range(2))
    end = _call("reshape", number, newshape=[1])
    return _call("cast", _call("dyn.strided_slice", points, _vector(0), end, _vector(1)), dtype="int32")


def unique(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Tuple:
    """Return the distinct elements, padded; their first positions, the inverse, their number; and their counts."""
    others = dict(attrs)
    counts = others.pop("return_counts", False)
    padded = _call("padded_unique", *args, **others)
    fields: list[Expr] = [TupleGetItem(padded, 0)]
    for index in (1, 2, 4, 3) if counts else (1, 2, 4):
        field = _call("cast", TupleGetItem(padded, index), dtype="int32")
        fields.append(_call("reshape", field, newshape=[1]) if index == 4 else field)
    return Tuple(fields)


def arange(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Expr | None:
    """Return the call for three operands; None without operands, when attributes say the same."""
    if not args:
        return None
    others = {key: value for key, value in attrs.items() if key not in ("start", "stop", "step")}
    if len(args) == 3 and all(isinstance(arg, Constant) for arg in args):
        numbers = (float(arg.data.item()) for arg in args if isinstance(arg, Constant))
        return _call("arange", **dict(zip(("start", "stop", "step"), numbers, strict=True)), **others)
    return _call("dyn.arange", *args, **others)


_FRACTION = {"float32": 23, "float64": 52}
"""The random bits of a number in [0, 1)."""


def _fractions(key: Expr, shape: Any, dtype: str) -> tuple[Expr, Expr]:
    """Return the key for the next use, and numbers in [0, 1)."""
    if dtype not in _FRACTION:
        raise FrontendError(f"random: expected a dtype among {', '.join(_FRACTION)}, got {dtype}")
    bits = _FRACTION[dtype]
    generated = _call("random.threefry_generate", key, out_shape=shape)
    high = _call("right_shift", TupleGetItem(generated, 1), Constant(np.array(64 - bits, np.uint64)))
    step = Constant(np.array(2.0**-bits, dtype))
    return TupleGetItem(generated, 0), _call("multiply", _call("cast", high, dtype=dtype), step)


def uniform(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Tuple:
    """Return the key for the next use, and numbers from the second operand to below the third one."""
    key, low, high = args
    next_key, numbers = _fractions(key, attrs["out_shape"], attrs["out_dtype"])
    return Tuple([next_key, _call("add", _call("multiply", numbers, _call("subtract", high, low)), low)])


def normal(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Tuple:
    """Return the key for the next use, and normal numbers by the Box-Muller transform of two uniform ones."""
    (key, mean, scale), dtype = args, attrs["out_dtype"]
    next_key, numbers = _fractions(key, [2, *attrs["out_shape"]], dtype)
    one, minus_two, turn = (Constant(np.array(number, dtype)) for number in (1, -2, 2 * np.pi))
    first, second = (
        _call("squeeze", _call("strided_slice", numbers, begin=[row], end=[row + 1], axes=[0]), axis=[0])
        for row in range(2)
    )
    radius = _call("sqrt", _call("multiply", minus_two, _call("log", _call("subtract", one, first))))
    standard = _call("multiply", radius, _call("sin", _call("multiply", turn, second)))
    return Tuple([next_key, _call("add", _call("multiply", standard, scale), mean)])


def _bitserial(product: str, data_bits: str, *attributes: str) -> Form:
    """Return the form of a product of the lowest bits of integers; in `unipolar` weights, a bit of 0 means -1."""

    def form(args: Sequence[Expr], attrs: Mapping[str, Any]) -> Expr:
        dtype = attrs.get("out_dtype") or "int16"

        def constant(number: int) -> Constant:
            return Constant(np.array(number, dtype))

        def low(value: Expr, bits: int) -> Expr:
            return _call("bitwise_and", _call("cast", value, dtype=dtype), constant((1 << bits) - 1))

        data, weight = low(args[0], attrs.get(data_bits, 1)), low(args[1], attrs.get("weight_bits", 1))
        if attrs.get("unipolar", True):
            ones = constant((1 << attrs.get("weight_bits", 1)) - 1)
            weight = _call("subtract", _call("multiply", weight, constant(2)), ones)
        others = {key: attrs[key] for key in attributes if attrs.get(key) is not None}
        return _call(product, data, weight, **others, out_dtype=dtype)

    return form


_WINDOW = ("strides", "padding", "channels", "kernel_size", "data_layout", "kernel_layout")
bitserial_dense = _bitserial("nn.dense", "data_bits", "units")
bitserial_conv2d = _bitserial("nn.conv2d", "activation_bits", *_WINDOW)


CALLS: dict[str, Form] = {
    "argwhere": argwhere,
    "unique": unique,
    "arange": arange,
    "random.uniform": uniform,
    "random.normal": normal,
    "nn.bitserial_dense": bitserial_dense,
    "nn.bitserial_conv2d": bitserial_conv2d,
}
"""TVM's name -> the expression for operands and attributes; None if there is an operator of that form."""
