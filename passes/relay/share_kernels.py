"""relay-share-kernels: kernels that differ in numbers only become one, which is handed the numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, ConstantOp, FuncOp
from ...provenance.ledger import clone_of, current_ledger
from ..functions import is_closed


def _numbers(func: FuncOp) -> list[ConstantOp]:
    """The numbers spelled out in a primitive function, in order."""
    return [op for op in func.block.ops if isinstance(op, ConstantOp) and op.literal is not None]


def _shape(func: FuncOp) -> Hashable:
    """Equal for primitive functions that differ in the numbers spelled out in them, in names and in locations only."""
    positions: dict[SSAValue, int] = {}
    ops: list[Hashable] = []
    for value in func.block.args:
        positions[value] = len(positions)
    for op in func.block.ops:
        operands = tuple(positions[operand] for operand in op.operands)
        number = isinstance(op, ConstantOp) and op.literal is not None
        ops.append((op.name, operands, tuple(op.result_types), () if number else _attributes(op)))
        positions |= {result: len(positions) + i for i, result in enumerate(op.results)}
    return tuple(argument.type for argument in func.block.args), tuple(ops), frozenset(func.attributes.items())


def _attributes(op: Operation) -> Hashable:
    return frozenset[tuple[str, Attribute]](op.properties.items()), frozenset(op.attributes.items())


def _hand_over(number: ConstantOp, func: FuncOp, calls: Sequence[CallOp]) -> None:
    """Make a number in a function a parameter, of which each call gives the value."""
    parameter = func.block.insert_arg(number.result.type, len(func.block.args))
    parameter.location, parameter.name_hint = number.location, f"p{parameter.index}"
    number.result.replace_all_uses_with(parameter)
    func.update_type()
    number.detach()
    for call in calls:
        value = clone_of(number)
        block = call.parent
        assert block is not None
        block.insert_op_before(value, call)
        call.operands = [*call.operands, value.result]
    number.erase()


@dataclass(frozen=True)
class ShareKernelsPass(ModulePass):
    """Makes parameters of the numbers in which primitive functions differ that are otherwise equal.

    The layers of a quantised model have scales and zero points of their own, so that as many kernels would be compiled
    as it has layers; a float model has one per kind of layer.

    Before: a relay module after fusion.
    After: primitive functions that differed in scalar constants only are equal, and compiled once. What was the same in
    all of them is still in the kernel. Functions for external compilers stay as they are.
    Locations: a parameter, and the constant that a call gives it, have that of the constant in the function.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @fused_add(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = relay.call @fused_add1(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("return")
    } loc("main")
    relay.func primitive @fused_add(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.constant dense<1.0> : tensor<f32> loc("one")
      %1 = relay.add %p0, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
      relay.return %1 : tensor<4xf32> loc("a")
    } loc("a")
    relay.func primitive @fused_add1(%p0: tensor<4xf32> loc("a")) -> (tensor<4xf32>) {
      %0 = relay.constant dense<2.0> : tensor<f32> loc("two")
      %1 = relay.add %p0, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
      relay.return %1 : tensor<4xf32> loc("b")
    } loc("b")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.constant dense<1.0> : tensor<f32> loc("one")
      %1 = relay.call @fused_add(%x, %0) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
      %2 = relay.constant dense<2.0> : tensor<f32> loc("two")
      %3 = relay.call @fused_add1(%1, %2) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
      relay.return %3 : tensor<4xf32> loc("return")
    } loc("main")
    relay.func primitive @fused_add(%p0: tensor<4xf32> loc("x"), %p1: tensor<f32> loc("one")) -> (tensor<4xf32>) {
      %0 = relay.add %p0, %p1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("a")
    } loc("a")
    relay.func primitive @fused_add1(%p0: tensor<4xf32> loc("a"), %p1: tensor<f32> loc("two")) -> (tensor<4xf32>) {
      %0 = relay.add %p0, %p1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
      relay.return %0 : tensor<4xf32> loc("b")
    } loc("b")
    ```
    """

    name = "relay-share-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        alike: dict[Hashable, list[FuncOp]] = defaultdict(list)
        for func in op.ops:
            if isinstance(func, FuncOp) and func.primitive is not None and not is_closed(func) and _numbers(func):
                alike[_shape(func)].append(func)
        calls: dict[str, list[CallOp]] = defaultdict(list)
        for call in op.walk():
            if isinstance(call, CallOp):
                calls[call.callee.string_value()].append(call)
        for functions in alike.values():
            self._share(functions, calls)

    def _share(self, functions: Sequence[FuncOp], calls: dict[str, list[CallOp]]) -> None:
        rows = [_numbers(func) for func in functions]
        for column in zip(*rows, strict=True):
            if len({number.literal for number in column}) < 2:
                continue
            for func, number in zip(functions, column, strict=True):
                if (ledger := current_ledger()) is not None:
                    ledger.record(
                        "ShareKernels",
                        changed=[number],
                        reason=f"a parameter of @{func.sym_name.data}, so that like kernels are one",
                    )
                _hand_over(number, func, calls[func.sym_name.data])
