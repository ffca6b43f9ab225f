"""relay-infer-type: types become what type rules say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.operator import Operator
from ...provenance.rewrite import rewrite


@dataclass
class InferTypes(RewritePattern):
    """An op gets the result types that follow from its operands."""

    functions: Mapping[str, FuncOp]
    reason = "the types of its operands changed"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, Operator):
            types = tuple(op.infer(op.signature))
        elif isinstance(op, CallOp) and op.callee.string_value() in self.functions:
            types = tuple(self.functions[op.callee.string_value()].function_type.outputs)
        else:
            return
        if types != tuple(op.result_types):
            new = type(op).create(
                operands=op.operands, result_types=types, properties=op.properties, attributes=op.attributes
            )
            for old, result in zip(op.results, new.results, strict=True):
                result.name_hint = old.name_hint
            rewriter.replace(op, new)


@dataclass(frozen=True)
class InferTypePass(ModulePass):
    """Gives the results of operators and calls, and functions, the types that follow from those of their operands.

    Operators are always typed: this is for who changed the type of a parameter, or of a constant.
    Before: any relay module in which operators can be typed. After: it verifies, as far as types go.
    Locations: untouched; the ledger says which operators changed.

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
        functions = {func.sym_name.data: func for func in op.ops if isinstance(func, FuncOp)}
        for name in callees_first(functions):
            func = functions[name]
            rewrite(func.body, [InferTypes(functions)], recursive=False)
            func.update_type()


def callees_first(functions: Mapping[str, FuncOp]) -> list[str]:
    """The names of functions, each behind those that it calls; those that call each other in some order."""
    done: dict[str, None] = {}
    seen: set[str] = set()
    stack = [(name, False) for name in reversed(list(functions))]
    while stack:
        name, complete = stack.pop()
        if complete:
            done[name] = None
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            called = [op.callee.string_value() for op in functions[name].block.ops if isinstance(op, CallOp)]
            stack += [(one, False) for one in reversed(called) if one in functions]
    return list(done)
