"""relay-first-order-gradient: functions give their value, and how it changes with their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from ...dialects.relay.elementwise import AddOp, OnesLikeOp, ZerosLikeOp
from ...dialects.relay.grouping import replace_uses
from ...dialects.relay.operator import Operator
from ...dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import fields_of
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import fail
from ...provenance.ledger import current_ledger
from ...provenance.span import is_known
from .analysis.traversal import functions_of
from .gradients.site import is_smooth
from .gradients.table import operand_gradients
from .higher_order_gradient import higher_order_gradient
from .local_references import forward_references
from .to_graph_normal_form import dissolve_all


@dataclass(frozen=True)
class FirstOrderGradientPass(ModulePass):
    """Makes functions return their value and its gradients, as TVM's FirstOrderGradient (level 0).

    function: the one to change; without a name all that are no kernels.
    higher_order: functions that branch, call or match, or hand references on, get one, too, which takes gradients back
    by closures. Of a tuple, gradients are those of its first field (TVM: `relay.transform.gradient`).

    Before: functions of operators, constants, tuples, let-blocks and references of their own. Raises VerifyException
    for other ops that a gradient goes through, and for operators without a rule (`gradients/table.py`).
    After: a function `(a, b) -> (v)` gives `(v, (a', b'))`: how the sum of all elements of `v` changes with each
    element of `a` and `b`. A parameter of integers, or one that `v` does not depend on, gets zeros.
    Locations: ops that take a gradient through an operator have that operator's; what adds gradients of a value up has
    that of the op that made the value; seeds and zeros that of the function.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
      relay.return %0 : tensor<4xf32> loc("end")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>, tuple<tensor<4xf32>>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
      %1 = relay.ones_like %0 : (tensor<4xf32>) -> tensor<4xf32> loc("main")
      %2 = relay.multiply %1, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("exp")
      %3 = relay.tuple %2 : tuple<tensor<4xf32>> loc("end")
      relay.return %0, %3 : tensor<4xf32>, tuple<tensor<4xf32>> loc("end")
    } loc("main")
    ```
    """

    name = "relay-first-order-gradient"
    function: str = ""
    higher_order: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, func in functions_of(op).items():
            if func.primitive is None and self.function in ("", name):
                new = gradient(func, op, self.higher_order)
                new.attributes.update(func.attributes)
                op.body.block.insert_op_before(new, func)
                if (ledger := current_ledger()) is not None:
                    ledger.record("Gradient", removed=func.walk(), created=new.walk())
                func.detach()
                func.erase()


_STRAIGHT = Operator | ConstantOp | TupleOp | TupleGetItemOp | ReturnOp


def gradient(func: FuncOp, module: ModuleOp, higher_order: bool = False) -> FuncOp:
    """The function that gives `(value, (gradients...))` of `func`, which stays; several results are one tuple.

    module: whose pool gets constants. higher_order: `func` may have more than operators and tuples, and of a tuple the
    gradients are those of the first field, as TVM has it.
    """
    straight = _straightened(func)
    if higher_order and not all(isinstance(op, _STRAIGHT) for op in straight.block.ops):
        return higher_order_gradient(func, module)
    end = straight.return_op
    values = list(end.values)
    end.detach()
    backward = _Backward(straight, module)
    gradients = backward.run(_first(values, straight, backward.builder) if higher_order else values)
    builder = backward.builder
    with builder.located(end.location):
        output = values[0] if len(values) == 1 else builder.add(TupleOp(values)).result
        builder.add(ReturnOp(output, builder.add(TupleOp(gradients))))
    end.erase()
    straight.update_type()
    return straight


def _first(values: Sequence[SSAValue], func: FuncOp, builder: LocatedBuilder) -> list[SSAValue]:
    """The first of the values of a function, or its first field, down to a tensor."""
    if not values:
        fail(func, "a value, to take a gradient", "none")
    value = values[0]
    while (fields := fields_of(value.type)) is not None:
        if not fields:
            fail(func, "a value of tensors, or a tuple of them", str(value.type))
        owner = value.owner
        value = owner.fields[0] if isinstance(owner, TupleOp) else builder.add(TupleGetItemOp(value, 0)).result
    return [value]


def _straightened(func: FuncOp) -> FuncOp:
    """A copy of a function without let-blocks, and without references and tuples as far as what they hold is known."""
    copy = func.clone()
    dissolve_all(copy)
    forward_references(copy.block)
    _forward_fields(copy)
    return copy


def _forward_fields(func: FuncOp) -> None:
    """Replace fields of tuples in the same function by the values themselves."""
    for op in list(func.block.ops):
        if isinstance(op, TupleGetItemOp) and isinstance(fields := op.tuple_value.owner, TupleOp):
            replace_uses({op.result: fields.fields[op.index.value.data]})
            op.detach()
            op.erase()


class _Backward:
    """Walks the ops of a function backwards, with the gradient of each value so far."""

    def __init__(self, func: FuncOp, module: ModuleOp):
        self.func = func
        self.module = module
        self.builder = LocatedBuilder(func.block, func.location)
        self.gradients: dict[SSAValue, SSAValue] = {}
        self.fields: dict[SSAValue, dict[int, SSAValue]] = {}
        """The gradients of tuples, one for each field."""

    def run(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The gradients of the parameters."""
        ops = list(self.func.block.ops)
        for value in values:
            self._seed(value)
        for op in reversed(ops):
            with self.builder.located(op.location):
                self._through(op)
        with self.builder.located(self.func.location):
            return [self._of(argument) for argument in self.func.block.args]

    def _seed(self, value: SSAValue) -> None:
        """Every element of a result counts 1."""
        if (fields := fields_of(value.type)) is None:
            self._tensor(value)
            self._add(value, self.builder.add(OnesLikeOp(value)).result, self.func.location)
            return
        for index in range(len(fields)):
            owner = value.owner
            field = owner.fields[index] if isinstance(owner, TupleOp) else None
            if field is None:
                field = self.builder.add(TupleGetItemOp(value, index)).result
                if fields_of(field.type) is not None:
                    fail(self.func, "a value of tensors, or a tuple of them", str(value.type))
                self._add_field(value, index, self.builder.add(OnesLikeOp(field)).result)
            else:
                self._seed(field)

    def _tensor(self, value: SSAValue) -> None:
        if not is_smooth(value):
            fail(self.func, "a value of floats, to take a gradient of", f"{value.type}")

    def _through(self, op: Operation) -> None:
        """Take the gradients of an op's results to its operands."""
        match op:
            case ConstantOp() | OnesLikeOp() | ZerosLikeOp():
                return
            case TupleOp():
                for index, gradient in self.fields.get(op.result, {}).items():
                    self._add(op.fields[index], gradient, self._made_at(op.fields[index]))
            case TupleGetItemOp():
                if op.result in self.fields:
                    fail(op, "tuples of tensors, to take a gradient", str(op.tuple_value.type))
                if (gradient := self.gradients.get(op.result)) is not None:
                    self._add_field(op.tuple_value, op.index.value.data, gradient)
            case Operator():
                self._operator(op)
            case _:
                if any(result in self.gradients or result in self.fields for result in op.results):
                    fail(op, "operators and tuples only on the way of a gradient", op.name)
                if isinstance(op, RefCreateOp | RefReadOp | RefWriteOp):
                    fail(op, "references that the function alone reads and writes, to take a gradient", op.name)

    def _operator(self, op: Operator) -> None:
        if not any(result in self.gradients for result in op.results):
            return
        gradients = [self.gradients.get(result) for result in op.results]
        for index, gradient in operand_gradients(op, gradients, self.module, self.builder):
            self._add(op.operands[index], gradient, self._made_at(op.operands[index]))

    def _add(self, value: SSAValue, gradient: SSAValue, location: LocationAttr) -> None:
        before = self.gradients.get(value)
        if before is not None:
            with self.builder.located(location):
                gradient = self.builder.add(AddOp(before, gradient)).result
        self.gradients[value] = gradient

    def _add_field(self, value: SSAValue, index: int, gradient: SSAValue) -> None:
        fields = self.fields.setdefault(value, {})
        if index in fields:
            with self.builder.located(self._made_at(value)):
                gradient = self.builder.add(AddOp(fields[index], gradient)).result
        fields[index] = gradient

    def _made_at(self, value: SSAValue) -> LocationAttr:
        owner = value.owner
        location = owner.location if isinstance(owner, Operation) else cast(BlockArgument, value).location
        return location if is_known(location) else self.func.location

    def _of(self, value: SSAValue) -> SSAValue:
        """The gradient of a parameter, zeros where the result does not depend on it."""
        if (fields := fields_of(value.type)) is not None:
            gradients: list[SSAValue] = []
            for index in range(len(fields)):
                if (gradient := self.fields.get(value, {}).get(index)) is None:
                    gradient = self._of(self.builder.add(TupleGetItemOp(value, index)).result)
                gradients.append(gradient)
            return self.builder.add(TupleOp(gradients)).result
        if (gradient := self.gradients.get(value)) is not None:
            return gradient
        if not isinstance(value.type, TensorType):
            fail(self.func, "parameters of tensors and tuples, to take a gradient", str(value.type))
        return self.builder.add(ZerosLikeOp(value)).result
