"""The buffers of a tensor intrinsic: the strides of tiles, whose elements lie close together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...support.dtypes import bits, fail
from ...support.errors import ScheduleError
from .expr import Extent, Var
from .statements import Buffer, decl_buffer
from .tensor import Tensor


def bound_strides(
    tensors: Sequence[Tensor],
    binds: Mapping[Tensor, Buffer] | None,
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
        size = max(1, bits(buffer.dtype) // 8)
        if buffer.data_alignment > size:
            actual = f"{buffer.data_alignment} ('{name}')"
            fail(f"decl_tensor_intrin: expected data_alignment of at most {size}, an element, got {actual}")
        if buffer.scope() != "global":
            fail(f"decl_tensor_intrin: expected the scope global, got {buffer.scope()!r} ('{name}')")
        for stride, wanted in zip(buffer.strides, packed_strides(tensor.shape), strict=False):
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
