# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
"""Keeps composite operators whole while `aot_autograd` traces a graph, except where gradients pass through them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch._export.utils import _get_decomp_for_cia, _special_op_to_preserve_cia
from torch.export.exported_program import (
    _AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE,
    _override_composite_implicit_decomp,
)
from torch.utils import _pytree


@contextmanager
def whole(operators: Sequence[Any]) -> Generator[None]:
    """Keep calls of composite operators whole.

    A composite operator has no derivative of its own: autograd differentiates its parts. Torch's override makes its
    derivative zero inside `torch.func.grad`, so that differentiated calls are decomposed here.
    """
    for operator in operators:
        kernel = _autograd_kernel(operator)
        for key in _AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE:
            operator.py_impl(key)(kernel)
    try:
        with _override_composite_implicit_decomp(dict.fromkeys(operators, _special_op_to_preserve_cia)):
            yield
    finally:
        for operator in operators:
            for key in _AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE:
                del operator.py_kernels[key]
            operator._dispatch_cache.clear()


def _autograd_kernel(operator: Any) -> Callable[..., Any]:
    parts = _get_decomp_for_cia(operator)

    def call(*args: Any, **kwargs: Any) -> Any:
        if _differentiated((args, kwargs)):
            return parts(*args, **kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*args, **kwargs)

    return call


def _differentiated(arguments: Any) -> bool:
    """Return whether a call is recorded for a backward pass, carries tangents, or is in a transform of torch.func."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return True
    tensors = [value for value in _pytree.tree_leaves(arguments) if isinstance(value, torch.Tensor)]
    if torch.is_grad_enabled() and any(value.requires_grad for value in tensors):
        return True
    return any(torch._VF._unpack_dual(value, level=0).tangent is not None for value in tensors)
