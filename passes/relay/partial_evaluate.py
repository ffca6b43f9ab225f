"""relay-partial-evaluate: what the program itself tells is worked out now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.binding import IfOp, LetOp
from ...dialects.relay.canonicalization.constant_operands import constant_operands, constant_value
from ...dialects.relay.constants import LITERAL_LIMIT
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp
from ...dialects.relay.data_types import MatchOp
from ...dialects.relay.evaluation import evaluate
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.relay.traits import Stateful
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...provenance.span import fuse
from .analysis.purity import mark_calls
from .analysis.traversal import functions_of
from .analysis.variables import free_vars
from .inline import put_in_place, stand_for
from .known_values import fits, is_seen_from
from .local_references import forward_references
from .recursion import Recursion
from .to_graph_normal_form import dissolve_all

_RECENT = 7
"""The number of calls to look back for one with equal arguments, which shows that there is no progress."""


@dataclass(frozen=True)
class PartialEvaluatePass(ModulePass):
    """Works out calls, branches, matches, tuples, constants and references, as TVM's PartialEvaluate (level 1).

    limit: how many calls are unfolded, in all.

    Before: any relay module.
    After: unless the limit is met, no let-block but those of functions that call themselves. No call of a function or
    closure that is at hand and does not call itself; none of one that does, where the arguments tell which way it goes.
    No `if` on a constant of few elements, no match on a value whose constructors are at hand. No reference that its own
    block alone, and branches in it, read and write, if all ways leave the same in it where it is read. What nobody
    reads any more is left to `relay-dead-code-elimination`. Calls are marked as `relay-infer-purity` marks them.
    Locations: ops and copies of ops keep theirs; what gives the result of a call, an `if` or a match has its, too.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %f = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
        %0 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %y = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("call")
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %f = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
        %0 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %y = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused["exp", "call"])
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-partial-evaluate"
    limit: int = 10_000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mark_calls(op)
        dissolve_all(op)
        evaluator = _Evaluator(op, self.limit)
        for func in functions_of(op).values():
            if func.primitive is None:
                evaluator.function(func)
        mark_calls(op)


class _Evaluator:
    def __init__(self, module: ModuleOp, limit: int):
        self.module = module
        self.functions = functions_of(module)
        self.left = limit
        self.recursion = Recursion(self.functions)
        self.unrolled: dict[Operation, dict[Operation, tuple[Block, tuple[object, ...]]]] = {}
        """Per copied call the recursive functions that it was copied from: to which block, last called with what."""

    def function(self, func: FuncOp) -> None:
        again = True
        while again:
            todo, done = [func.block], list[Block]()
            while todo:
                block = todo.pop()
                while True:
                    self._block(block)
                    if not forward_references(block):
                        break
                done.append(block)
                todo += [inner for op in block.ops for region in op.regions for inner in region.blocks]
            # The code unfolded in branches may have been the last user of a reference made before them.
            again = any([forward_references(block) for block in reversed(done)])

    def _block(self, block: Block) -> None:
        """The ops of a block, in order; those that take the place of one are next."""
        op = block.first_op
        while op is not None:
            before = op.prev_op
            following = op.next_op
            if self._step(op):
                op = block.first_op if before is None else before.next_op
            else:
                op = following

    def _step(self, op: Operation) -> bool:
        """Work out an op, if it can be; whether it is gone."""
        match op:
            case Operator():
                return self._operator(op)
            case TupleGetItemOp():
                owner = op.tuple_value.owner
                if not isinstance(owner, TupleOp):
                    return False
                stand_for(op, [], [owner.fields[op.index.value.data]], "the tuple is at hand", "Get")
                return True
            case IfOp():
                condition = constant_value(op.condition, self.module)
                if condition is None:
                    return False
                branch = op.true_branch if condition.item() else op.false_branch
                self._take(op, branch.block, [], "its condition is constant")
                return True
            case MatchOp():
                return self._match(op)
            case CallOp():
                callee = self.functions.get(op.callee.string_value())
                return callee is not None and self._call(op, callee, callee.block, list(op.arguments))
            case InvokeOp():
                return self._invoke(op)
            case _:
                return False

    def _operator(self, op: Operator) -> bool:
        if not op.operands or op.has_trait(Stateful):
            return False
        if any(prod(shape_of(result)) > LITERAL_LIMIT for result in op.results):
            return False
        arrays = constant_operands(op, self.module)
        if arrays is None:
            return False
        block = op.parent
        assert block is not None
        constants = [ConstantOp.of(array, self.module, "const") for array in evaluate(op, arrays)]
        location = fuse([op.location, *(v.owner.location for v in op.operands if isinstance(v.owner, Operation))])
        for constant in constants:
            constant.location = location
            block.insert_op_before(constant, op)
        stand_for(op, [], [constant.result for constant in constants], "its operands are constant", "Fold")
        return True

    def _match(self, op: MatchOp) -> bool:
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            bound: list[SSAValue] = []
            answer = fits(pattern, op.data, bound)
            if answer:
                self._take(op, region.block, bound, "its value is known")
            if answer is not False:
                return answer is True
        return False

    def _take(self, op: Operation, block: Block, arguments: Sequence[SSAValue], reason: str) -> None:
        """Move the ops of a branch or clause to the place of `op`."""
        home, last = op.parent, block.last_op
        assert home is not None
        assert last is not None
        replacements: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        replace_uses(replacements)
        values = list(last.operands)
        moved = [inner for inner in block.ops if inner is not last]
        for inner in moved:
            inner.detach()
            home.insert_op_before(inner, op)
        stand_for(op, moved, values, reason, "Take")

    def _invoke(self, op: InvokeOp) -> bool:
        function = op.function
        owner = function.owner
        if isinstance(owner, GlobalOp):
            return self._call_of_global(op, owner)
        if isinstance(owner, FnOp):
            if "Primitive" in owner.attributes:
                return False
            return self._call(op, owner, owner.block, list(op.arguments))
        if isinstance(owner, LetOp) and isinstance(function, OpResult):
            last = owner.block.last_op
            assert last is not None
            fn = last.operands[function.index].owner
            if isinstance(fn, FnOp):
                selves: dict[SSAValue, SSAValue] = dict(zip(owner.block.args, owner.results, strict=True))
                return self._call(op, fn, fn.block, list(op.arguments), selves)
        return False

    def _call_of_global(self, op: InvokeOp, symbol: GlobalOp) -> bool:
        """An invoke of a function of the module is a call."""
        func = self.functions.get(symbol.symbol.string_value())
        block = op.parent
        if func is None or block is None or func.type_params is not None:
            return False
        call = CallOp(func.sym_name.data, list(op.arguments), list(func.function_type.outputs), impure=True)
        if op.impure is None:
            del call.properties["impure"]
        ops: list[Operation] = [call]
        if len(call.outputs) != 1:
            ops.append(TupleOp(call.outputs))
        for new in ops:
            new.location = op.location
            block.insert_op_before(new, op)
        if (where := self.unrolled.pop(op, None)) is not None:
            self.unrolled[call] = where
        stand_for(op, ops, [ops[-1].results[0]], "the function is at hand", "Invoke")
        return True

    def _call(
        self,
        op: Operation,
        function: FuncOp | FnOp,
        body: Block,
        arguments: list[SSAValue],
        selves: dict[SSAValue, SSAValue] | None = None,
    ) -> bool:
        """Put what a function does in the place of a call of it."""
        if isinstance(function, FuncOp) and (function.primitive is not None or "Compiler" in function.attributes):
            return False
        if "SkipOptimization" in function.attributes:
            return False
        if isinstance(function, FnOp):
            captured = [value for value in free_vars(function) if value not in (selves or {})]
            if not all(is_seen_from(value, op) for value in captured) or op.parent_op() is function:
                return False
        before = dict(self.unrolled.get(op, {}))
        if self.recursion.is_recursive(function, selves is not None):
            key = tuple(_identity(value) for value in arguments)
            if function in before:
                home, last = before[function]
                if home is not op.parent or key in last:
                    return False
            elif any(around is function for around in _around(op)):
                return False
            if not self.recursion.is_decided(function, arguments, selves):
                return False
            assert op.parent is not None
            recent = before[function][1] if function in before else ()
            before[function] = (op.parent, (*recent[-_RECENT:], key))
        if not self.left:
            return False
        self.left -= 1
        name = f"@{function.sym_name.data}" if isinstance(function, FuncOp) else "the closure"
        copies = put_in_place(op, body, arguments, f"{name} stands in its place", pattern="Unfold", given=selves)
        self.unrolled.pop(op, None)
        if before:
            for copy in copies:
                for inner in copy.walk():
                    if isinstance(inner, CallOp | InvokeOp):
                        self.unrolled[inner] = before
        return True


def _identity(value: SSAValue) -> object:
    """Return a key that is the same for values that are known to be the same."""
    owner = value.owner
    return (owner.literal, owner.key) if isinstance(owner, ConstantOp) else value


def _around(op: Operation) -> Iterable[Operation]:
    outer = op.parent_op()
    while outer is not None:
        yield outer
        outer = outer.parent_op()
