"""Shape arithmetic: nodes whose inputs are known and few are evaluated at import, by what their operators mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...dialects.relay.core import ConstantOp, ReturnOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.operator import Operator, shape_of
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
    values = evaluated(builder.block, scratch)
    if values is None:
        return None
    ctx.read.extend(tensor for tensor in ctx.inputs if tensor is not None)
    return tuple(_array(result, values) for result in outputs)


def _small(array: Array | None) -> bool:
    if array is None or is_symbolic(array):
        return False
    return array.size <= (FOLD_LIMIT if array.dtype.kind in "iub" else _FLOAT_LIMIT)


def evaluated(block: Block, module: ModuleOp, limit: int | None = FOLD_LIMIT) -> dict[SSAValue, Array] | None:
    """The values of all ops of a block without arguments; None when one has more than `limit` elements, or is no
    function of its operands."""
    values: dict[SSAValue, Array] = {}
    for op in block.ops:
        if isinstance(op, ConstantOp):
            values[op.result] = op.value(module)
            continue
        if isinstance(op, ReturnOp):
            break
        operator = cast(Operator, op)
        if (
            operator.has_trait(Stateful)
            or operator.has_trait(NonComputational)
            or (limit is not None and any(prod(shape_of(value)) > limit for value in op.results))
        ):
            return None
        values.update(zip(op.results, evaluate(operator, [values[operand] for operand in op.operands]), strict=True))
    return values


def _array(result: Result, known: dict[SSAValue, Array]) -> Array:
    if isinstance(result, Narrowed):
        return known[result.value].take(range(int(known[result.count].item())), result.axis)
    if isinstance(result, Tensor):
        assert result.array is not None
        return result.array
    return known[result] if isinstance(result, SSAValue) else result
