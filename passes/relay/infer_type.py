"""relay-infer-type: types follow from the types that they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.binding import Flavour, IfOp, LetOp
from ...dialects.relay.core import CallOp, FuncOp, ReturnOp
from ...dialects.relay.data_types import ConstructorPattern, MatchOp, TuplePattern, VarPattern, type_data
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, yielded
from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.operator import Operator
from ...dialects.relay.references import RefCreateOp, RefReadOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import AdtType, RefType, fields_of, fits, function_type, joined, tuple_type
from ...provenance.copies import copy_of
from ...provenance.diagnostics import fail
from .analysis.traversal import functions_of, inside

_ROUNDS = 3
"""The number of times that the results of a function may change their types: recursion must come to an end."""


@dataclass(frozen=True)
class InferTypePass(ModulePass):
    """Makes the types of results follow from those of operands, through blocks, regions and calls (TVM: InferType).

    Before: a relay module in which types of function parameters, constants and constructed values are right; others
    may be out of date. After: all types agree. Raises VerifyException, which names op, layer and the two types, where
    they cannot: operands that an operator does not take, branches or arguments of different types.
    Locations: untouched.

    ```mlir
    relay.func @main(%x: tensor<8xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.nn.relu %x : (tensor<8xf32>) -> tensor<4xf32> loc("act")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<8xf32> loc("x")) -> (tensor<8xf32>) {
      %0 = relay.nn.relu %x : (tensor<8xf32>) -> tensor<8xf32> loc("act")
      relay.return %0 : tensor<8xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-infer-type"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        infer_types(op)


def infer_types(module: ModuleOp, changed: Iterable[SSAValue] | None = None) -> int:
    """Make types follow from those of operands; returns how many ops had theirs inferred.

    changed: values whose types changed; ops that depend on none of them are not looked at. By default all are.
    """
    inference = _Inference(module)
    if changed is None:
        inference.waiting = dict.fromkeys(inference.functions.values())
        inference.whole = set(inference.waiting)
    else:
        for value in changed:
            inference.touch(value)
    inference.run()
    return inference.inferred


class _Inference:
    def __init__(self, module: ModuleOp):
        self.functions = functions_of(module)
        self.waiting: dict[FuncOp, None] = {}
        """The functions in which something is to be inferred."""
        self.dirty: set[Operation] = set()
        """The ops to be inferred, and those around them."""
        self.whole: set[FuncOp] = set()
        """The functions in which everything is to be inferred."""
        self.inferred = 0
        self.rounds: dict[FuncOp, int] = {}

    def run(self) -> None:
        while self.waiting:
            func = next(iter(self.waiting))
            del self.waiting[func]
            self._body(func, func in self.whole)
            self.whole.discard(func)

    def touch(self, value: SSAValue) -> None:
        """Mark the readers of a value, whose types are to be inferred."""
        for use in value.uses:
            self._mark(use.operation)
        if isinstance(value.owner, Block) and (around := value.owner.parent_op()) is not None:
            self._mark(around)

    def _mark(self, op: Operation) -> None:
        outer: Operation | None = op
        while outer is not None and outer not in self.dirty:
            self.dirty.add(outer)
            if isinstance(outer, FuncOp):
                self.waiting[outer] = None
            outer = outer.parent_op()

    def _body(self, func: FuncOp, everything: bool) -> None:
        """Ops in order, an op with regions after what is in them."""
        self.dirty.add(func)
        stack: list[tuple[Operation, Iterator[Operation]]] = [(func, iter(list(inside(func))))]
        while stack:
            around, rest = stack[-1]
            op = next(rest, None)
            if op is None:
                stack.pop()
                self.dirty.discard(around)
                self._infer(around)
            elif everything or op in self.dirty:
                if op.regions:
                    self._enter(op)
                    stack.append((op, iter(list(inside(op)))))
                else:
                    self.dirty.discard(op)
                    self._infer(op)

    def _enter(self, op: Operation) -> None:
        """The types of a clause's arguments, which what is in it reads."""
        if isinstance(op, MatchOp):
            for pattern, region in zip(op.patterns, op.clauses, strict=True):
                types = list(_bound_types(pattern, op.data.type, op))
                self._retype_arguments(region.block, types, op)

    def _infer(self, op: Operation) -> None:
        self.inferred += 1
        if isinstance(op, FuncOp):
            self._function(op)
        elif isinstance(op, ReturnOp):
            pass
        elif (types := self._types(op)) is not None and tuple(types) != tuple(op.result_types):
            self._retype(op, types)

    def _types(self, op: Operation) -> Sequence[Attribute] | None:
        """The types of the results; None where they do not follow from the operands'."""
        match op:
            case Operator():
                return op.inferred(op.signature)
            case TupleOp():
                return [tuple_type(list(op.operand_types))]
            case TupleGetItemOp():
                fields, index = fields_of(op.tuple_value.type), op.index.value.data
                if fields is None or index >= len(fields):
                    fail(op, f"a tuple of at least {index + 1} fields", str(op.tuple_value.type))
                return [fields[index]]
            case LetOp():
                types = [value.type for value in yielded(op, op.body)]
                if op.kind is Flavour.REC and self._retype_arguments(op.block, types, op):
                    fail(op, f"functions of types {_list(op.result_types)}, as they call themselves", _list(types))
                return types
            case IfOp():
                (then,), (other,) = yielded(op, op.true_branch), yielded(op, op.false_branch)
                if not fits(then.type, other.type):
                    fail(op, f"a false branch of {then.type}, as the true one", str(other.type))
                return [joined(then.type, other.type)]
            case MatchOp():
                clause_types = [yielded(op, region)[0].type for region in op.clauses]
                if not all(fits(clause_types[0], type_) for type_ in clause_types):
                    fail(op, f"clauses of {clause_types[0]}, as the first one", _list(clause_types))
                return [reduce(joined, clause_types)] if clause_types else None
            case FnOp():
                (value,) = yielded(op, op.body)
                return [function_type(op.type_names(), [a.type for a in op.block.args], value.type)]
            case _:
                return self._types_of_call(op)

    def _types_of_call(self, op: Operation) -> Sequence[Attribute] | None:
        match op:
            case InvokeOp(function=function) if isinstance(function.type, FunctionType):
                self._check_arguments(op, list(function.type.inputs), [a.type for a in op.arguments])
                return list(function.type.outputs)
            case CallOp():
                callee = self.functions.get(op.callee.string_value())
                if callee is None or callee.type_params is not None:
                    return None
                self._check_arguments(op, list(callee.function_type.inputs), list(op.operand_types))
                return list(callee.function_type.outputs)
            case GlobalOp():
                callee = self.functions.get(op.symbol.string_value())
                return None if callee is None else [type_of_function(callee)]
            case RefCreateOp():
                return [RefType.new([op.value.type])]
            case RefReadOp():
                return [op.ref.type.value] if isinstance(op.ref.type, RefType) else None
            case _:
                return None

    def _check_arguments(self, op: Operation, wanted: list[Attribute], actual: list[Attribute]) -> None:
        if len(wanted) != len(actual) or not all(map(fits, wanted, actual)):
            fail(op, f"arguments {_list(wanted)}", _list(actual))

    def _function(self, func: FuncOp) -> None:
        before = func.function_type
        func.update_type()
        if func.function_type == before:
            return
        self.rounds[func] = self.rounds.get(func, 0) + 1
        if self.rounds[func] > _ROUNDS:
            fail(func, f"results {_list(before.outputs.data)}, as its own calls have them", str(func.function_type))
        for call in self._calls_of(func.sym_name.data):
            self._mark(call)

    def _calls_of(self, name: str) -> list[Operation]:
        # Ops that were rebuilt are others, so they are looked up when they are asked for.
        calls: list[Operation] = []
        for func in self.functions.values():
            for op in func.walk():
                symbol = op.callee if isinstance(op, CallOp) else op.symbol if isinstance(op, GlobalOp) else None
                if symbol is not None and symbol.string_value() == name:
                    calls.append(op)
        return calls

    def _retype(self, op: Operation, types: Sequence[Attribute]) -> None:
        """Put an op with other result types in the place of one."""
        regions = [op.detach_region(region) for region in list(op.regions)]
        retyped = copy_of(op, list(op.operands), types, regions)
        block = op.parent
        assert block is not None
        block.insert_op_before(retyped, op)
        self._replace(dict(zip(op.results, retyped.results, strict=True)))
        op.detach()
        op.erase()

    def _retype_arguments(self, block: Block, types: Sequence[Attribute], op: Operation) -> bool:
        """Give the arguments of a block other types; returns whether any changed."""
        if len(types) != len(block.args):
            fail(op, f"{len(block.args)} arguments of a block", str(len(types)))
        changed: dict[SSAValue, SSAValue] = {}
        for index, (argument, type_) in enumerate(zip(list(block.args), types, strict=True)):
            if argument.type != type_:
                changed[argument] = block.insert_arg(type_, index, argument.location)
                self._replace({argument: changed[argument]})
                block.erase_arg(argument)
        return bool(changed)

    def _replace(self, replacements: dict[SSAValue, SSAValue]) -> None:
        users = [use.operation for old in replacements for use in old.uses]
        for old, new in replacements.items():
            new.name_hint = old.name_hint
        replace_uses(replacements)
        for user in users:
            self._mark(user)


def type_of_function(func: FuncOp) -> Attribute:
    """The type of a function of the module as a value; several results, or none, are a tuple."""
    outputs = list(func.function_type.outputs)
    return function_type(
        func.type_names(), list(func.function_type.inputs), outputs[0] if len(outputs) == 1 else tuple_type(outputs)
    )


def _bound_types(pattern: Attribute, type_: Attribute, op: MatchOp) -> Iterable[Attribute]:
    """The types of what a pattern binds of a value."""
    if isinstance(pattern, VarPattern):
        yield type_
        return
    if isinstance(pattern, ConstructorPattern):
        if not isinstance(type_, AdtType):
            fail(op, "a value of a data type", str(type_))
        data = type_data(op, type_.definition.string_value())
        parts: Sequence[Attribute] = data.inputs_of(pattern.constructor.string_value(), type_)
    elif isinstance(pattern, TuplePattern):
        parts = fields_of(type_) or ()
        if len(parts) != len(pattern.patterns):
            fail(op, f"a tuple of {len(pattern.patterns)} fields", str(type_))
    else:
        return
    for inner, part in zip(pattern.patterns, parts, strict=True):
        yield from _bound_types(inner, part, op)


def _list(types: Iterable[Attribute]) -> str:
    return ", ".join(map(str, types)) or "none"
