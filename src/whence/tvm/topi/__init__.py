"""The operators as functions of te tensors, by TVM's names: `topi.nn.conv2d`, `topi.sum`, `topi.transpose`.

>>> from whence import te, topi
>>> A = te.placeholder((4, 8), name="A")
>>> B = topi.nn.softmax(topi.matmul(A, topi.transpose(A)))
>>> s = te.create_schedule(B)

Each operator of relay with a tensor expression has a function of its name. Its stages are the compiler's stages for the
operator, located at the call. An operator with several results returns a list of tensors.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from importlib import import_module
from typing import Any

from whence.dialects.relay.core import FuncOp
from whence.lowering.relay_to_te.lower import lower_ops
from whence.passes.pipelines import run_passes
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.relay.builders import as_expr, builder
from whence.relay.composed import COMPOSED
from whence.support.dtypes import fail
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.expr import Function, Program, Var
from whence.syntax.relay.operators import operator_names
from whence.syntax.relay.type_view import tensor_type
from whence.te import Tensor
from whence.te.language.locations import here

_RENAMED = {"matmul": "nn.matmul", "nn.flatten": "nn.batch_flatten", "flip": "reverse", "identity": "copy"}
"""Operators that have another name in TVM's topi than in its relay."""


class _Family:
    """The functions whose names begin with `prefix`."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _function(f"{self._prefix}{name}")

    def __dir__(self) -> list[str]:
        return sorted(name.removeprefix(self._prefix) for name in _names() if name.startswith(self._prefix))


_FAMILIES = {name: _Family(f"{name}.") for name in ("nn", "image", "vision")}


def __getattr__(name: str) -> Any:
    if name in ("testing", "utils"):
        return import_module(f"whence.topi.{name}")
    return _FAMILIES.get(name) or _function(name)


def __dir__() -> list[str]:
    return sorted({*_FAMILIES, *(name for name in _names() if "." not in name)})


def _names() -> set[str]:
    return {*operator_names(), *COMPOSED, *_RENAMED}


def _function(name: str) -> Callable[..., Any]:
    if name not in _names():
        raise AttributeError(f"module 'whence.topi' has no attribute '{name}'")
    called = _RENAMED.get(name, name)
    build = COMPOSED.get(called) or builder(called)

    def apply(*args: Any, **kwargs: Any) -> Any:
        variables: dict[Tensor, Var] = {}
        expr = as_expr(build(*_over(args, variables), **_over(kwargs, variables)))
        module = elaborate(Program({"main": Function(list(variables.values()), expr)}))
        location = here(name.rpartition(".")[2], __name__)
        for op in module.walk():
            op.location = location
        run_passes(module, [SimplifyInferencePass()])
        main = module.body.block.first_op
        assert isinstance(main, FuncOp)
        results = lower_ops(main, dict(zip(main.block.args, variables, strict=True)))
        return results[0] if len(results) == 1 else results

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = build.__doc__
    return apply


def _over(value: Any, variables: dict[Tensor, Var]) -> Any:
    """Return `value` with a relay variable for each te tensor."""
    match value:
        case Tensor():
            if not all(isinstance(extent, int) for extent in value.shape):
                fail(f"topi: expected a tensor whose sizes are numbers, got {value}")
            if value not in variables:
                variables[value] = Var(value.name, tensor_type(value.shape, value.dtype))
            return variables[value]
        case list() | tuple():
            items = (_over(item, variables) for item in typing.cast("list[Any]", value))
            return type(typing.cast("list[Any]", value))(items)
        case dict():
            return {key: _over(item, variables) for key, item in typing.cast("dict[str, Any]", value).items()}
        case _:
            return value
