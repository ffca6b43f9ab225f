"""relay-eta-expand: functions of the module that are values become closures that call them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ...dialects.relay.tuples import TupleOp
from ...dialects.relay.types import tuple_type
from ...provenance.builder import LocatedBuilder
from ...provenance.ledger import current_ledger
from .analysis.purity import mark_calls
from .analysis.traversal import functions_of, pre_order


@dataclass(frozen=True)
class EtaExpandPass(ModulePass):
    """Makes closures of functions of the module that are values, as TVM's EtaExpand (level 1).

    expand_constructor: TVM's; a constructor is never a value here, so there is nothing to expand.
    expand_global_var: expand functions of the module.

    Before: any relay module.
    After: with `expand_global_var`, a `relay.global` is read by invokes that call it alone; what else read one reads a
    closure that calls the function. Several results of one come as a tuple.
    Locations: the closure and what is in it are located at the `relay.global`.

    ```mlir
    relay.func @f(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      relay.return %x : tensor<4xf32> loc("f")
    } loc("f")
    relay.func @main() -> ((tensor<4xf32>) -> tensor<4xf32>) {
      // with expand_global_var=true
      %f = relay.global @f : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %f : (tensor<4xf32>) -> tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @f(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      relay.return %x : tensor<4xf32> loc("f")
    } loc("f")
    relay.func @main() -> ((tensor<4xf32>) -> tensor<4xf32>) {
      %f = relay.fn (%x: tensor<4xf32> loc("a")) -> tensor<4xf32> {
        %0 = relay.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
        relay.yield %0 : tensor<4xf32> loc("a")
      } loc("a")
      relay.return %f : (tensor<4xf32>) -> tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-eta-expand"
    expand_constructor: bool = True
    expand_global_var: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.expand_global_var:
            return
        functions = functions_of(op)
        for symbol in [inner for inner in pre_order(op) if isinstance(inner, GlobalOp)]:
            func = functions.get(symbol.symbol.string_value())
            if func is not None and any(not _calls(use.operation, use.index) for use in symbol.result.uses):
                _expand(symbol, func)
        mark_calls(op)


def _calls(user: object, index: int) -> bool:
    return isinstance(user, InvokeOp) and index == 0


def _expand(symbol: GlobalOp, func: FuncOp) -> None:
    fn = closure_around(func, symbol)
    block = symbol.parent
    assert block is not None
    block.insert_op_before(fn, symbol)
    fn.result.name_hint = symbol.result.name_hint
    for use in list(symbol.result.uses):
        if not _calls(use.operation, use.index):
            use.operation.operands[use.index] = fn.result
    if (ledger := current_ledger()) is not None:
        gone = [symbol] if symbol.result.first_use is None else []
        ledger.record("EtaExpand", removed=gone, created=[fn], before=[symbol.location], after=[symbol.location])
    if symbol.result.first_use is None:
        symbol.detach()
        symbol.erase()


def closure_around(func: FuncOp, symbol: GlobalOp) -> FnOp:
    """A closure that calls a function, located at the op that had that for its value."""
    outputs = list(func.function_type.outputs)
    output = outputs[0] if len(outputs) == 1 else tuple_type(outputs)
    fn = FnOp(list(func.function_type.inputs), output, func.type_names(), location=symbol.location)
    builder = LocatedBuilder(fn.block, symbol.location)
    for mine, argument in zip(fn.block.args, func.block.args, strict=True):
        mine.name_hint, mine.location = argument.name_hint, symbol.location
    call = builder.add(CallOp(func.sym_name.data, list(fn.block.args), outputs))
    results: list[SSAValue] = list(call.results)
    value = results[0] if len(results) == 1 else builder.add(TupleOp(results)).result
    builder.add(YieldOp(value))
    return fn
