"""`te.hybrid.script`: a Python function of loops as an operation.

    @te.hybrid.script
    def outer(a, b):
        c = output_tensor((4, 8), "float32")
        for i in range(4):
            for j in parallel(8):
                c[i, j] = a[i] * b[j]
        return c

    C = outer(A, B)

The function is read, not run. It consists of `output_tensor(shape, dtype)` and `allocate(shape, dtype, scope)`, loops
over `range(n)` or `range(a, b)`, `serial`, `parallel`, `vectorize`, `unroll` and `bind("threadIdx.x", n)`, whose bounds
may be those of other loops, and `const_range`, which repeats its statements for each number, `if` / `else`, `while`,
`assert condition, "text"`, `view(t, shape)`, the elements of a tensor in another shape, assignments to elements and
scalar names (also `+=` and the like), of what other scripts give, and `return` of the outputs at the end. A name that
gets one int is that number.
Expressions are those of the te language: elements of tensors, loop variables, the names of the function's surroundings,
arithmetic, comparisons, `and`, `or`, `not`, `a if c else b`, `len(t)`, `t.shape[i]`, `t.dtype`, dtype names as casts,
the functions of `te`, and functions of expressions that the script is called with.

Called with arrays and numbers, a script runs in Python and returns arrays: a reference for what is built of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any, cast

import numpy as np

from ...dialects import tir
from ...support.dtypes import fail
from ...support.rooms import name_in
from .extents import SymbolSizes
from .hybrid_body import hybrid_body, output_names
from .hybrid_runtime import run
from .hybrid_source import PARSED, Script, ScriptOp, outputs_of, tensors_in
from .statement_view import view
from .statements import Stmt
from .tensor import PlaceholderOp, Tensor

# `te.hybrid` is imported like a package, whose module `runtime` is beside this one.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def _placed(op: ScriptOp) -> list[Tensor]:
    names = output_names(op.script)
    return [
        PlaceholderOp(name, [each.shape], [each.dtype]).output(0) for name, each in zip(names, op.outputs, strict=True)
    ]


class HybridOp(ScriptOp):
    """Tensors that a script's loops fill."""

    @cached_property
    def body(self) -> Stmt:
        """The loops as statements on tensors, of which those of the outputs have the names that the script has."""
        sizes = SymbolSizes()
        block = hybrid_body(self, sizes)
        types = [tir.buffer_of(argument) for argument in block.args]
        func = tir.PrimFuncOp(self.name, types, self.num_outputs, list(sizes))
        func.location = self.location
        func.regions[0].detach_block(0)
        func.regions[0].add_block(block)
        return view(func, [*self.input_tensors, *_placed(self)])[1]


def script(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operation of a function: call it with tensors (and numbers) to get its output, or a list of them.

    With arrays instead of tensors, it gives arrays.
    Raises ScheduleError for what is no part of the language, with file and line.
    """
    closure = inspect.getclosurevars(function)
    parsed = Script(cast(FunctionType, function), {**closure.globals, **closure.nonlocals})

    def call(*positional: object, **named: object) -> Any:
        tree = parsed.tree
        parameters = [argument.arg for argument in tree.args.args]
        arguments = [*positional, *(named.pop(name) for name in parameters[len(positional) :] if name in named)]
        if named or len(parameters) != len(arguments):
            fail(f"te.hybrid '{tree.name}': expected {len(parameters)} arguments, got {len(arguments) + len(named)}")
        by_name = dict(zip(parameters, arguments, strict=True))
        if arrays := [name for name, argument in by_name.items() if isinstance(argument, np.ndarray)]:
            if tensors := [tensor.name for tensor in tensors_in(arguments)]:
                fail(
                    f"te.hybrid '{tree.name}': expected tensors or arrays alone, "
                    f"got the tensor '{tensors[0]}' and an array as '{arrays[0]}'"
                )
            return run(cast(FunctionType, function), by_name)
        outputs = outputs_of(parsed, by_name)
        op = HybridOp(tree.name, parsed, arguments, [outputs.declared[name] for name in outputs.returned])
        return op.output(0) if op.num_outputs == 1 else op.outputs

    call.__name__ = function.__name__
    PARSED[call] = parsed
    return call
