"""relay-defunctionalization: functions are no values any more."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, LocationAttr, ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp, ReturnOp
from ...dialects.relay.data_types import ConstructOp, ConstructorPattern, MatchOp, TypeDataOp, VarPattern
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.tuples import TupleOp
from ...dialects.relay.types import AdtType, Forall, adt_type
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import fail
from ...provenance.ledger import current_ledger
from ...provenance.span import fuse, is_known
from .analysis.purity import mark_calls
from .analysis.traversal import functions_of, pre_order
from .cloning import clone_block
from .lambda_lift import LambdaLiftPass
from .monomorphize import MonomorphizePass
from .remove_unused_functions import RemoveUnusedFunctionsPass


@dataclass(frozen=True)
class DefunctionalizationPass(ModulePass):
    """Makes a first-order program of one in which functions are values, as TVM's Defunctionalization (level 1).

    Before: a relay module with a function @main that has no type parameters; without it nothing happens. Raises
    VerifyException for primitive closures and where it is not told which types a polymorphic function is used with.
    After: only what @main reaches. No type is that of a function: for each there is a data type `@T<k>`, whose
    constructors stand for the functions that are values of it and hold what those captured, and a function `@apply<k>`,
    which calls the function that a value stands for. No type parameters, no closures, no recursive let-blocks.
    Locations: a value that stands for a function has that of the closure or `relay.global`; an invoke's call has its;
    the data type and `@apply<k>` have those of all their closures, each call in it that of its own.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
      %f = relay.fn (%p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
        %0 = relay.add %p, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %0 : tensor<4xf32> loc("f")
      } loc("f")
      %y = relay.call @twice(%f, %x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    relay.func @twice(%g: (tensor<4xf32>) -> tensor<4xf32> loc("g"), %x: tensor<4xf32> loc("v")) -> (tensor<4xf32>) {
      %0 = relay.invoke %g(%x) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("1")
      relay.return %0 : tensor<4xf32> loc("twice")
    } loc("twice")
    // becomes
    relay.type_data @T0 {T0_0(tensor<4xf32>)} loc("f")
    relay.func @main(%x: tensor<4xf32> loc("x"), %b: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
      %f = relay.construct @T0_0(%b) : (tensor<4xf32>) -> !relay.adt<@T0, []> loc("f")
      %y = relay.call @twice(%f, %x) : (!relay.adt<@T0, []>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      relay.return %y : tensor<4xf32> loc("main")
    } loc("main")
    relay.func @lifted_name0(%b: tensor<4xf32> loc("b"), %p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) {
      %0 = relay.add %p, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("f")
    } loc("f")
    relay.func @twice(%g: !relay.adt<@T0, []> loc("g"), %x: tensor<4xf32> loc("v")) -> (tensor<4xf32>) {
      %0 = relay.call @apply0(%g, %x) : (!relay.adt<@T0, []>, tensor<4xf32>) -> tensor<4xf32> loc("1")
      relay.return %0 : tensor<4xf32> loc("twice")
    } loc("twice")
    relay.func @apply0(%0: !relay.adt<@T0, []> loc("f"), %1: tensor<4xf32> loc("f")) -> (tensor<4xf32>) {
      %2 = relay.match %0 : !relay.adt<@T0, []> -> tensor<4xf32> {
      case @T0_0(%3: tensor<4xf32> loc("f")) {
        %4 = relay.call @lifted_name0(%3, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("f")
        relay.yield %4 : tensor<4xf32> loc("f")
      }
      } loc("f")
      relay.return %2 : tensor<4xf32> loc("f")
    } loc("f")
    ```
    """

    name = "relay-defunctionalization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if "main" not in functions_of(op):
            return
        MonomorphizePass().apply(ctx, op)
        RemoveUnusedFunctionsPass().apply(ctx, op)
        LambdaLiftPass().apply(ctx, op)
        converter = _Converter(op)
        for func in functions_of(op).values():
            if func.primitive is None:
                converter.function(func)
        converter.finish()
        RemoveUnusedFunctionsPass().apply(ctx, op)
        mark_calls(op)


@dataclass
class _Kind:
    """A type of functions: its data type and how its values are called."""

    index: int
    type: FunctionType
    """With data types in the place of function types."""
    constructors: dict[str, tuple[str, list[Attribute], LocationAttr]] = field(
        default_factory=lambda: dict[str, tuple[str, list[Attribute], LocationAttr]]()
    )
    """Constructor -> the function that it stands for, what it holds, and where the closure is from."""
    globals: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    """Function of the module -> the constructor for it."""

    @property
    def adt(self) -> AdtType:
        return adt_type(f"T{self.index}")

    @property
    def location(self) -> LocationAttr:
        return fuse(location for _, _, location in self.constructors.values())

    def add(self, function: str, held: list[Attribute], location: LocationAttr) -> str:
        name = f"T{self.index}_{len(self.constructors)}"
        self.constructors[name] = (function, held, location)
        return name


class _Converter:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions = functions_of(module)
        self.kinds: dict[FunctionType, _Kind] = {}
        self.types: dict[Attribute, Attribute] = {}
        names = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp | TypeDataOp)}
        self.first = 0
        while {f"T{self.first}", f"apply{self.first}"} & names:
            self.first += 1

    def typed(self, type_: Attribute) -> Attribute:
        """A type with data types in the place of those of functions."""
        if type_ not in self.types:
            self.types[type_] = type_ if isinstance(type_, TensorType) else self._typed(type_)
        return self.types[type_]

    def _typed(self, type_: Attribute) -> Attribute:
        match type_:
            case Forall():
                return type_  # of a function that nobody uses with types, which goes
            case FunctionType():
                inner = FunctionType.from_lists(
                    [self.typed(part) for part in type_.inputs], [self.typed(part) for part in type_.outputs]
                )
                if inner not in self.kinds:
                    self.kinds[inner] = _Kind(self.first + len(self.kinds), inner)
                return self.kinds[inner].adt
            case ArrayAttr():
                return ArrayAttr(self.typed(part) for part in type_)
            case ParametrizedAttribute():
                return type(type_).new([self.typed(part) for part in type_.parameters])
            case _:
                return type_

    def _kind(self, type_: Attribute) -> _Kind:
        wanted = self.typed(type_)
        return next(kind for kind in self.kinds.values() if kind.adt == wanted)

    def function(self, func: FuncOp) -> None:
        """Put a function with other types, and without functions as values, in the place of one."""
        copy = FuncOp(
            func.sym_name.data,
            [self.typed(type_) for type_ in func.function_type.inputs],
            [self.typed(type_) for type_ in func.function_type.outputs],
            type_params=func.type_names(),
            location=func.location,
        )
        copy.attributes.update(func.attributes)
        values_of: dict[SSAValue, SSAValue] = {}
        for old, new in zip(func.block.args, copy.block.args, strict=True):
            new.name_hint, new.location = old.name_hint, old.location
            values_of[old] = new
        # The types of the old op decide the new op.
        values = clone_block(func.block, values_of, copy.block.add_op, self.typed)
        copy.block.add_op(end := ReturnOp(*values))
        end.location = func.return_op.location
        old_ops = [op for op in pre_order(func) if isinstance(op, FnOp | GlobalOp | InvokeOp)]
        new_ops = [op for op in pre_order(copy) if isinstance(op, FnOp | GlobalOp | InvokeOp)]
        for old, new in zip(old_ops, new_ops, strict=True):
            self._convert(old, new)
        block = func.parent
        assert block is not None
        block.insert_op_before(copy, func)
        func.detach()
        func.erase()

    def _convert(self, old: FnOp | GlobalOp | InvokeOp, new: Operation) -> None:
        if isinstance(old, InvokeOp):
            kind = self._kind(old.function.type)
            replacement: Operation = CallOp(f"apply{kind.index}", list(new.operands), list(new.result_types))
        elif isinstance(old, GlobalOp):
            kind, name = self._kind(old.result.type), old.symbol.string_value()
            if name not in kind.globals:
                kind.globals[name] = kind.add(name, [], old.location)
            replacement = ConstructOp(kind.globals[name], [], kind.adt)
        else:
            assert isinstance(new, FnOp)
            kind, call = self._kind(old.result.type), new.block.first_op
            if not isinstance(call, CallOp):
                fail(old, "a closure that is no kernel, and that its own let-block binds", "another")
            held = [value for value in call.arguments if value.owner is not new.block]
            types = [value.type for value in held]
            replacement = ConstructOp(kind.add(call.callee.string_value(), types, old.location), held, kind.adt)
        replacement.location = new.location
        replacement.results[0].name_hint = new.results[0].name_hint
        block = new.parent
        assert block is not None
        block.insert_op_before(replacement, new)
        replace_uses(dict(zip(new.results, replacement.results, strict=True)))
        if (ledger := current_ledger()) is not None:
            gone = list(new.walk())
            places = [a.location for inner in gone for region in inner.regions for a in region.block.args]
            ledger.record(
                "Defunctionalize",
                removed=gone,
                created=[replacement],
                before=[*(inner.location for inner in gone), *places],
            )
        new.detach()
        new.erase()

    def finish(self) -> None:
        """Add the data types, and the functions that call what their values stand for."""
        for data in [op for op in self.module.ops if isinstance(op, TypeDataOp)]:
            inputs = ArrayAttr(ArrayAttr(self.typed(input_type) for input_type in types) for types in data.inputs)
            if inputs != data.inputs:
                data.inputs = inputs
        functions = functions_of(self.module)
        first = self.module.body.block.first_op
        assert first is not None
        around = functions["main"].location
        for kind in self.kinds.values():
            location = kind.location if is_known(kind.location) else around
            held = [(name, types) for name, (_, types, _) in kind.constructors.items()]
            data = TypeDataOp(kind.adt.definition.string_value(), [], held)
            data.location = location
            self.module.body.block.insert_op_before(data, first)
            self.module.body.block.add_op(self._apply(kind, functions, location))

    def _apply(self, kind: _Kind, functions: dict[str, FuncOp], location: LocationAttr) -> FuncOp:
        (output,) = kind.type.outputs
        func = FuncOp(f"apply{kind.index}", [kind.adt, *kind.type.inputs], [output], location=location)
        for argument in func.block.args:
            argument.location = location
        value, *arguments = func.block.args
        clauses: list[tuple[Attribute, Block]] = []
        for name, (function, types, where) in kind.constructors.items():
            block = Block(arg_types=types)
            for argument in block.args:
                argument.location = where
            builder = LocatedBuilder(block, where)
            outputs = list(functions[function].function_type.outputs)
            call = builder.add(CallOp(function, [*block.args, *arguments], outputs))
            result = call.outputs[0] if len(outputs) == 1 else builder.add(TupleOp(call.outputs)).result
            builder.add(YieldOp(result))
            clauses.append((ConstructorPattern(SymbolRefAttr(name), ArrayAttr(VarPattern() for _ in types)), block))
        builder = LocatedBuilder(func.block, location)
        match = builder.add(MatchOp(value, clauses, output))
        builder.add(ReturnOp(match.result))
        return func
