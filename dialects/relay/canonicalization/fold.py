"""A pattern that evaluates an operator on constants, and what it shares with `relay-fold-constant`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....provenance.rewrite import replace_with_constant
from ....support.dtypes import Array
from ...element_types import numpy_dtype
from ...sizes.types import SizesAttr, is_static
from ..constants import module_of
from ..core import ConstantOp, FuncOp
from ..evaluation import evaluate
from ..operator import Operator, element_of, shape_of
from ..shapes import OfShape
from ..traits import Stateful
from .constant_operands import constant_operands, erase_unused, is_at_hand


def in_primitive(op: Operation) -> bool:
    """Return whether `op` stands in a fused function."""
    func = op.parent_op()
    return isinstance(func, FuncOp) and func.primitive is not None


def knows_sizes(op: Operation) -> bool:
    """Return whether all extents of an operator's operands and results, and all its attributes, are numbers."""
    return all(is_static(value.type) for value in (*op.operands, *op.results)) and not any(
        isinstance(attribute, SizesAttr) for attribute in op.properties.values()
    )


def reads_extents_only(op: Operation) -> bool:
    """Return whether `op` is computed from extents that are numbers, whatever the elements are."""
    return isinstance(op, OfShape) and is_static(op.data.type)


def is_foldable(op: Operation, is_constant: Callable[[SSAValue], bool]) -> bool:
    """Return whether `op` is an operator that depends on constants and static extents only."""
    if not isinstance(op, Operator) or not op.operands or op.has_trait(Stateful):
        return False
    return reads_extents_only(op) or (all(map(is_constant, op.operands)) and knows_sizes(op))


def stand_in(value: SSAValue) -> Array:
    """Return an array of a value's type for an operator that reads extents only."""
    return np.broadcast_to(np.zeros((), numpy_dtype(element_of(value))), shape_of(value))


def replace_by_arrays(
    op: Operation, results: Sequence[Array], consumed: Sequence[Operation], rewriter: PatternRewriter
) -> None:
    """Replace `op` by constants, named after the first constant from the pool among `consumed`, usually the weight.

    consumed: the ops and constants that the results were evaluated from, pre-order.
    """
    module = module_of(op)
    sources = [source for source in consumed if isinstance(source, ConstantOp)]
    pooled = next((source.hint for source in sources if source.key is not None), None)
    hint = pooled or next((s.result.name_hint for s in sources if s.result.name_hint), None) or "const"
    constants = [ConstantOp.of(result, module, hint) for result in results]
    operands = list(op.operands)
    replace_with_constant(op, constants, rewriter, consumed)
    erase_unused([*operands, *(constant.result for constant in constants)], rewriter)


def fold(op: Operation, rewriter: PatternRewriter) -> None:
    """Replace an operator on constants, or on static extents, by what it comes to; leave any other."""
    module = module_of(op)
    if not isinstance(op, Operator) or in_primitive(op) or not is_foldable(op, lambda x: is_at_hand(x.owner, module)):
        return
    if reads_extents_only(op):
        replace_by_arrays(op, evaluate(op, [stand_in(value) for value in op.operands]), (), rewriter)
    elif (arrays := constant_operands(op, module)) is not None:
        sources = [value.owner for value in op.operands if isinstance(value.owner, Operation)]
        replace_by_arrays(op, evaluate(op, arrays), sources, rewriter)


@dataclass(frozen=True)
class FoldOperator(RewritePattern):
    """An operator on constants is a constant, as is one that reads static extents only."""

    operator: type[Operation] = Operator

    reason: ClassVar[str] = "its operands are constant"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, self.operator):
            fold(op, rewriter)
