"""The layout of the buffers of a tensor intrinsic: `decl_buffer`, and what it means for the strides of tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...support.dtypes import bits, check_dtype, fail
from ...support.errors import ScheduleError
from .expr import ExprLike, Extent, Var
from .tensor import Tensor, check_shape


@dataclass(frozen=True, eq=False)
class DeclaredBuffer:
    """The layout of a tensor of an intrinsic in memory; `strides` None: close together."""

    shape: tuple[Extent, ...]
    dtype: str
    name: str
    strides: tuple[Extent, ...] | None = None


def decl_buffer(
    shape: Sequence[Extent] | Extent,
    dtype: str = "float32",
    name: str = "buffer",
    *,
    strides: Sequence[Extent] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "global",
    data_alignment: int = -1,
    offset_factor: int = 0,
) -> DeclaredBuffer:
    """A buffer for `binds` of `decl_tensor_intrin`.

    strides: in elements; a variable matches any stride. A tile starts at its pointer, so `elem_offset` and
    `offset_factor` have no effect. Raises ScheduleError for an alignment above that of a buffer's elements, and for a
    scope other than global.
    """
    extents = check_shape(shape, "te.decl_buffer")
    size = max(1, bits(check_dtype(dtype, "te.decl_buffer")) // 8)
    if data_alignment > size:
        fail(f"te.decl_buffer: expected data_alignment of at most {size}, an element, got {data_alignment} ('{name}')")
    if scope != "global":
        fail(f"te.decl_buffer: expected the scope global, got {scope!r} ('{name}')")
    del elem_offset, offset_factor
    stride_tuple = None if strides is None else tuple(strides)
    if stride_tuple is not None and len(stride_tuple) != len(extents):
        fail(f"te.decl_buffer: expected {len(extents)} strides, got {len(stride_tuple)} ('{name}')")
    return DeclaredBuffer(extents, dtype, name, stride_tuple)


def bound_strides(
    tensors: Sequence[Tensor],
    binds: Mapping[Tensor, DeclaredBuffer] | None,
    default_buffer_params: Mapping[str, Any] | None,
    name: str,
) -> dict[Var, int]:
    """The values of the stride variables of an intrinsic's buffers, whose elements lie close together.

    Raises ScheduleError for a buffer of no tensor among `tensors`, or of another shape, dtype or other strides.
    """
    buffers = dict(binds or {})
    for tensor in tensors:
        if any(not isinstance(extent, int) for extent in tensor.shape):
            fail(f"decl_tensor_intrin: expected tiles of known sizes, got {list(tensor.shape)} ('{name}')")
    if strangers := [tensor.name for tensor in buffers if tensor not in tensors]:
        names = ", ".join(tensor.name for tensor in tensors)
        fail(f"decl_tensor_intrin: expected binds of {names}, got {', '.join(strangers)} ('{name}')")
    values: dict[Var, int] = {}
    for tensor in tensors:
        try:
            default = decl_buffer(tensor.shape, tensor.dtype, tensor.name, **(default_buffer_params or {}))
        except (ScheduleError, TypeError) as error:
            fail(f"decl_tensor_intrin: default_buffer_params: {error} ('{name}')")
        buffer = buffers.get(tensor, default)
        if (buffer.shape, buffer.dtype) != (tensor.shape, tensor.dtype):
            fail(
                f"decl_tensor_intrin: expected a buffer of {list(tensor.shape)} {tensor.dtype} for '{tensor.name}', "
                f"got {list(buffer.shape)} {buffer.dtype} ('{name}')"
            )
        for stride, wanted in zip(buffer.strides or (), packed_strides(tensor.shape), strict=False):
            if isinstance(stride, Var):
                if values.setdefault(stride, wanted) != wanted:
                    fail(f"decl_tensor_intrin: expected a variable per stride, got {stride.name} again ('{name}')")
            elif stride != wanted:
                fail(f"decl_tensor_intrin: expected the stride {wanted} of '{tensor.name}', got {stride} ('{name}')")
    return values


def packed_strides(shape: Sequence[Extent]) -> list[int]:
    """Return the distances between neighbours along each dimension when elements lie close together."""
    strides = [1]
    for extent in reversed(shape[1:]):
        assert isinstance(extent, int)
        strides.insert(0, strides[0] * extent)
    return strides[: len(shape)]
