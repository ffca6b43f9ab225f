"""Values by onnxruntime's name: arrays in the CPU's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from onnx import helper

from whence.runtime.program.model_facts import type_name
from whence.runtime.values.packed import View
from whence.runtime.values.tensors import Tensor, address
from whence.runtime.values.values import expected_array
from whence.support.doors import doors
from whence.support.errors import PipelineError, expectation


@doors()
class OrtValue:
    """An array that inputs and outputs of sessions may be bound to."""

    def __init__(self, array: Tensor):
        self.array = array

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Return a value of an array, which shares its memory."""
        check_device(device_type)
        return OrtValue(cast(Tensor, expected_array("OrtValue", numpy_obj)))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Return a value of undefined elements; `element_type` is a dtype of numpy's or a number of ONNX's."""
        check_device(device_type)
        return OrtValue(np.empty(tuple(shape), dtype_of(element_type)))

    def numpy(self) -> Tensor:
        """Return the array."""
        return self.array

    def update_inplace(self, np_arr: Any) -> None:
        """Copy the elements of an array of the same shape; raises FrontendError for an array that cannot be cast."""
        np.copyto(self.array, expected_array("update_inplace", np_arr, self.array.dtype))

    def shape(self) -> list[int]:
        """Return the extents."""
        return list(self.array.shape)

    def data_type(self) -> str:
        """Return the type, as `tensor(float)`."""
        return f"tensor({type_name(self.array.dtype)})"

    def element_type(self) -> int:
        """Return ONNX's number of the element type."""
        return int(helper.np_dtype_to_tensor_dtype(self.array.dtype))

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return address(self.array)

    def tensor_size_in_bytes(self) -> int:
        """Return the number of bytes of the elements."""
        return self.array.nbytes

    def device_name(self) -> str:
        """Return the device, the CPU."""
        return "cpu"

    def has_value(self) -> bool:
        """Return True: there is an array."""
        return True

    def is_tensor(self) -> bool:
        """Return True: there is an array."""
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Tensor:
        return np.array(self.array, dtype=dtype, copy=copy)


def check_device(device_type: str) -> None:
    """Raise PipelineError for another device than the CPU."""
    if device_type.lower() != "cpu":
        raise PipelineError(expectation("device", "cpu", device_type))


def dtype_of(element_type: Any) -> np.dtype[Any]:
    """The dtype of a dtype of numpy's or a number of ONNX's."""
    return helper.tensor_dtype_to_np_dtype(element_type) if isinstance(element_type, int) else np.dtype(element_type)


def array_at(pointer: int, shape: Sequence[int], element_type: Any) -> Tensor:
    """The array of elements at an address, which its owner keeps."""
    return View((tuple(shape), dtype_of(element_type)), writable=True)(pointer)
