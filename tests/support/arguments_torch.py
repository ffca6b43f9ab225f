# pyright: basic, reportMissingImports=false
"""PyTorch's own samples of arguments, which vary all that are optional, judged by eager torch.

Half of the programs are in core operators, as `run_decompositions` makes them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any

import torch
from against_eager import array, exported
from dropped_arguments import Array, Change
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.torch import from_exported_program

_MOST = 60
"""Samples of an operator that are looked at."""
_ELEMENTS = 2048
"""Elements of the tensors of a sample."""
_DRAWN = "rand normal bernoulli multinomial dropout exponential cauchy geometric uniform empty rrelu fractional".split()

KNOWN: dict[str, str] = {}
"""Where we differ from eager torch, and why."""


@cache
def operators() -> dict[str, Any]:
    """The operators that take float32, but for those of random numbers and of memory that nobody wrote."""
    return {
        f"{info.name} {info.variant_test_name}".strip(): info
        for info in op_db
        if torch.float32 in info.dtypes and not any(word in info.name for word in _DRAWN)
    }


@cache
def _samples(operator: str) -> list[Any]:
    try:
        samples = list(islice(operators()[operator].sample_inputs("cpu", torch.float32), _MOST))
    except Exception:
        return []
    return [sample for sample in samples if _elements(sample) < _ELEMENTS and not sample.kwargs.get("training")]


def _elements(sample: Any) -> int:
    leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
    return sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor))


def _eager(function: Any, tensors: Sequence[Any], seed: int) -> Any:
    torch.manual_seed(seed)
    return function(*(tensor.clone() for tensor in tensors))


def draw(dice: random.Random, operator: str) -> Change | None:
    """A sample of an operator; None where it has no small one, draws numbers, or is not exported."""
    if not _samples(operator):
        return None
    sample = dice.choice(_samples(operator))
    leaves, form = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    tensors = [leaves[at].detach() for at in places]
    call = operators()[operator].op

    def function(*values: Any) -> Any:
        filled = list(leaves)
        for at, value in zip(places, values, strict=True):
            filled[at] = value
        first, more, named = tree_unflatten(filled, form)
        return tuple(tree_leaves(call(first, *more, **named)))

    try:
        expected, again = (_eager(function, tensors, seed) for seed in (0, 1))
        if not expected or not all(map(torch.equal, map(torch.nan_to_num, expected), map(torch.nan_to_num, again))):
            return None
        program = exported(function, *tensors)
        if core := dice.random() < 0.5:
            program = program.run_decompositions()
    except Exception:
        return None
    if any(tensor.is_complex() for tensor in expected):
        return None

    def ours() -> Sequence[Array]:
        return evaluate_module(from_exported_program(program), list(map(array, tensors)))

    shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors) + " in core operators" * core
    plain = [leaf for leaf in leaves[1:] if not isinstance(leaf, torch.Tensor)]
    return Change(operator, f"{shapes} {plain} {sorted(sample.kwargs)}", ours, lambda: list(map(array, expected)))
