"""relay-fold-constant: operators on constants become constants."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.binding import IfOp, LetOp, resolved
from ...dialects.relay.canonicalization.constant_operands import is_at_hand
from ...dialects.relay.canonicalization.fold import is_foldable, reads_extents_only, replace_by_arrays, stand_in
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.data_types import MatchOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.operator import Operator
from ...dialects.relay.tuples import TupleGetItemOp
from ...provenance.rewrite import rewrite
from ...support.dtypes import Array
from .analysis.purity import mark_calls
from .analysis.traversal import functions_of, pre_order
from .known_values import GetOfTuple, IfOnConstant, MatchOnConstruct
from .let_blocks import forward_through_lets


def foldable(module: ModuleOp, fold_qnn: bool = True) -> set[Operation]:
    """The operators that depend on constants and known extents only, in regions, too.

    Primitive functions and stateful operators apart.
    """
    constant: set[Operation] = set()
    ops: set[Operation] = set()
    for func in functions_of(module).values():
        for op in pre_order(func) if func.primitive is None else ():
            if is_at_hand(op, module):
                constant.add(op)
            elif not fold_qnn and op.name.startswith("relay.qnn."):
                continue
            elif is_foldable(op, lambda value: resolved(value).owner in constant):
                constant.add(op)
                ops.add(op)
    return ops


@dataclass
class FoldConstant(RewritePattern):
    """Evaluates ops in order; a constant is made only where an op that does not fold, too, reads it."""

    module: ModuleOp
    foldable: set[Operation]

    def __post_init__(self) -> None:
        self.values: dict[SSAValue, Array] = {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if op not in self.foldable or not isinstance(op, Operator):
            return
        results = evaluate(op, [self._value(operand, op) for operand in op.operands])
        users = [use.operation for result in op.results for use in result.uses]
        if all(user in self.foldable for user in users):
            self.values.update(zip(op.results, results, strict=True))
            return
        replace_by_arrays(op, results, self._consumed(op), rewriter)

    def _value(self, operand: SSAValue, reader: Operation) -> Array:
        if reads_extents_only(reader):
            return stand_in(operand)
        value = resolved(operand)
        owner = value.owner
        return owner.value(self.module) if isinstance(owner, ConstantOp) else self.values[value]

    def _consumed(self, op: Operation) -> list[Operation]:
        """The ops and constants that `op` was evaluated from, pre-order."""
        seen: dict[Operation, None] = {}
        stack = list(reversed(op.operands)) if not reads_extents_only(op) else []
        while stack:
            owner = resolved(stack.pop()).owner
            if isinstance(owner, Operation) and owner not in seen:
                seen[owner] = None
                stack.extend(reversed(owner.operands) if not reads_extents_only(owner) else ())
        return list(seen)


@dataclass(frozen=True)
class FoldConstantPass(ModulePass):
    """Replaces operators on constants by their results, as TVM's FoldConstant (level 2).

    Before: any relay module. Constants whose values are missing (a module read from text without its params) stay.
    After: no operator outside primitive functions has only constant operands, `nn.dropout` apart, and none asks for
    extents that are known. An `if` on a constant
    is the branch that it takes, a field of a tuple that is at hand is the field, a match on a value whose constructors
    are at hand is the clause that fits; constants and what is made elsewhere pass through no let-block.
    Locations: a constant gets those of the op and of all it was computed from, in pre-order; what a branch or clause
    gives gets its own, then that of the `if` or match.

    fold_qnn: whether operators on quantised tensors fold, too; TVM's function of this name has them stay by default.

    ```mlir
    %0 = relay.constant dense<[1.0, 2.0]> : tensor<2xf32> loc("w")
    %1 = relay.negative %0 : (tensor<2xf32>) -> tensor<2xf32> loc("neg")
    // becomes
    %const = relay.constant dense<[-1.000000e+00, -2.000000e+00]> : tensor<2xf32> loc(fused["neg", "w"])
    ```
    """

    name = "relay-fold-constant"
    fold_qnn: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._fold(op)
        for let in [nested for nested in pre_order(op) if isinstance(nested, LetOp)]:
            for inner in let.block.ops:
                if isinstance(inner, ConstantOp):
                    # A name makes a binding of what is read where it is.
                    inner.result.name_hint = None

    def _fold(self, op: ModuleOp) -> None:
        decide = [IfOnConstant(op), MatchOnConstruct(), GetOfTuple()]
        while True:
            if constants := foldable(op, self.fold_qnn):
                rewrite(op, [FoldConstant(op, constants)], recursive=False)
            if not any(isinstance(inner, IfOp | MatchOp | TupleGetItemOp | LetOp) for inner in pre_order(op)):
                return
            mark_calls(op)
            # A decided branch may bring constants to further operators.
            forwarded = forward_through_lets(op)
            if not rewrite(op, decide) and not forwarded:
                return
