"""Flows of the overview's names, and what they are computed with."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import whence
from whence import relay, te
from whence.contrib import graph_executor

tvm: Any = whence
RNG = np.random.default_rng(153)
FLOWS: dict[str, Callable[[], None]] = {}
"""Name -> the test of the flow that uses it."""


def uses(*names: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Say which names of the overview a test uses."""

    def note(test: Callable[[], None]) -> Callable[[], None]:
        assert not FLOWS.keys() & set(names)
        FLOWS.update(dict.fromkeys(names, test))
        return test

    return note


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def computed(function: Callable[..., Any], *arrays: Any) -> Any:
    """What a kernel computes for each element of arrays of one shape."""
    tensors = [te.placeholder(array.shape, name=f"T{at}", dtype=array.dtype.name) for at, array in enumerate(arrays)]
    B = te.compute(arrays[0].shape, lambda *i: function(*(tensor(*i) for tensor in tensors)), name="B")
    return tvm.build(te.create_schedule(B.op), [*tensors, B])(*arrays)


def run(expr: Any, **inputs: Any) -> Any:
    """What a program computes, by the graph executor."""
    module = graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(expr), "llvm")["default"](tvm.cpu()))
    module.run(**inputs)
    return module.get_output(0).numpy()


def evaluated(expr: Any, *arguments: Any) -> Any:
    return relay.create_executor("debug", tvm.IRModule.from_expr(expr)).evaluate()(*arguments)
