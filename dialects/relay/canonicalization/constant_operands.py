"""Questions of several relay passes about the operands of an op: constant values, sole users, leftovers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....provenance.dce import is_trivially_dead_when_unused
from ....support.dtypes import Array
from ...element_types import numpy_dtype
from ...sizes.types import is_open
from ..constants import pool_of
from ..core import ConstantOp
from ..creation import FullLikeOp, FullOp, OnesOp, ZerosOp
from ..elementwise import OnesLikeOp, ZerosLikeOp
from ..operator import element_of


def is_at_hand(op: Operation | object, module: ModuleOp) -> bool:
    """Return whether `op` is a constant whose values are there; a module read from text may lack its pool."""
    return isinstance(op, ConstantOp) and (op.key is None or op.key.data in pool_of(module))


def constant_value(value: SSAValue, module: ModuleOp) -> Array | None:
    """The array behind a constant value, None when it is not constant or not at hand."""
    owner = value.owner
    return owner.value(module) if isinstance(owner, ConstantOp) and is_at_hand(owner, module) else None


def constant_operands(op: Operation, module: ModuleOp) -> list[Array] | None:
    """The arrays behind the operands of an op; None unless all are constants at hand."""
    arrays = [constant_value(value, module) for value in op.operands]
    return None if any(array is None for array in arrays) else cast("list[Array]", arrays)


def one_number(value: SSAValue, module: ModuleOp) -> Array | None:
    """The number, an array without axes, that a value has at each of its places; None if there is none, or unknown."""
    match owner := value.owner:
        case ZerosOp() | ZerosLikeOp():
            return np.zeros((), numpy_dtype(element_of(value)))
        case OnesOp() | OnesLikeOp():
            return np.ones((), numpy_dtype(element_of(value)))
        case FullOp() | FullLikeOp():
            filled = constant_value(owner.fill_value, module)
            return None if filled is None else filled.reshape(()).astype(numpy_dtype(element_of(value)))
        case _:
            array = constant_value(value, module)
    if array is None or not array.size or not (array == array.flat[0]).all():
        return None
    return np.asarray(array.flat[0], array.dtype)


def is_any_open(op: Operation) -> bool:
    """Return whether only a run decides an extent of what `op` reads or makes."""
    return any(is_open(value.type) for value in (*op.operands, *op.results))


def sole_user(value: SSAValue) -> Operation | None:
    """The op that alone uses `value`, and once."""
    use = value.first_use
    return use.operation if use is not None and value.has_one_use() else None


def erase_unused(values: Iterable[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the pure ops behind `values` that nobody reads, and what only they read."""
    stack = list(values)
    while stack:
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or owner.parent is None or not is_trivially_dead_when_unused(owner):
            continue
        if all(result.first_use is None for result in owner.results):
            operands = list(owner.operands)
            rewriter.erase(owner)
            stack.extend(operands)
