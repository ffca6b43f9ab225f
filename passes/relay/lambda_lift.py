"""relay-lambda-lift: closures become functions of the module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.binding import Flavour, LetOp
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.grouping import replace_uses
from ...provenance.builder import fill
from ...provenance.ledger import clone_of, current_ledger
from ...provenance.numbers import moves_of
from .analysis.purity import mark_calls
from .analysis.traversal import functions_of, post_order
from .analysis.variables import free_type_vars, free_vars, type_variables
from .infer_type import type_of_function
from .let_blocks import dissolve

_NAME = "lifted_name"


@dataclass(frozen=True)
class LambdaLiftPass(ModulePass):
    """Makes functions of the module of closures, as TVM's LambdaLift (level 1).

    Before: any relay module.
    After: a closure is at most a call: of a function `@lifted_name<k>`, which takes what the closure captured before
    its own parameters; one that captured nothing is that function. Invokes of closures that are at hand are calls.
    Constants and functions of the module are no captures. No let-block is recursive. Primitive closures stay.
    Locations: a function, and what closures are left, have that of the closure; a call that of the invoke.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
      %f = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
        %0 = relay.add %p, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %y = relay.invoke %f(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
      %y = relay.call @lifted_name0(%b, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    relay.func @lifted_name0(%b: tensor<4xf32> loc("b"), %p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) {
      %0 = relay.add %p, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("f")
    } loc("f")
    ```
    """

    name = "relay-lambda-lift"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lifter = _Lifter(op)
        for func in functions_of(op).values():
            if func.primitive is None:
                lifter.function(func)
        mark_calls(op)


class _Lifter:
    def __init__(self, module: ModuleOp):
        self.names = set(functions_of(module))
        self.count = 0

    def name(self) -> str:
        while (name := f"{_NAME}{self.count}") in self.names:
            self.count += 1
        self.names.add(name)
        return name

    def function(self, func: FuncOp) -> None:
        """Lift the closures of a function, inner ones first; functions that call one another together."""
        anchor: Operation = func
        for op in list(post_order(func)):
            if isinstance(op, LetOp) and op.kind is Flavour.REC:
                anchor = self.recursive(op, anchor)
            elif isinstance(op, FnOp) and not _is_recursive(op) and "Primitive" not in op.attributes:
                anchor = self.group([op], [], anchor)

    def recursive(self, let: LetOp, anchor: Operation) -> Operation:
        """Lift the functions of a recursive let-block, which dissolves."""
        last = let.block.last_op
        assert last is not None
        functions = [value.owner for value in last.operands]
        closures = [fn for fn in functions if isinstance(fn, FnOp)]
        if len(closures) != len(functions):
            return anchor
        return self.group(closures, list(let.block.args), anchor, let)

    def group(
        self, functions: Sequence[FnOp], selves: Sequence[SSAValue], anchor: Operation, let: LetOp | None = None
    ) -> Operation:
        """Lift closures that see each other as `selves`, put the functions behind `anchor`, and return the last."""
        free = {value: None for fn in functions for value in free_vars(fn) if value not in selves}
        local = [value for value in free if isinstance(value.owner, ConstantOp | GlobalOp)]
        captured = [value for value in free if value not in local]
        lifted: list[FuncOp] = []
        for fn in functions:
            lifted.append(function := self._lifted(fn, captured, local))
            block = anchor.parent
            assert block is not None
            block.insert_op_after(function, anchor)
            anchor = function
        for function in lifted:
            inside = list(function.block.args[: len(captured)])
            for index, closure in enumerate(selves):
                self._rewire(closure, lifted[index], functions[index], inside, function)
        left = [self._replace(fn, function, captured, let) for fn, function in zip(functions, lifted, strict=True)]
        if let is not None:
            dissolve(let, "its functions are functions of the module")
        for op in left:
            if op.results[0].first_use is None:
                op.detach()
                op.erase()
        return anchor

    def _lifted(self, fn: FnOp, captured: Sequence[SSAValue], local: Sequence[SSAValue]) -> FuncOp:
        """The function that does what a closure does, which is left without a body."""
        types = [value.type for value in captured]
        names = [*free_type_vars(fn), *fn.type_names()]
        for value in captured:
            names += [name for name in type_variables(value.type) if name not in names]
        func = FuncOp(
            self.name(),
            [*types, *(argument.type for argument in fn.block.args)],
            [fn.signature.outputs.data[0]],
            type_params=list(dict.fromkeys(names)),
            location=fn.location,
        )
        func.attributes.update(fn.attributes)
        replacements: dict[SSAValue, SSAValue] = {}
        for argument, value in zip(func.block.args, [*captured, *fn.block.args], strict=True):
            argument.name_hint = value.name_hint
            argument.location = value.location if isinstance(value, BlockArgument) else fn.location
            replacements[value] = argument
        for value in local:
            owner = value.owner
            assert isinstance(owner, Operation)
            func.block.add_op(copy := clone_of(owner))
            replacements[value] = copy.results[0]
        last = fn.block.last_op
        assert last is not None
        for op in list(fn.block.ops):
            op.detach()
            if op is not last:
                func.block.add_op(op)
        func.block.add_op(end := ReturnOp(*last.operands))
        end.location = last.location
        last.erase()
        users = {use.operation: None for value in replacements for use in value.uses}
        replace_uses(replacements, [user for user in users if func.is_ancestor(user)])
        return func

    def _rewire(self, closure: SSAValue, func: FuncOp, fn: FnOp, captured: Sequence[SSAValue], around: FuncOp) -> None:
        """Replace a closure within a lifted function: calls of it are calls of `func`, other uses values."""
        uses = [use for use in closure.uses if around.is_ancestor(use.operation)]
        self._calls([use.operation for use in uses if is_call(use.operation, use.index)], func, captured)
        others = [use for use in closure.uses if around.is_ancestor(use.operation)]
        if others:
            first = around.block.first_op
            assert first is not None
            value = self._value(func, captured, fn.type_names(), fn.location)
            around.block.insert_op_before(value, first)
            replace_uses({closure: value.results[0]}, list(dict.fromkeys(use.operation for use in others)))

    def _replace(self, fn: FnOp, func: FuncOp, captured: Sequence[SSAValue], let: LetOp | None) -> Operation:
        """Have whoever read a closure call the function, or read what is left of the closure."""
        read: list[SSAValue] = [fn.result]
        if let is not None:
            last = let.block.last_op
            assert last is not None
            read += [out for value, out in zip(last.operands, let.results, strict=True) if value is fn.result]
        for value in read:
            self._calls([use.operation for use in value.uses if is_call(use.operation, use.index)], func, captured)
        left = self._value(func, captured, fn.type_names(), fn.location)
        left.results[0].name_hint = fn.result.name_hint
        block = fn.parent
        assert block is not None
        block.insert_op_before(left, fn)
        fn.result.replace_all_uses_with(left.results[0])
        _erase(fn, func)
        return left

    def _calls(self, invokes: Sequence[Operation], func: FuncOp, captured: Sequence[SSAValue]) -> None:
        for invoke in invokes:
            assert isinstance(invoke, InvokeOp)
            call = CallOp(func.sym_name.data, [*captured, *invoke.arguments], list(invoke.result_types))
            call.location = invoke.location
            block = invoke.parent
            assert block is not None
            block.insert_op_before(call, invoke)
            call.outputs[0].name_hint = invoke.result.name_hint
            replace_uses({invoke.result: call.outputs[0]})
            if (ledger := current_ledger()) is not None:
                moves = moves_of([invoke.result], [call.outputs[0]])
                ledger.record("Lift", removed=[invoke], created=[call], moves=moves)
            invoke.detach()
            invoke.erase()

    def _value(
        self, func: FuncOp, captured: Sequence[SSAValue], names: Sequence[str], location: LocationAttr
    ) -> Operation:
        """A lifted function, applied to what it captures, as a value; `names` are its own type parameters."""
        types = [argument.type for argument in func.block.args[len(captured) :]]
        (output,) = func.function_type.outputs
        if not captured and tuple(names) == func.type_names():
            symbol = GlobalOp(func.sym_name.data, type_of_function(func))
            symbol.location = location
            return symbol
        fn = FnOp(types, output, names, location=location)
        fn.block.add_op(call := CallOp(func.sym_name.data, [*captured, *fn.block.args], [output]))
        fn.block.add_op(YieldOp(call.outputs[0]))
        for argument, old in zip(fn.block.args, func.block.args[len(captured) :], strict=True):
            argument.name_hint, argument.location = old.name_hint, old.location
        fill(fn, location)
        return fn


def is_call(user: Operation, index: int) -> bool:
    """Return whether the operand `index` of an op is what it invokes."""
    return isinstance(user, InvokeOp) and index == 0


def _is_recursive(fn: FnOp) -> bool:
    let = fn.parent_op()
    return isinstance(let, LetOp) and let.kind is Flavour.REC


def _erase(fn: FnOp, func: FuncOp) -> None:
    if (ledger := current_ledger()) is not None:
        ledger.record("Lift", removed=[fn], created=[func], after=[fn.location])
    fn.detach()
    fn.erase()
