"""TorchScript held against eager torch: what the tables of operators share."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from whence import relay
from whence.dialects.relay.interpret import evaluate_module

torch: Any
try:
    import torch
except ImportError:
    torch = None

Function = Callable[..., Any]


def module_of(function: Any) -> Any:
    """A function as a module in inference; a module as it is."""
    if isinstance(function, torch.nn.Module):
        return function.eval()

    class Network(torch.nn.Module):
        def forward(self, *values: Any) -> Any:
            return function(*values)

    return Network().eval()


def traced(function: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copies = tuple(argument.clone() for argument in arguments)
        return torch.jit.trace(module_of(function), copies, check_trace=False, strict=False)


def scripted(module: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.script(module.eval() if isinstance(module, torch.nn.Module) else module)


def infos_of(arguments: tuple[Any, ...]) -> list[Any]:
    """What `from_pytorch` is told of inputs `input0`, `input1` and so on."""
    return [
        (f"input{at}", (tuple(argument.shape), str(argument.dtype).removeprefix("torch.")))
        for at, argument in enumerate(arguments)
    ]


def check(script: Any, function: Any, *arguments: Any, **options: Any) -> None:
    """Import and evaluate a program, and compare with what eager torch computes of copies of the arguments."""
    module, params = relay.frontend.from_pytorch(script, infos_of(arguments), **options)
    arrays = [array(argument) for argument in arguments]
    results = evaluate_module(module.module, [*arrays, *params.values()])
    with torch.no_grad():
        eager = module_of(function) if callable(function) else function
        expected = torch.utils._pytree.tree_leaves(eager(*(argument.clone() for argument in arguments)))
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        wanted = array(value) if isinstance(value, torch.Tensor) else np.asarray(value)
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


def array(tensor: Any) -> Any:
    return tensor.detach().numpy().copy()


def numbers(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def whole(*shape: int, most: int = 5) -> Any:
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(len(shape)))
