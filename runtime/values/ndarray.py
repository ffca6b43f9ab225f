"""Arrays by TVM's names: numpy's, with the few additional methods that programs written for TVM call."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from ...support.errors import FrontendError, expectation
from .device import Device
from .device import cpu as cpu
from .device import device as device
from .tensors import ALIGNMENT, Tensor, address, aligned_empty
from .values import expected_array, is_python


class NDArray(np.ndarray[Any, np.dtype[Any]]):
    """A numpy array with the methods `numpy()`, `copyfrom` and `copyto`."""

    source: Tensor | None = None
    """The plain array that this is a view of."""

    def numpy(self) -> Tensor:
        """Return a copy as a plain array."""
        return np.array(self, copy=True, subok=False)

    asnumpy = numpy

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    @property
    def device(self) -> Device:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The device of the array."""
        return Device()

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this very array."""
        return self is other

    def copyfrom(self, source: object) -> NDArray:
        """Write the elements of another array of this shape, cast from any dtype of numbers as numpy does.

        Raises FrontendError for another shape, and for what is no array of numbers.
        """
        array = expected_array("copyfrom", source)
        if array.dtype.kind not in "biufcV":
            raise FrontendError(expectation("copyfrom", "an array of numbers", f"one of {array.dtype}"))
        if array.shape != self.shape:
            actual = f"{array.dtype.name}{list(array.shape)}"
            raise FrontendError(expectation("copyfrom", f"{self.dtype.name}{list(self.shape)}", actual))
        np.copyto(self, array, casting="unsafe")
        return self

    def copyto(self, target: Tensor) -> Tensor:
        """Write the elements to another array of this shape, and return that array."""
        view(target).copyfrom(self)
        return target


def view(value: Tensor) -> NDArray:
    """Return the same memory as an `NDArray`."""
    return value.view(NDArray)


_views: WeakValueDictionary[int, NDArray] = WeakValueDictionary()


def shared_view(value: Tensor) -> NDArray:
    """Return the same memory as an `NDArray`: the same object every time for the same array."""
    if isinstance(value, NDArray):
        return value
    shared = _views.get(id(value))
    if shared is None or shared.source is not value:
        shared = _views[id(value)] = view(value)
        # As long as the view lives, no other array has this id.
        shared.source = value
    return shared


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike = "float32", device: object = None) -> NDArray:
    """Return an array with undefined contents at a 64-byte boundary."""
    return view(aligned_empty(tuple(shape), np.dtype(dtype)))


def array(value: object, device: object = None) -> NDArray:
    """Return a copy at a 64-byte boundary; Python's floats become float32, its ints int32, as in TVM."""
    source = expected_array("array", value)
    dtype = source.dtype
    if is_python(value):
        dtype = {"f": np.dtype(np.float32), "i": np.dtype(np.int32)}.get(dtype.kind, dtype)
    copy = empty(source.shape, dtype)
    np.copyto(copy, expected_array("array", source, dtype))
    return copy


def is_aligned(value: Tensor) -> bool:
    """Return whether kernels may read and write an array in place: it is contiguous, at a 64-byte boundary."""
    return value.flags.c_contiguous and not address(value) % ALIGNMENT
