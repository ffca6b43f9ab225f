"""Tensors without elements: patterns by which no kernel ever reads or makes one."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....provenance.rewrite import replace_with_constant
from ....support.dtypes import Array
from ...element_types import numpy_dtype
from ...sizes import same
from ..constants import module_of
from ..core import ConstantOp
from ..evaluation import evaluate
from ..operator import Operator, element_of, shape_of
from ..traits import Stateful
from ..transform import ConcatenateOp
from .constant_operands import constant_value, erase_unused
from .fold import in_primitive


def is_empty(value: SSAValue) -> bool:
    return same(prod(shape_of(value)), 0)


def empty(value: SSAValue) -> Array:
    """The one array that an empty value can be."""
    return np.zeros(shape_of(value), numpy_dtype(element_of(value)))


class EvaluateEmpty(RewritePattern):
    """Turn values without elements, and what is computed from these and constants alone, into constants."""

    reason: ClassVar[str] = "it reads or makes no element"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or op.has_trait(Stateful) or in_primitive(op):
            return
        if all(map(is_empty, op.results)):
            results = [empty(result) for result in op.results]
        elif any(map(is_empty, op.operands)):
            values = [empty(v) if is_empty(v) else constant_value(v, module_of(op)) for v in op.operands]
            arrays = [array for array in values if array is not None]
            if len(arrays) < len(values):
                return
            results = list(evaluate(op, arrays))
        else:
            return
        operands = list(op.operands)
        replace_with_constant(op, [ConstantOp.of(array, module_of(op), "empty") for array in results], rewriter)
        erase_unused(operands, rewriter)


class DropEmptyParts(RewritePattern):
    """Parts without elements add nothing to a concatenation."""

    reason: ClassVar[str] = "its other operands have no elements"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatenateOp, rewriter: PatternRewriter, /) -> None:
        parts = [value for value in op.data if not is_empty(value)]
        if not parts or len(parts) == len(op.data) or in_primitive(op):
            return
        before = list(op.data)
        if len(parts) == 1:
            rewriter.replace(op, [], [parts[0]])
        else:
            rewriter.replace(op, ConcatenateOp(*parts, axis=op.signature.int("axis")))
        erase_unused(before, rewriter)
