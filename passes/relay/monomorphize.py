"""relay-monomorphize: copies of polymorphic functions for the types that they are called with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp, ReturnOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from ...dialects.relay.types import Forall, signature_of, substituted
from ...provenance.diagnostics import fail
from .analysis.traversal import functions_of, pre_order
from .analysis.variables import type_variables
from .cloning import clone_block, unified, with_types
from .to_graph_normal_form import dissolve_all


def monomorphize(module: ModuleOp, entry: str = "main") -> None:
    """Have what `entry` reaches call functions without type parameters, and copies of those that have some.

    Polymorphic closures are copied for each type that they are used with. The originals stay. Let-blocks, but those of
    functions that call themselves, must be gone. Raises VerifyException where the types of a use are not told by it.
    """
    _Specializer(module).run(entry)


class _Specializer:
    def __init__(self, module: ModuleOp):
        self.functions = functions_of(module)
        self.made: dict[tuple[str, tuple[Attribute, ...]], FuncOp] = {}
        self.seen: set[FuncOp] = set()
        self.todo: list[FuncOp] = []

    def run(self, entry: str) -> None:
        if entry in self.functions:
            self._reach(self.functions[entry])
        while self.todo:
            func = self.todo.pop()
            ops = list(pre_order(func))
            while ops:
                ops += self._op(ops.pop())

    def _reach(self, func: FuncOp) -> None:
        if func not in self.seen:
            self.seen.add(func)
            self.todo.append(func)

    def _op(self, op: Operation) -> Sequence[Operation]:
        """Specialise what an op calls or names; the ops that came of it."""
        if op.parent is None or _is_open(op):
            return ()
        if isinstance(op, CallOp):
            return self._call(op)
        if isinstance(op, InvokeOp) and isinstance(op.function.type, Forall):
            wanted = FunctionType.from_lists([value.type for value in op.arguments], [op.result.type])
            return self._use(op, 0, wanted)
        if isinstance(op, GlobalOp) and isinstance(op.result.type, FunctionType):
            func = self.functions.get(op.symbol.string_value())
            if func is not None:
                outputs = func.function_type.outputs.data
                if func.type_params is not None and len(outputs) == 1:
                    func = self._copy(func, [*func.function_type.inputs, *outputs], _all(op.result.type), op)
                    op.symbol = SymbolRefAttr(func.sym_name.data)
                self._reach(func)
        return ()

    def _call(self, op: CallOp) -> Sequence[Operation]:
        callee = self.functions.get(op.callee.string_value())
        if callee is None:
            return ()
        types = callee.function_type
        if callee.type_params is not None:
            special = [*op.operand_types, *op.result_types]
            callee = self._copy(callee, [*types.inputs, *types.outputs], special, op)
            op.callee = SymbolRefAttr(callee.sym_name.data)
        self._reach(callee)
        ops: list[Operation] = []
        for index, wanted in enumerate(callee.function_type.inputs):
            if isinstance(op.operands[index].type, Forall) and isinstance(wanted, FunctionType):
                ops += self._use(op, index, wanted)
        return ops

    def _copy(
        self, func: FuncOp, general: Sequence[Attribute], special: Sequence[Attribute], user: Operation
    ) -> FuncOp:
        """The function without type parameters that does what `func` does on these types."""
        types = unified(general, [s.body if isinstance(s, Forall) else s for s in special])
        names = func.type_names()
        chosen = tuple(types[name] for name in names if name in types)
        if len(chosen) != len(names) or any(type_variables(type_) for type_ in chosen):
            fail(user, f"types for {', '.join(names)} of @{func.sym_name.data}", ", ".join(map(str, chosen)) or "none")
        key = (func.sym_name.data, chosen)
        if key in self.made:
            return self.made[key]
        bindings = dict(zip(names, chosen, strict=True))
        count = sum(name == func.sym_name.data for name, _ in self.made)
        while (name := f"{func.sym_name.data}_{count}") in self.functions:
            count += 1
        inputs, outputs = func.function_type.inputs, func.function_type.outputs
        copy = FuncOp(
            name,
            [substituted(type_, bindings) for type_ in inputs],
            [substituted(type_, bindings) for type_ in outputs],
            location=func.location,
        )
        copy.attributes.update(func.attributes)
        values_of: dict[SSAValue, SSAValue] = {}
        for old, new in zip(func.block.args, copy.block.args, strict=True):
            new.name_hint, new.location = old.name_hint, old.location
            values_of[old] = new
        values = clone_block(func.block, values_of, copy.block.add_op, with_types(bindings))
        copy.block.add_op(end := ReturnOp(*values))
        end.location = func.return_op.location
        block = func.parent
        assert block is not None
        block.insert_op_after(copy, func)
        self.made[key] = self.functions[name] = copy
        return copy

    def _use(self, user: Operation, index: int, wanted: FunctionType) -> Sequence[Operation]:
        """Have an operand be the copy of a polymorphic function that has the wanted type."""
        value = user.operands[index]
        owner, signature = value.owner, signature_of(value.type)
        assert signature is not None
        if not isinstance(owner, FnOp | GlobalOp):
            fail(user, "a function at hand, to choose its types", str(value.type))
        block = owner.parent
        assert block is not None
        if isinstance(owner, GlobalOp):
            specialized: Operation = GlobalOp(owner.symbol.string_value(), wanted)
        else:
            types = unified(_all(signature), _all(wanted))
            specialized = FnOp(list(wanted.inputs), wanted.outputs.data[0])
            specialized.attributes.update(owner.attributes)
            values_of: dict[SSAValue, SSAValue] = {}
            for old, new in zip(owner.block.args, specialized.block.args, strict=True):
                new.name_hint, new.location = old.name_hint, old.location
                values_of[old] = new
            values = clone_block(owner.block, values_of, specialized.block.add_op, with_types(types))
            last = owner.block.last_op
            assert last is not None
            end = type(last).create(operands=values, location=last.location)
            specialized.block.add_op(end)
        specialized.location = owner.location
        specialized.results[0].name_hint = value.name_hint
        block.insert_op_before(specialized, owner)
        user.operands[index] = specialized.results[0]
        if value.first_use is None:
            owner.detach()
            owner.erase()
        return list(pre_order(specialized))


def _all(type_: FunctionType) -> list[Attribute]:
    return [*type_.inputs, *type_.outputs]


def _is_open(op: Operation) -> bool:
    """Return whether an op stands in a polymorphic closure, which is looked at when it is copied."""
    outer = op.parent_op()
    while outer is not None:
        if isinstance(outer, FnOp) and outer.type_params is not None:
            return True
        outer = outer.parent_op()
    return False


@dataclass(frozen=True)
class MonomorphizePass(ModulePass):
    """Has each use of a polymorphic function call a copy of it for the types at hand.

    Before: a module with `@main`.
    After: what `@main` reaches has no type parameters; values are bound as `relay-to-graph-normal-form` leaves them.
    The polymorphic functions stay, for `relay-remove-unused-functions`. Raises VerifyException, which names the layer,
    where the types of a use are not told by it.
    Locations: copies have those of what they copy.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @id(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("call")
      relay.return %0 : tensor<4xf32> loc("end")
    } loc("main")
    relay.func @id["A"](%y: !relay.type_var<"A"> loc("y")) -> (!relay.type_var<"A">) {
      relay.return %y : !relay.type_var<"A"> loc("out")
    } loc("id")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @id_0(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("call")
      relay.return %0 : tensor<4xf32> loc("end")
    } loc("main")
    relay.func @id["A"](%y: !relay.type_var<"A"> loc("y")) -> (!relay.type_var<"A">) {
      relay.return %y : !relay.type_var<"A"> loc("out")
    } loc("id")
    relay.func @id_0(%y: tensor<4xf32> loc("y")) -> (tensor<4xf32>) {
      relay.return %y : tensor<4xf32> loc("out")
    } loc("id")
    ```
    """

    name = "relay-monomorphize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dissolve_all(op)
        monomorphize(op)
