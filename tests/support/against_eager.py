"""Functions of torch exported, imported and evaluated, and compared with what eager torch computes. Needs torch."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.torch import from_exported_program

Function = Callable[..., Any]


def exported(function: Function, *arguments: Any) -> Any:
    """The program of a function, or of a module."""

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.function = function

        def forward(self, *values: Any) -> Any:
            return self.function(*values)

    return torch.export.export(Network().eval(), arguments)


def array(tensor: Any) -> Any:
    """A copy of a tensor as a numpy array."""
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.uint16).numpy().view(ml_dtypes.bfloat16).copy()
    return tensor.detach().numpy().copy()


def check(function: Function, *arguments: Any, expected: Sequence[Any] | None = None, tolerance: float = 2e-5) -> None:
    """Import and evaluate a function, and compare with what torch computes of copies of the arguments.

    expected: the results, where torch itself computes none.
    """
    results = evaluate_module(from_exported_program(exported(function, *arguments)), list(map(array, arguments)))
    tensors: Any = expected
    if tensors is None:
        tensors = tree_leaves(function(*(argument.clone() for argument in arguments)))
    assert len(results) == len(tensors)
    for result, tensor in zip(results, tensors, strict=True):
        wanted = array(tensor)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype == ml_dtypes.bfloat16:
            result, wanted = (np.asarray(part, np.float32) for part in (result, wanted))
        np.testing.assert_allclose(result, wanted, rtol=tolerance, atol=tolerance)


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def whole(*shape: int, most: int = 5) -> Any:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(len(shape)))
