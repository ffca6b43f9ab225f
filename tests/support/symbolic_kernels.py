"""Kernels of relay operators over open sizes, as functions on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32

from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.sizes import Size, evaluate
from whence.dialects.sizes.text import parse_size
from whence.dialects.sizes.types import extents_of, tensor_of
from whence.kernels.functions import Function
from whence.lowering.kernel.few_rows import lower_scheduled
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.lower import lower_function
from whence.provenance.span import layer_location

Make = Callable[..., Any]
"""Operators, the last of which is the result, of the values of the inputs."""


def relay_function(shapes: Sequence[Sequence[Size]], make: Make, elements: Sequence[Any] = ()) -> FuncOp:
    """A primitive function of inputs of these shapes, float32 where `elements` says nothing."""
    types = [tensor_of(elements[i] if i < len(elements) else f32, shape) for i, shape in enumerate(shapes)]
    func = FuncOp("main", types, [], primitive=True)
    made = make(*func.block.args)
    ops = cast("list[Any]", made) if isinstance(made, list) else [made]
    for place, op in enumerate(ops):
        op.location = layer_location(f"layer{place}", "model.onnx", place)
        func.block.add_op(op)
    last = ReturnOp(ops[-1].results[0])
    last.location = func.location = ops[-1].location
    func.block.add_op(last)
    return func


class SymbolicKernel:
    """One kernel for all sizes of its inputs."""

    def __init__(self, func: FuncOp, threads: int = 2):
        self.shapes = [extents_of(argument.type) for argument in func.block.args]  # pyright: ignore
        target = Target.native()
        self.te = lower_function(func)
        self.names = [n for n in self.te.size_names if not n.startswith(("min(", "max("))]
        schedule, self.loops = lower_scheduled(self.te, target.hardware)
        self.sequence = str(schedule.sequence)
        self.loops.verify()
        self.function = Function(self.loops, target, threads)

    def __call__(self, sizes: dict[str, int], *arrays: Any) -> Any:
        if not self.names:
            # Where all sizes are known, axes may have been joined.
            shapes = [extents_of(argument.type) for argument in self.te.block.args]  # pyright: ignore
            arrays = tuple(array.reshape(extents) for array, extents in zip(arrays, shapes, strict=True))
        return self.function.at(tuple(evaluate(parse_size(name), sizes) for name in self.names))(*arrays)


def inputs_of(shapes: Sequence[Sequence[Size]], sizes: dict[str, int]) -> list[Any]:
    """Random arrays of the shapes that sizes give."""
    rng = np.random.default_rng(sum(sizes.values()))
    return [rng.standard_normal([evaluate(e, sizes) for e in shape]).astype("float32") for shape in shapes]
