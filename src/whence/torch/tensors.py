# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Tensors of torch as arrays of numpy and back, of the same memory where that is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch

DTYPES: dict[torch.dtype, np.dtype[Any]] = {
    torch.uint8: np.dtype(np.uint8),
    torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16),
    torch.int32: np.dtype(np.int32),
    torch.int64: np.dtype(np.int64),
    torch.uint16: np.dtype(np.uint16),
    torch.float16: np.dtype(np.float16),
    torch.float32: np.dtype(np.float32),
    torch.float64: np.dtype(np.float64),
    torch.bool: np.dtype(np.bool_),
    torch.bfloat16: np.dtype(ml_dtypes.bfloat16),
    torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
}
"""The element types of tensors that Whence computes with."""
_UNKNOWN_TO_NUMPY = {torch.bfloat16: torch.int16, torch.float8_e4m3fn: torch.int8, torch.float8_e5m2: torch.int8}
"""Element types that numpy alone does not have -> those of as many bytes that stand for them on the way."""
_CARRIERS = {DTYPES[dtype]: (DTYPES[carrier], dtype) for dtype, carrier in _UNKNOWN_TO_NUMPY.items()}


def array_of(tensor: torch.Tensor, order: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    """The elements of a tensor in row-major order, in another order of axes; copied only where they lie otherwise."""
    if order is not None:
        tensor = tensor.permute(order)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    if tensor.requires_grad:
        tensor = tensor.detach()
    if (carrier := _UNKNOWN_TO_NUMPY.get(tensor.dtype)) is not None:
        return tensor.view(carrier).numpy().view(DTYPES[tensor.dtype])
    try:
        return tensor.numpy()
    except RuntimeError:
        # A view that negates, of the imaginary part of a complex tensor.
        return tensor.numpy(force=True)


def tensor_of(array: Any, order: Sequence[int] | None = None) -> torch.Tensor:
    """A tensor of an array's memory, with its axes in another order."""
    array = np.asarray(array)
    if (carrier := _CARRIERS.get(array.dtype)) is not None:
        tensor = torch.from_numpy(array.view(carrier[0])).view(carrier[1])
    else:
        tensor = torch.from_numpy(array)
    return tensor if order is None else tensor.permute(order)
