"""Values of every kind for inputs of every dtype; `value_kinds.py` draws many more."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from value_kinds import DTYPES, KINDS, PROGRAMS, drawn, identity, problem, program

import whence
from whence.runtime.values.dlpack import _Tensor, from_dlpack  # pyright: ignore[reportPrivateUsage]
from whence.runtime.values.values import Unsuitable, converted
from whence.support.errors import FrontendError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("of", PROGRAMS)
def test_values_become_what_numpy_casts_them_to_or_one_error(of: str):
    rng = np.random.default_rng(7)
    for name in ("float32", "int32"):
        for kind in KINDS:
            for source in rng.choice(list(DTYPES), 6):
                numbers = drawn(rng, str(source))
                text = problem(program(of, name), kind, numbers, name)
                assert not text, f"{kind} of {source} {numbers.tolist()} for {name}: {text}"


@pytest.mark.parametrize("tier", ["auto", "static"])
def test_a_tensor_of_another_library_tells_the_sizes_of_a_call(tier: Any):
    executable = whence.compile(identity("float32", "n"), tier=tier)
    for rows in (2, 5):
        value = KINDS["__dlpack__"](np.ones((rows, 3), np.float32))
        np.testing.assert_array_equal(executable(value), np.ones((rows, 3)))


WRONG: dict[str, tuple[Any, str]] = {
    "a float for an integer": ([[1.7] * 3] * 2, r"expected int32\[2, 3\] 'x', got float64\[2, 3\]"),
    "too large a number": ([[1, 2, 3], [1, 1 << 40, 2]], r"got int64\[2, 3\] with 1099511627776, beyond int32"),
    "more than int64": ([[1, 2, 3], [1, 1 << 70, 2]], "got a list that is no such array"),
    "a text": ("3.5", "got a str that is no such array"),
    "None": (None, "got a NoneType that is no such array"),
    "a dictionary": ({"x": 1}, "got a dict that is no such array"),
    "another shape": (np.zeros((3, 2), np.int8), r"expected int32\[2, 3\] 'x', got int8\[3, 2\]"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_such_array_is_described(case: str):
    value, text = WRONG[case]
    with pytest.raises(FrontendError, match=f"^inputs: .*{text}$"):
        program("static", "int32")(value)


class Refusing:
    """A tensor that its library does not give away."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError("Can't call numpy() on a tensor that requires grad.\nUse detach().")


def test_the_words_of_the_other_library_are_shown():
    text = r"got a Refusing that is no such array: Can't call numpy\(\) on a tensor that requires grad. Use detach\(\)."
    with pytest.raises(FrontendError, match=text):
        program("sized", "float32")(Refusing())


class Lender:
    """An object of DLPack alone, of any dtype and device."""

    def __init__(self, array: Any, code: int, bits: int, device: int = 1, strides: tuple[int, ...] | None = None):
        self.array, self.device = array, device
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = None if strides is None else (ctypes.c_int64 * array.ndim)(*strides)
        pointer = ctypes.POINTER(ctypes.c_int64)
        lies = ctypes.cast(self.strides, pointer) if self.strides is not None else pointer()
        of = array.ndim, code, bits, 1, ctypes.cast(self.shape, pointer), lies, 0
        self.tensor = _Tensor(array.ctypes.data, device, 0, *of)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self) -> Any:
        new: Any = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def test_bfloat16_comes_through_dlpack_where_it_lies():
    numbers = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    array = converted(Lender(numbers, 4, 16), np.dtype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(array, numbers)
    assert np.shares_memory(array, numbers)
    across = from_dlpack(Lender(numbers, 4, 16, strides=(1, 2)))
    np.testing.assert_array_equal(across, numbers.reshape(3, 2).T)


@pytest.mark.parametrize(
    ("lender", "text"),
    [
        (Lender(X, 2, 32, device=2), "expected a tensor in the CPU's memory"),
        (Lender(X, 5, 64), "expected a known dtype, got DLPack's code 5 with 64 bits"),
    ],
)
def test_what_dlpack_cannot_lend(lender: Lender, text: str):
    with pytest.raises(Unsuitable, match=text):
        converted(lender, np.dtype(np.float32))
