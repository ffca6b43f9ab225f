"""Rules that users registered for FakeQuantizationToInteger, which get and give expressions, as a pattern on ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.element_types import dtype_name
from ...dialects.relay.canonicalization.constant_operands import erase_unused
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.operator import Operator, element_of
from ...dialects.relay.qnn import DequantizeOp, QuantizeOp
from ...provenance.diagnostics import message
from ...provenance.rewrite import stands_for
from ...support.errors import PipelineError
from ...syntax.relay.affine_types import TensorAffineType
from ...syntax.relay.expr import Call, Constant, Expr, Tuple, Var
from ...syntax.relay.operators import name_of
from .op_hooks import computed, written

_FAR = 64
"""The largest number of operators between one with a rule and the quantisation behind it."""


@dataclass
class RegisteredRules(RewritePattern):
    """f(dequantize(x), ..) before a quantisation becomes dequantize(rule(x, ..))"""

    rules: Mapping[str, Any]
    """Operator -> (call, types of its arguments) -> [expression, its type]."""
    module: ModuleOp
    hard_fail: bool = False
    """True when a rule that raises is an error; otherwise its operator stays on floats."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator) or isinstance(op, DequantizeOp) or len(op.results) != 1:
            return
        rule = self.rules.get(name_of(type(op)))
        inner = [value.owner for value in op.operands if isinstance(value.owner, DequantizeOp)]
        if rule is None or not inner or not _is_quantized(op):
            return
        source = written(op)
        values, types = dict(source.values), dict[Expr, TensorAffineType]()
        integers = [self._integers(arg, values, types) for arg in source.call.args]
        try:
            answer = rule(Call(source.call.op, integers, source.call.attrs), types)
        except Exception as error:
            if self.hard_fail:
                raise self._refused(op, "an answer", f"{type(error).__name__}: {error}") from error
            return
        parts: list[Any] = list(cast("Sequence[Any]", answer)) if isinstance(answer, Sequence) else []
        if len(parts) != 2:
            raise self._refused(op, "an expression and its type", type(cast(object, answer)).__name__)
        out, affine = parts
        if not isinstance(out, Expr) or not isinstance(affine, TensorAffineType):
            raise self._refused(
                op, "an expression and a TensorAffineType", f"{type(out).__name__}, {type(affine).__name__}"
            )
        ops, (data, scale, zero) = computed(Tuple([out, affine.scale, affine.zero_point]), values, self.module)
        if (actual := dtype_name(element_of(data))) != affine.dtype:
            raise self._refused(op, f"integers of {affine.dtype}, as its type has it", actual)
        outer = DequantizeOp(data, scale, zero, axis=affine.axis)
        used = list(op.operands)
        rewriter.replace(op, (*(stands_for(new, op) for new in ops), stands_for(outer, *inner)), [outer.result])
        erase_unused(used, rewriter)

    def _integers(self, arg: Expr, values: dict[Expr, SSAValue], types: dict[Expr, TensorAffineType]) -> Expr:
        """An argument as integers, where it was dequantised; in tuples, too."""
        if isinstance(arg, Tuple):
            return Tuple([self._integers(field, values, types) for field in arg.fields])
        owner = values[arg].owner
        if not isinstance(owner, DequantizeOp):
            return arg

        def known(value: SSAValue) -> Expr:
            source = value.owner
            expr: Expr = Var(value.name_hint or "x", value.type, type=value.type)
            if isinstance(source, ConstantOp):
                expr = Constant(source.value(self.module), type=value.type)
            values[expr] = value
            return expr

        integers = known(owner.data)
        scale, zero = known(owner.input_scale), known(owner.input_zero_point)
        axis = owner.signature.int("axis")
        types[integers] = TensorAffineType(scale, zero, dtype_name(element_of(owner.data)), axis)
        return integers

    def _refused(self, op: Operator, expected: str, got: str) -> PipelineError:
        where = f"rule of {name_of(type(op))} for FakeQuantizationToInteger"
        return PipelineError(message(where, expected, got, op.location))


def _is_quantized(op: Operation) -> bool:
    """Return whether what an operator gives is quantised at last."""
    todo, seen = [op], {op}
    while todo and len(seen) < _FAR:
        for result in todo.pop().results:
            for use in result.uses:
                user = use.operation
                if isinstance(user, QuantizeOp):
                    return True
                if isinstance(user, Operator) and user not in seen:
                    seen.add(user)
                    todo.append(user)
    return False
