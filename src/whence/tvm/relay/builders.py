"""A function for each operator, called as in TVM: operands, then attributes, as positions or by name.

The names and defaults come from the operators' declarations. A row of `_ORDER` states TVM's order of parameters where
it differs from the order of attributes; where TVM's function does more, `composed.py` has a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import OptPropertyDef

from whence.dialects.element_types import dtype_name
from whence.dialects.relay.attributes import to_python
from whence.dialects.relay.operator import Operator
from whence.runtime.values.ndarray import view
from whence.runtime.values.values import expected_array
from whence.support.dtypes import numpy_of
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem
from whence.syntax.relay.operators import operator_named
from whence.syntax.relay.type_view import TypeView, plain

Builder = Callable[..., Any]

_CONV_T = "strides padding dilation channels kernel_size groups data_layout kernel_layout out_layout output_padding"
_QNN_CONV = "kernel_size channels strides padding dilation groups data_layout kernel_layout out_layout out_dtype"
_RESIZE = "size roi layout method coordinate_transformation_mode rounding_method cubic_alpha cubic_exclude"
_ORDER: dict[str, str] = {
    "nn.pad": "pad_width pad_value pad_mode",
    "nn.batch_matmul": "out_dtype transpose_a transpose_b",
    "nn.mirror_pad": "pad_width mode",
    "nn.conv1d_transpose": _CONV_T,
    "nn.conv2d_transpose": _CONV_T,
    "nn.conv3d_transpose": _CONV_T,
    "image.resize1d": _RESIZE,
    "image.resize3d": _RESIZE,
    "qnn.quantize": "axis out_dtype",
    "qnn.dequantize": "axis out_dtype",
    "qnn.conv2d": _QNN_CONV,
    "qnn.batch_matmul": "out_dtype",
    "nn.group_norm": "num_groups axis epsilon center scale",
    "vision.roi_align": "pooled_size spatial_scale sample_ratio layout mode",
    "random.draw_uniform": "shape dtype low high seed",
    "random.draw_normal": "shape dtype mean scale seed",
}
"""TVM's order of the parameters behind the operands; attributes that it does not name follow."""

_OPERANDS: dict[str, str] = {
    "unravel_index": "indices shape",
    "collapse_sum_like": "data collapse_type",
    "broadcast_to_like": "data broadcast_type",
    "nn.batch_matmul": "tensor_a tensor_b",
    "nn.contrib_conv2d_NCHWc": "data kernel",
    "nn.contrib_depthwise_conv2d_NCHWc": "data kernel",
    "qnn.conv2d": "data kernel",
}
"""TVM's names of the first operands, where it has others than the operator."""

_WINDOWED = ("nn.conv{}d", "nn.conv{}d_transpose", "nn.max_pool{}d", "nn.avg_pool{}d")
_PADDED = {form.format(rank): rank for rank in (1, 2, 3) for form in _WINDOWED} | dict.fromkeys(
    ("qnn.conv2d", "qnn.conv2d_transpose", "qnn.avg_pool2d", "nn.deformable_conv2d"), 2
)
"""Operators whose padding may be given in short, and their spatial axes."""
_PER_AXIS = ("strides", "dilation", "pool_size", "kernel_size", "output_padding", "output_size")
"""Attributes for which one number means the same along every axis."""
_SHORT = {"int64": "int32", "float64": "float32"}
"""TVM's dtypes of Python's numbers."""
_NEEDED = inspect.Parameter.empty


class TupleWrapper:
    """The results of a call that returns a tuple: `.astuple()` is the call, `[i]` and iteration yield the fields."""

    def __init__(self, tuple_value: Expr, size: int):
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        return self.tuple_value

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> TupleGetItem:
        if not -self.size <= index < self.size:
            raise IndexError("Tuple index out of range")
        return TupleGetItem(self.tuple_value, index % self.size, span=self.tuple_value.span)

    def __iter__(self) -> Any:
        return (self[index] for index in range(self.size))

    def __repr__(self) -> str:
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"


def const(value: Any, dtype: str | Attribute | TypeView | None = None, span: Any = None) -> Constant:
    """Return a constant of a number, list or array; without a dtype, those of 64 bits get 32: int32 and float32.

    dtype: a dtype, or the type of a tensor, whose dtype counts.
    """
    array = expected_array("const", value)
    dtype = plain(dtype)
    if isinstance(dtype, TensorType):
        dtype = dtype_name(cast("TensorType[Attribute]", dtype).element_type)
    if dtype is not None:
        array = array.astype(numpy_of(cast(str, dtype)))
    else:
        array = array.astype(_SHORT.get(array.dtype.name, array.dtype.name))
    return Constant(view(array), span=span)


def as_expr(value: Any) -> Expr:
    """An expression: one as it is, the results of a call as a tuple, a list as a tuple, a number as a constant."""
    match value:
        case Expr():
            return value
        case TupleWrapper():
            return value.astuple()
        case list() | tuple():
            return Tuple([as_expr(item) for item in cast("list[Any]", value)])
        case np.ndarray() | np.generic():
            return const(value, cast(Any, value).dtype.name)
        case bool() | int() | float():
            return const(value)
        case _:
            raise FrontendError(f"expected an expression, got {type(value).__name__} ({value!r})")


def builder(name: str) -> Builder:
    """The function that makes calls of an operator; raises FrontendError for an unknown name."""
    return _builder(name, operator_named(name))


@cache
def _builder(name: str, cls: type[Operator]) -> Builder:
    signature = _signature(name, cls)
    operands = _operand_names(name, cls)

    def build(*args: Any, **kwargs: Any) -> Any:
        span = kwargs.pop("span", None)
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}: {error}, expected {name}{signature}") from None
        values = [arguments.pop(operand, None) for operand in operands]
        while values and values[-1] is None:
            values.pop()
        exprs = [Tuple([]) if value is None else as_expr(value) for value in values]
        if name in _PADDED:
            arguments.setdefault("padding", 0)
        attrs = {key: _attribute(name, key, value) for key, value in arguments.items() if value is not None}
        return Call(Op(name), exprs, attrs, span=span)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = cls.__doc__
    cast(Any, build).__signature__ = signature
    return build


def _operand_names(name: str, cls: type[Operator]) -> list[str]:
    """Python's names of the operands."""
    names = [group.name for group in cls.operand_groups()]
    renamed = _OPERANDS.get(name, "").split()
    return renamed + names[len(renamed) :]


def _signature(name: str, cls: type[Operator]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for operand, group in zip(_operand_names(name, cls), cls.operand_groups(), strict=True):
        parameters.append(inspect.Parameter(operand, kind, default=None if group.optional else _NEEDED))
    declared = cls.declared_attributes()
    order = [key for key in _ORDER.get(name, "").split() if key in declared]
    for key in (*order, *(key for key in declared if key not in order)):
        definition = declared[key]
        default = definition.default_value
        value: Any = to_python(default) if default is not None else None
        if default is None and not isinstance(definition, OptPropertyDef):
            value = _NEEDED
        parameters.append(inspect.Parameter(key, kind, default=value))
    # A parameter that must be given cannot follow one that need not be; such attributes are given by name.
    seen = False
    for index, parameter in enumerate(parameters):
        if parameter.default is not _NEEDED:
            seen = True
        elif seen:
            parameters[index] = parameter.replace(default=None)
    return inspect.Signature(parameters)


def _attribute(name: str, key: str, value: Any) -> Any:
    rank = _PADDED.get(name)
    if rank is None:
        return value
    if key == "padding":
        return _padding(value, rank)
    return [value] * rank if key in _PER_AXIS and isinstance(value, int) else value


def _padding(value: Any, rank: int) -> list[int]:
    """Before and after all axes: of a number for all, or one number per axis, for both sides."""
    if isinstance(value, int):
        return [value] * (2 * rank)
    numbers = [int(item) for item in value]
    return numbers * 2 if len(numbers) == rank else numbers * (2 * rank) if len(numbers) == 1 else numbers
