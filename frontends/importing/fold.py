"""Shape arithmetic: nodes whose inputs are known and few are evaluated at import, by what their operators mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.interpret import Evaluator
from ...dialects.relay.operator import shape_of
from ...dialects.relay.traits import NonComputational, Stateful
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import Array
from .converter import ContextT, Narrowed, Result
from .tensor import Tensor, is_symbolic

FOLD_LIMIT = 1024
"""Only tensors of at most this many elements are evaluated at import; FoldConstant takes care of the others."""
_FLOAT_LIMIT = 8
"""The same of floats: sizes are computed with a few of them, such as the scales of a Resize; weights are no shapes."""


def folded(ctx: ContextT, convert: Callable[[ContextT], Result | tuple[Result, ...]]) -> tuple[Array, ...] | None:
    """The outputs of a node whose inputs are known and few, evaluated; None where it is not for the import to do so."""
    if not ctx.inputs or not all(tensor is None or _small(tensor.array) for tensor in ctx.inputs):
        return None
    scratch = ModuleOp([])
    builder = LocatedBuilder(Block())
    inputs = [tensor and Tensor(tensor.name, tensor.array) for tensor in ctx.inputs]
    with builder.located(ctx.leaf):
        results = convert(replace(ctx, inputs=inputs, builder=builder, module=scratch, read=[]))
    outputs = results if isinstance(results, tuple) else (results,)
    if any(isinstance(result, Tensor) and result.array is None for result in outputs):
        return None
    if not all(is_fixed(op) and (isinstance(op, ConstantOp) or _is_few(op)) for op in builder.block.ops):
        return None
    values = Evaluator(scratch).values(builder.block.ops, {})
    ctx.read.extend(tensor for tensor in ctx.inputs if tensor is not None)
    return tuple(_array(result, values) for result in outputs)


def _small(array: Array | None) -> bool:
    if array is None or is_symbolic(array):
        return False
    return array.size <= (FOLD_LIMIT if array.dtype.kind in "iub" else _FLOAT_LIMIT)


def is_fixed(op: Operation) -> bool:
    """Return whether what an op gives at import is what it would give in every call."""
    return not op.has_trait(Stateful) and not op.has_trait(NonComputational)


def _is_few(op: Operation) -> bool:
    return all(prod(shape_of(value)) <= FOLD_LIMIT for value in op.results)


def _array(result: Result, known: dict[SSAValue, Array]) -> Array:
    if isinstance(result, Narrowed):
        return known[result.value].take(range(int(known[result.count].item())), result.axis)
    if isinstance(result, Tensor):
        assert result.array is not None
        return result.array
    return known[result] if isinstance(result, SSAValue) else result
