"""Shape arithmetic: nodes whose inputs are known and small are evaluated at import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import element_type, numpy_dtype
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.operator import Operator, element_of, shape_of
from ...dialects.relay.size_arithmetic import LIMIT, computed_sizes, is_open
from ...dialects.relay.traits import NonComputational, Stateful
from ...dialects.sizes import UndecidedSize
from ...dialects.sizes.types import is_static
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .converter import ContextT, Narrowed, Result
from .sizes import counted
from .tensor import SIZE, Tensor

FOLD_LIMIT = 1024
"""The maximal number of elements of tensors that are evaluated at import; FoldConstant evaluates the others."""
_FLOAT_LIMIT = 8
"""The same for floats: shape arithmetic uses a few, such as the scales of a Resize; more are weights."""


def folded(ctx: ContextT, convert: Callable[[ContextT], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
    """Evaluate a node whose inputs are known and small; None if the import should not evaluate it.

    The converter emits operators outside the program, which are then evaluated on numbers, or on sizes of the call.
    """
    tensors = [tensor for tensor in ctx.inputs if tensor is not None]
    if not ctx.inputs or not all(_is_small(tensor.array) for tensor in tensors):
        return None
    if not any(tensor.symbolic for tensor in tensors):
        return _computed(ctx, convert)
    try:
        return _computed(ctx, convert)
    except (ArithmeticError, FrontendError, IndexError, UndecidedSize, ValueError, VerifyException):
        return None  # inside the program the converter raises it again


def _computed(ctx: ContextT, convert: Callable[[ContextT], Result | tuple[Result, ...]]) -> tuple[Result, ...] | None:
    block, module = Block(), ModuleOp([])
    values: dict[SSAValue, Array] = {}
    inputs = [tensor and _copy(tensor, block, values) for tensor in ctx.inputs]
    folding = replace(ctx, inputs=inputs, builder=LocatedBuilder(block), module=module, read=[], required=[], bounds=[])
    with folding.builder.located(ctx.leaf):
        converted = convert(folding)
    for op in block.ops:
        results = _values(op, values, module)
        if results is None:
            return None
        values |= zip(op.results, results, strict=True)
    outputs = [_output(result, values) for result in (converted if isinstance(converted, tuple) else (converted,))]
    if any(output is None for output in outputs):
        return None
    ctx.required += folding.required
    ctx.read.extend(tensor for tensor in ctx.inputs if tensor is not None)
    return tuple(counted(ctx, *output) for output in outputs if output is not None)


def _is_small(array: Array | None) -> bool:
    if array is None:
        return False
    if is_open(array):
        return array.size <= LIMIT
    return array.size <= (FOLD_LIMIT if array.dtype.kind in "iub" else _FLOAT_LIMIT)


def _copy(tensor: Tensor, block: Block, values: dict[SSAValue, Array]) -> Tensor:
    """Copy a known tensor for another program, in which sizes are an argument."""
    copy = Tensor(tensor.name, tensor.array, counts=tensor.counts)
    if tensor.symbolic and tensor.array is not None:
        type_ = TensorType(element_type(tensor.counts), tensor.array.shape)
        copy.value = block.insert_arg(type_, len(block.args))
        values[copy.value] = tensor.array
    return copy


def _values(op: Operation, values: Mapping[SSAValue, Array], module: ModuleOp) -> tuple[Array, ...] | None:
    """Return the results of an op; None if only a run has them, or if they are large."""
    if isinstance(op, ConstantOp):
        return (op.value(module),)
    if not isinstance(op, Operator) or not is_fixed(op):
        return None
    if not all(is_static(value.type) and prod(shape_of(value)) <= FOLD_LIMIT for value in op.results):
        return None
    operands = [values[value] for value in op.operands]
    if any(map(is_open, operands)) or isinstance(op, SizesOp):
        return computed_sizes(op, operands)
    return evaluate(op, operands)


def is_fixed(op: Operation) -> bool:
    """Return whether the results of an op at import are those of every call."""
    return not op.has_trait(Stateful) and not op.has_trait(NonComputational)


def _output(result: Result, values: Mapping[SSAValue, Array]) -> tuple[Array, Any] | None:
    """Return an output as an array and the dtype that it counts as; None if only a run has it."""
    if isinstance(result, SSAValue):
        return values[result], numpy_dtype(element_of(result))
    if isinstance(result, Tensor):
        return None if result.array is None else (result.array, result.dtype)
    if isinstance(result, Narrowed):
        count, array = values[result.count], values[result.value]
        return None if is_open(count) else (array.take(range(int(count.item())), result.axis), array.dtype)
    return result, SIZE if is_open(result) else result.dtype
