"""Programs run in numpy, op by op: at import, in passes that fold, and to compare compiled programs with.

Nothing is translated or compiled: an operator is what `evaluate` says, every other op is done as it is met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...provenance.diagnostics import fail, message
from ...runtime.interpreting.edge import Edge, ValueType
from ...runtime.interpreting.flow import Adt, Reference
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .binding import Flavour, IfOp, LetOp
from .call_tir import CallTirOp
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .data_types import ConstructOp, ConstructorPattern, MatchOp, TuplePattern, VarPattern
from .evaluation import evaluate
from .functions import FnOp, GlobalOp, InvokeOp, YieldOp
from .operator import Operator
from .references import RefCreateOp, RefReadOp, RefWriteOp
from .tuples import TupleGetItemOp, TupleOp
from .types import UNIT, tuple_type
from .values import ValueTypes

RunKernel: TypeAlias = Callable[[CallTirOp, Sequence[Array]], Sequence[Array]]


class Scope:
    """Values of this run by their IR values, on top of those of the enclosing scope."""

    def __init__(self, around: Scope | None = None):
        self.values: dict[SSAValue, Any] = {}
        self.around = around

    def __getitem__(self, value: SSAValue) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if value in scope.values:
                return scope.values[value]
            scope = scope.around
        raise FrontendError(f"expected a value that is made before it is read, got {value}")


@dataclass(frozen=True, eq=False)
class Lambda:
    """A function as a value: its op, and the scope in which it was made."""

    function: FnOp | FuncOp
    scope: Scope | None


class Activation:
    """A block, or ops in a row, being run."""

    def __init__(self, ops: Iterable[Operation], scope: Scope, results: Sequence[SSAValue], *, packed: bool = False):
        self.ops: Iterator[Operation] = iter(ops)
        self.scope = scope
        self.results = results
        """The values of the waiting activation that this one computes."""
        self.packed = packed
        """True if its values form one result, a tuple."""


class Evaluator:
    """Runs the functions of a module.

    max_depth: how many blocks may wait for another. run_kernel: runs a call of a kernel of tir, which numpy does not.
    """

    def __init__(self, module: ModuleOp, max_depth: int = 200_000, run_kernel: RunKernel | None = None):
        self.module = module
        self.max_depth = max_depth
        self.run_kernel = run_kernel
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._types = ValueTypes(module)
        self.edge = Edge(self._types.constructors, self.call)

    def invoke(self, name: str, *arguments: Any) -> Any:
        """Call a function of the module with values in order; raises FrontendError when it takes other values."""
        if name not in self.functions:
            raise FrontendError(f"expected a function among {', '.join(self.functions)}, got {name!r}")
        func = self.functions[name]
        outputs = func.function_type.outputs.data
        output = outputs[0] if len(outputs) == 1 else tuple_type(outputs)
        inputs = list(map(self._types.of, func.function_type.inputs))
        return self._entered(Lambda(func, None), inputs, self._types.of(output), arguments)

    def values(self, ops: Iterable[Operation], values: Mapping[SSAValue, Any]) -> dict[SSAValue, Any]:
        """Return the values of ops in order, for those that they read from elsewhere."""
        scope = Scope()
        scope.values |= values
        self._run(Activation(ops, scope, ()), scope)
        return scope.values

    def call(self, type_: ValueType, function: Any, arguments: Sequence[Any]) -> Any:
        """Call a function value of a type."""
        *inputs, output = type_.parts
        return self._entered(function, inputs, output, arguments)

    def _entered(
        self, function: Lambda, types: Sequence[ValueType], output: ValueType, arguments: Sequence[Any]
    ) -> Any:
        if len(arguments) != len(types):
            raise FrontendError(f"expected {len(types)} arguments, got {len(arguments)}")
        values = [self.edge.enter(t, v, f"argument {k}") for k, (t, v) in enumerate(zip(types, arguments, strict=True))]
        home = Block(arg_types=[UNIT])
        scope = Scope()
        self._run(_activation(function, values, home.args), scope)
        return self.edge.leave(output, scope[home.args[0]])

    def _run(self, first: Activation, scope: Scope) -> None:
        """Run blocks until the first one has stored its results in `scope`."""
        stack = [first]
        while stack:
            current = stack[-1]
            op = next(current.ops, None)
            if op is None or isinstance(op, ReturnOp | YieldOp):
                results: list[Any] = [] if op is None else [current.scope[value] for value in op.operands]
                stack.pop()
                home = stack[-1].scope if stack else scope
                home.values |= dict(zip(current.results, [tuple(results)] if current.packed else results, strict=True))
                continue
            if (inner := self._step(op, current.scope)) is None:
                continue
            # Nothing is left to do for a block whose last values are those of the one that it waits for.
            follow = op.next_op
            if isinstance(follow, ReturnOp | YieldOp) and tuple(follow.operands) == tuple(op.results):
                inner.results, inner.packed = current.results, inner.packed or current.packed
                stack.pop()
            stack.append(inner)
            if len(stack) > self.max_depth:
                raise FrontendError(message(op.name, f"at most {self.max_depth} calls in a call", "more", op.location))

    def _step(self, op: Operation, scope: Scope) -> Activation | None:
        """Run an op, or return the activation of the block that computes its results."""
        operands: list[Any] = [scope[value] for value in op.operands]
        match op:
            case CallTirOp() if self.run_kernel is not None:
                scope.values |= dict(zip(op.results, self.run_kernel(op, operands), strict=True))
                return None
            case Operator():
                scope.values |= dict(zip(op.results, evaluate(op, operands), strict=True))
                return None
            case IfOp():
                branch = op.true_branch if operands[0] else op.false_branch
                return Activation(branch.block.ops, Scope(scope), op.results)
            case LetOp():
                return self._let(op, scope)
            case MatchOp():
                return self._match(op, operands[0], scope)
            case CallOp():
                return _activation(Lambda(self._function(op, op.callee), None), operands, op.results)
            case InvokeOp():
                return _activation(operands[0], operands[1:], op.results)
            case _:
                scope.values[op.results[0]] = self._value(op, operands, scope)
                return None

    def _value(self, op: Operation, operands: Sequence[Any], scope: Scope) -> Any:
        """Return the one result of an op that runs no block."""
        match op:
            case ConstantOp():
                return op.value(self.module)
            case TupleOp():
                return tuple(operands)
            case TupleGetItemOp():
                return operands[0][op.index.value.data]
            case FnOp():
                return Lambda(op, scope)
            case GlobalOp():
                return Lambda(self._function(op, op.symbol), None)
            case RefCreateOp():
                return Reference(operands[0])
            case RefReadOp():
                return operands[0].value
            case RefWriteOp():
                operands[0].value = operands[1]
                return ()
            case ConstructOp():
                name, definition = op.constructor.string_value(), op.result.type.definition.string_value()
                return Adt(self._types.tag(definition, name), name, operands)
            case _:
                fail(op, "an op of relay", op.name)

    def _function(self, op: Operation, symbol: SymbolRefAttr) -> FuncOp:
        name = symbol.string_value()
        if name not in self.functions:
            fail(op, f"a relay.func named @{name}", "none in the module")
        return self.functions[name]

    def _let(self, op: LetOp, scope: Scope) -> Activation:
        inner = Scope(scope)
        if op.kind is Flavour.REC:
            yields = op.block.last_op
            assert isinstance(yields, YieldOp)
            for argument, value in zip(op.block.args, yields.values, strict=True):
                assert isinstance(value.owner, FnOp)
                inner.values[argument] = Lambda(value.owner, inner)
        return Activation(op.block.ops, inner, op.results)

    def _match(self, op: MatchOp, value: Any, scope: Scope) -> Activation:
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            if (bound := _bound(pattern, value)) is not None:
                inner = Scope(scope)
                inner.values |= dict(zip(region.block.args, bound, strict=True))
                return Activation(region.block.ops, inner, op.results)
        raise FrontendError(message(op.name, "a value that a clause fits", repr(value), op.location))


def _activation(function: Lambda, arguments: Sequence[Any], results: Sequence[SSAValue]) -> Activation:
    op = function.function
    scope = Scope(function.scope)
    scope.values |= dict(zip(op.block.args, arguments, strict=True))
    packed = isinstance(op, FuncOp) and len(op.function_type.outputs) != 1 and len(results) == 1
    return Activation(op.block.ops, scope, results, packed=packed)


def _bound(pattern: Attribute, value: Any) -> list[Any] | None:
    """Return the values of a pattern's variables, in order; None when the value does not match."""
    values: list[Any] = []
    stack = [(pattern, value)]
    while stack:
        part, inner = stack.pop()
        match part:
            case VarPattern():
                values.append(inner)
            case ConstructorPattern():
                if inner.name != part.constructor.string_value():
                    return None
                stack += reversed(list(zip(part.patterns, inner.fields, strict=True)))
            case TuplePattern():
                stack += reversed(list(zip(part.patterns, inner, strict=True)))
            case _:
                continue
    return values


def evaluate_module(module: ModuleOp, inputs: Sequence[Any], run_kernel: RunKernel | None = None) -> list[Any]:
    """Return the results of `@main` for inputs in order; raises FrontendError for other inputs than it takes."""
    results = Evaluator(module, run_kernel=run_kernel).invoke("main", *inputs)
    return list(cast("tuple[Any, ...]", results)) if isinstance(results, tuple) else [results]
