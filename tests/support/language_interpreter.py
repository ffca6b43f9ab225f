"""The language run in numpy by its definition, for tests that hold programs before and after passes together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from whence.dialects.relay.binding import IfOp, LetOp
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp
from whence.dialects.relay.data_types import ConstructOp, ConstructorPattern, MatchOp, TuplePattern, VarPattern
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from whence.dialects.relay.tuples import TupleGetItemOp, TupleOp

Scope = dict[SSAValue, Any]


@dataclass
class Cell:
    value: Any


@dataclass
class Made:
    """A value of a data type."""

    constructor: str
    fields: tuple[Any, ...]


class Interpreter:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def main(self, *inputs: Any) -> list[Any]:
        return self.call(self.functions["main"], inputs)

    def call(self, func: FuncOp, inputs: Sequence[Any]) -> list[Any]:
        return self.block(func.block, dict(zip(func.block.args, inputs, strict=True)))

    def block(self, block: Block, scope: Scope) -> list[Any]:
        for op in block.ops:
            if op.next_op is None:
                return [scope[value] for value in op.operands]
            scope.update(zip(op.results, self.op(op, scope), strict=True))
        raise AssertionError("a block without an end")

    def op(self, op: Operation, scope: Scope) -> Sequence[Any]:
        values = [scope[value] for value in op.operands]
        match op:
            case Operator():
                return evaluate(op, values)
            case ConstantOp():
                return [op.value(self.module)]
            case CallOp():
                return self.call(self.functions[op.callee.string_value()], values)
            case TupleOp():
                return [tuple(values)]
            case TupleGetItemOp():
                return [values[0][op.index.value.data]]
            case LetOp():
                return self.let(op, scope)
            case IfOp():
                region = op.true_branch if values[0] else op.false_branch
                return self.block(region.block, dict(scope))
            case MatchOp():
                return self.match(op, values[0], scope)
            case FnOp():
                return [self.closure(op, scope)]
            case GlobalOp():
                return [self.global_(op)]
            case InvokeOp():
                return [values[0](*values[1:])]
            case ConstructOp():
                return [Made(op.constructor.string_value(), tuple(values))]
            case RefCreateOp():
                return [Cell(values[0])]
            case RefReadOp():
                return [values[0].value]
            case RefWriteOp():
                values[0].value = values[1]
                return [()]
            case _:
                raise AssertionError(op.name)

    def let(self, op: LetOp, scope: Scope) -> list[Any]:
        inner = dict(scope)
        given: list[Any] = []
        for index, argument in enumerate(op.block.args):
            inner[argument] = self.later(given, index)
        given += self.block(op.block, inner)
        return given

    def later(self, given: list[Any], index: int) -> Callable[..., Any]:
        return lambda *inputs: given[index](*inputs)

    def closure(self, op: FnOp, scope: Scope) -> Callable[..., Any]:
        return lambda *inputs: self.block(op.block, scope | dict(zip(op.block.args, inputs, strict=True)))[0]

    def global_(self, op: GlobalOp) -> Callable[..., Any]:
        func = self.functions[op.symbol.string_value()]

        def run(*inputs: Any) -> Any:
            results = self.call(func, inputs)
            return results[0] if len(results) == 1 else tuple(results)

        return run

    def match(self, op: MatchOp, value: Any, scope: Scope) -> list[Any]:
        for pattern, region in zip(op.patterns, op.clauses, strict=True):
            bound: list[Any] = []
            if fits(pattern, value, bound):
                return self.block(region.block, scope | dict(zip(region.block.args, bound, strict=True)))
        raise AssertionError("no clause fits")


def fits(pattern: Attribute, value: Any, bound: list[Any]) -> bool:
    match pattern:
        case VarPattern():
            bound.append(value)
            return True
        case ConstructorPattern():
            return pattern.constructor.string_value() == value.constructor and all(
                fits(inner, field, bound) for inner, field in zip(pattern.patterns, value.fields, strict=True)
            )
        case TuplePattern():
            return all(fits(inner, field, bound) for inner, field in zip(pattern.patterns, value, strict=True))
        case _:
            return True
