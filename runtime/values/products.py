"""Products of matrices under the names that BLAS libraries have in TVM's registry: here numpy computes all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def product(lhs: Any, rhs: Any, out: Any, transa: int = 0, transb: int = 0) -> None:
    """Write the product of two arrays, of matrices in their last two axes, into a third.

    transa, transb: nonzero where the matrices of an array are transposed. Integers are widened to those of `out` first,
    so that a product of bytes in int32 does not wrap.
    """
    first, second, result = (np.asarray(array) for array in (lhs, rhs, out))
    if result.dtype.kind in "iu":
        first, second = first.astype(result.dtype), second.astype(result.dtype)
    first = first.swapaxes(-1, -2) if transa else first
    second = second.swapaxes(-1, -2) if transb else second
    result[...] = np.matmul(first, second)


PRODUCTS: Mapping[str, Callable[..., Any]] = {
    f"tvm.contrib.{library}.{name}": product
    for library, names in {
        "cblas": ("matmul", "batch_matmul", "batch_matmul_iterative"),
        "mkl": ("matmul", "matmul_u8s8s32", "batch_matmul", "batch_matmul_iterative"),
    }.items()
    for name in names
}
"""The functions that a registry has from the start."""
