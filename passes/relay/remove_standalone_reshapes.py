"""relay-remove-standalone-reshapes: no kernel does nothing but reshape, where kernels read what it makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.transform import Reshaping
from ...provenance.ledger import clone_of, current_ledger
from ...provenance.span import fuse
from ..functions import is_closed


def _only_reshapes(func: FuncOp) -> bool:
    return all(isinstance(op, Reshaping) for op in func.block.ops if op is not func.return_op)


def _take_in(reader: CallOp, func: FuncOp, index: int, reshape: CallOp, body: FuncOp) -> None:
    """Have argument `index` of the only call of `func` be what `reshape` reads, and `func` reshape it."""
    (source,) = reshape.arguments
    first = func.block.first_op
    assert first is not None
    argument = func.block.insert_arg(source.type, index)
    replaced = func.block.args[index + 1]
    argument.location, argument.name_hint = body.block.args[0].location, replaced.name_hint
    copies_of: dict[SSAValue, SSAValue] = {body.block.args[0]: argument}
    copies = [clone_of(op, copies_of) for op in body.block.ops if op is not body.return_op]
    func.block.insert_ops_before(copies, first)
    replaced.name_hint = None
    replaced.replace_all_uses_with(copies_of[body.return_op.operands[0]])
    func.block.erase_arg(replaced)
    func.update_type()
    reader.operands[index] = source
    for owner in (reader, func):
        owner.location = fuse([owner.location, reshape.location])


@dataclass(frozen=True)
class RemoveStandaloneReshapesPass(ModulePass):
    """Reshapes that are kernels of their own go into the kernels that read them, as TVM's RemoveStandaloneReshapes
    (level 0) leaves them out; there what is read has another type than what was made, here the reader reshapes it.

    Before: a module with its operators fused.
    After: a kernel of nothing but reshapes is called only for what is no kernel: the return, another op, a kernel that
    is called several times.
    Locations: a kernel that takes reshapes in, and its call, get their locations behind its own.

    ```mlir
    relay.func @main(%x: tensor<2x3x4xf32> loc("x")) -> (tensor<6x4xf32>) {
      %0 = relay.call @fused_reshape(%x) : (tensor<2x3x4xf32>) -> tensor<6x4xf32> loc("flat")
      %1 = relay.call @fused_nn_softmax(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("prob")
      relay.return %1 : tensor<6x4xf32> loc("return")
    } loc("main")
    relay.func primitive @fused_reshape(%p0: tensor<2x3x4xf32> loc("x")) -> (tensor<6x4xf32>) {
      %0 = relay.reshape %p0 {newshape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32> loc("flat")
      relay.return %0 : tensor<6x4xf32> loc("flat")
    } loc("flat")
    relay.func primitive @fused_nn_softmax(%p0: tensor<6x4xf32> loc("flat")) -> (tensor<6x4xf32>) {
      %0 = relay.nn.softmax %p0 : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("prob")
      relay.return %0 : tensor<6x4xf32> loc("prob")
    } loc("prob")
    // becomes
    relay.func @main(%x: tensor<2x3x4xf32> loc("x")) -> (tensor<6x4xf32>) {
      %0 = relay.call @fused_nn_softmax(%x) : (tensor<2x3x4xf32>) -> tensor<6x4xf32> loc(fused["prob", "flat"])
      relay.return %0 : tensor<6x4xf32> loc("return")
    } loc("main")
    relay.func primitive @fused_nn_softmax(%p0: tensor<2x3x4xf32> loc("x")) -> (tensor<6x4xf32>) {
      %0 = relay.reshape %p0 {newshape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32> loc("flat")
      %1 = relay.nn.softmax %0 : (tensor<6x4xf32>) -> tensor<6x4xf32> loc("prob")
      relay.return %1 : tensor<6x4xf32> loc("prob")
    } loc(fused["prob", "flat"])
    ```
    """

    name = "relay-remove-standalone-reshapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {
            func.sym_name.data: func
            for func in op.ops
            if isinstance(func, FuncOp) and func.primitive is not None and not is_closed(func)
        }
        calls = [inner for inner in op.walk() if isinstance(inner, CallOp) and inner.callee.string_value() in kernels]
        count = Counter(call.callee.string_value() for call in calls)
        for call in calls:
            name = call.callee.string_value()
            if not _only_reshapes(kernels[name]):
                continue
            for use in list(call.outputs[0].uses):
                reader = use.operation
                if not isinstance(reader, CallOp) or count[callee := reader.callee.string_value()] != 1:
                    continue
                _take_in(reader, kernels[callee], use.index, call, kernels[name])
            if call.outputs[0].first_use is not None:
                continue
            if (ledger := current_ledger()) is not None:
                reason = "the kernels that read it reshape"
                ledger.record("StandaloneReshape", removed=[call], reason=reason)
            call.detach()
            call.erase()
            count[name] -= 1
            if count[name] == 0:
                kernels[name].detach()
                kernels[name].erase()
