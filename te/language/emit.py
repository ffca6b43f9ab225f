"""From te tensors to the te dialect: one te.func, a te.compute per operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntAttr, StringAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects import te
from ...dialects.affine import bounds
from ...dialects.element_types import DTYPES
from ...dialects.sizes import Size, SizeExpr, UndecidedSize, decide, same
from ...dialects.sizes.types import tensor_of
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse
from ...provenance.walk import walk as walk_ops
from ...support.dtypes import fail, is_float, limits
from ...support.errors import ScheduleError
from .affine_forms import affine_expr
from .expr import Axis, Const, Expr, Var, compare
from .extents import Sizes, extent_value, size_of
from .externs import ExternOp
from .hybrid import HybridOp
from .hybrid_body import hybrid_body
from .math import all as all_of
from .prim_func_calls import PrimFuncCallOp
from .reductions import Reduce
from .scalars import ScalarEmitter, number_attribute, scalar_type
from .scans import ScanOp
from .statement_ops import filled
from .statements import Buffer, ExternCall
from .tensor import ComputeOp, PlaceholderOp, Tensor
from .tensor import Operation as TeOperation
from .walks import walk


def sorted_operations(outputs: Sequence[Tensor]) -> list[TeOperation]:
    """The operations behind `outputs`, producers first, in post-order of the graph."""
    order: dict[TeOperation, None] = {}
    stack: list[tuple[TeOperation, bool]] = [(tensor.op, False) for tensor in reversed(outputs)]
    while stack:
        op, ready = stack.pop()
        if ready:
            order[op] = None
        elif op not in order:
            stack.append((op, True))
            stack.extend((tensor.op, False) for tensor in reversed(op.input_tensors) if tensor.op not in order)
    return list(order)


def build_function(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "main",
    sizes: Sizes | None = None,
) -> tuple[te.FuncOp, dict[Tensor, SSAValue]]:
    """The te.func that computes `outputs`, and the value of each tensor in it.

    inputs: the function's arguments in order; every placeholder, in order of use, without it. sizes: the values of the
    variables in shapes and expressions. Raises ScheduleError when a placeholder is missing among the inputs, or a
    variable has no value.
    """
    return _FunctionEmitter(outputs, inputs, name, {} if sizes is None else sizes).run()


class _FunctionEmitter:
    def __init__(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor] | None, name: str, sizes: Sizes):
        self.outputs = outputs
        self.sizes = sizes
        self.operations = sorted_operations(outputs)
        self.states = {state: op for op in self.operations if isinstance(op, ScanOp) for state in op.state_placeholder}
        placeholders = [op.output(0) for op in self.operations if isinstance(op, PlaceholderOp)]
        placeholders = [tensor for tensor in placeholders if tensor not in self.states]
        self.arguments = list(placeholders if inputs is None else inputs)
        if missing := [tensor.name for tensor in placeholders if tensor not in self.arguments]:
            fail(f"te: expected every placeholder among the arguments, missing {', '.join(missing)}")
        if wrong := [tensor.name for tensor in self.arguments if not isinstance(tensor.op, PlaceholderOp)]:
            fail(f"te: expected placeholders as arguments, got {', '.join(wrong)}")
        self.func = te.FuncOp(name, [self._type(t) for t in self.arguments], [self._type(t) for t in outputs])
        self.func.location = fuse([op.location for op in self.operations])
        self.values: dict[Tensor, SSAValue] = {}
        self.builder = LocatedBuilder(self.func.block)
        self.labels: set[str] = set()

    def run(self) -> tuple[te.FuncOp, dict[Tensor, SSAValue]]:
        for tensor, argument in zip(self.arguments, self.func.block.args, strict=True):
            argument.name_hint = tensor.name if SSAValue.is_valid_name(tensor.name) else None
            argument.location = tensor.op.location
            self.values[tensor] = argument
        names = {op.name for op in self.operations}
        for op in self.operations:
            with self.builder.located(op.location):
                match op:
                    case ComputeOp():
                        self._compute(op, self._label(op.name, names))
                    case PlaceholderOp() if op.output(0) in self.states:
                        self._state(op.output(0), names)
                    case ScanOp():
                        self._scan(op, names)
                    case HybridOp():
                        self._hybrid(op, self._label(op.name, names))
                    case PrimFuncCallOp():
                        self._prim_func(op, self._label(op.name, names))
                    case ExternOp():
                        self._extern(op, self._label(op.name, names))
                    case _:
                        pass
        with self.builder.located(self.func.location):
            self.builder.add(te.ReturnOp(*(self.values[tensor] for tensor in self.outputs)))
        return self.func, self.values

    def _type(self, tensor: Tensor) -> TensorType[Attribute]:
        return _tensor_type(tensor.dtype, tuple(extent_value(extent, self.sizes) for extent in tensor.shape))

    def _label(self, name: str, names: set[str]) -> str:
        """`name`, or `name_1` and so on when another stage has it."""
        label, count = name, 0
        while label in self.labels or (count and label in names):
            count += 1
            label = f"{name}_{count}"
        self.labels.add(label)
        return label

    def _compute(self, op: ComputeOp, label: str) -> None:
        """Emit one te.compute for all outputs of an operation."""
        for a, b in op.alike:
            found, other = extent_value(a, self.sizes), extent_value(b, self.sizes)
            if not same(found, other):
                if decide(found, "==", other) is None:
                    raise UndecidedSize(f"te: whether {a} and {b} are equal depends on the call (stage '{op.name}')")
                fail(f"te: Incompatible broadcast dims: {a} = {found} and {b} = {other} (stage '{op.name}')")
        first = op.body[0]
        reduce = first if isinstance(first, Reduce) else None
        terms = [self._terms_of(op, axis) for axis in op.reduce_axis]
        if reduce is not None and (tests := [test for _, test in terms if test is not None]):
            condition = all_of(*tests, *(() if reduce.condition is None else (reduce.condition,)))
            reduce = replace(reduce, condition=condition)
        combiner = reduce.combiner if reduce is not None else None
        axes = [*op.axis, *op.reduce_axis]
        identity = None
        if combiner is not None:
            identity = [number_attribute(number.value, scalar_type(number.dtype)) for number in combiner.identity]
        compute = te.ComputeOp.make(
            label,
            [extent_value(axis.extent, self.sizes) for axis in op.axis],
            [DTYPES[tensor.dtype] for tensor in op.outputs],
            reduce_extents=[extent for extent, _ in terms],
            reducer=reduce.reducer if reduce is not None else None,
            identity=identity,
            names=[axis.name for axis in axes],
        )
        compute.attributes.update(_attributes(op.tag, op.attrs))
        if combiner is not None and reduce is not None and reduce.condition is not None:
            compute.attributes[te.PREDICATED] = UnitAttr()
        if combiner is not None and combiner.starts:
            compute.attributes[te.STARTS] = UnitAttr()
        with self.builder.at(compute.block):
            emitter = ScalarEmitter(self.builder, self.values, self.sizes, op.name, axes, compute.block.args)
            if reduce is None:
                self.builder.add(te.YieldOp.create(operands=[emitter.value(expr) for expr in op.body]))
            else:
                found = self._terms(emitter, reduce)
                self.builder.add(te.YieldOp.create(operands=[*found, *(emitter.value(e) for e in reduce.init)]))
        if combiner is not None and compute.combiner is not None:
            block = compute.combiner.block
            scalars = dict(zip((*combiner.lhs, *combiner.rhs), block.args, strict=True))
            for var, argument in scalars.items():
                argument.name_hint = var.name
            with self.builder.at(block):
                emitter = ScalarEmitter(self.builder, self.values, self.sizes, op.name, scalars=scalars)
                self.builder.add(te.YieldOp(*[emitter.value(expr) for expr in combiner.result]))
        self.builder.add(compute)
        self.values.update(zip(op.outputs, compute.outputs, strict=True))

    def _terms_of(self, op: ComputeOp, axis: Axis) -> tuple[Size, Expr | None]:
        """Return the number of terms along a reduction's axis; where data axes decide it, the most, and which count."""
        extent = axis.extent
        if not isinstance(extent, Expr) or not any(isinstance(node, Axis) for node in walk([extent])):
            return extent_value(extent, self.sizes), None
        dims = {data: AffineDimExpr(i) for i, data in enumerate(op.axis)}
        ranges = [(0, extent_value(data.extent, self.sizes) - 1) for data in op.axis]
        try:
            most = bounds(affine_expr(extent, dims), ranges)[1]
        except ScheduleError as error:
            fail(f"te.compute '{op.name}': the extent of {axis.name}: {error}")
        return (max(0, most) if isinstance(most, int) else most), compare("lt", axis - axis.start, extent)

    def _state(self, tensor: Tensor, names: set[str]) -> None:
        state = te.StateOp(self._label(tensor.op.name, names), self._type(tensor))
        self.values[tensor] = self.builder.add(state).result

    def _scan(self, op: ScanOp, names: set[str]) -> None:
        for tensor in op.state_placeholder:
            if self.states[tensor] is not op:
                fail(f"te.scan: expected states of one scan, got '{tensor.name}' in two (stage '{op.name}')")
            if tensor not in self.values:
                # No update reads it.
                self._state(tensor, names)
        groups = (op.state_placeholder, op.init, op.update)
        scan = te.ScanOp(self._label(op.name, names), *([self.values[t] for t in tensors] for tensors in groups))
        scan.attributes.update(_attributes(op.tag, op.attrs))
        self.builder.add(scan)
        scan.verify_()
        self.values.update(zip(op.outputs, scan.outputs, strict=True))

    def _hybrid(self, op: HybridOp, label: str) -> None:
        types = [self._type(tensor) for tensor in op.outputs]
        inputs = [self.values[tensor] for tensor in op.input_tensors]
        hybrid = te.HybridOp.make(label, inputs, types, Region(hybrid_body(op, self.sizes)))
        hybrid.attributes.update(_attributes(op.tag, op.attrs))
        self.builder.add(hybrid)
        self.values.update(zip(op.outputs, hybrid.outputs, strict=True))

    def _prim_func(self, op: PrimFuncCallOp, label: str) -> None:
        if op.expressions is not None:
            self._expressions(op, op.expressions)
            return
        types = [self._type(tensor) for tensor in op.outputs]
        call = te.HybridOp.make(label, [self.values[tensor] for tensor in op.inputs], types, op.func.body.clone())
        call.attributes.update(_attributes(op.tag, op.attrs))
        for inner in call.walk():
            inner.location = fuse([self.builder.location, inner.location])
        self.builder.add(call)
        self.values.update(zip(op.outputs, call.outputs, strict=True))

    def _expressions(self, op: PrimFuncCallOp, func: te.FuncOp) -> None:
        """Add the stages of a function for a kernel."""
        inner = func.clone()
        values: dict[SSAValue, SSAValue] = dict(
            zip(inner.block.args, (self.values[tensor] for tensor in op.inputs), strict=True)
        )
        for stage in list(inner.block.ops):
            stage.detach()
            if isinstance(stage, te.ReturnOp):
                self.values.update(zip(op.outputs, (values.get(v, v) for v in stage.operands), strict=True))
                # What returns a tensor reads it as a whole, so that no other stage could take it along.
                stage.erase()
                continue
            if isinstance(stage, te.ComputeOp | te.HybridOp):
                stage.label = StringAttr(self._label(stage.label.data, self.labels))
            for each in walk_ops(stage):
                each.location = fuse([self.builder.location, each.location])
                each.operands = [values.get(value, value) for value in each.operands]
            self.builder.add(stage)

    def _extern(self, op: ExternOp, label: str) -> None:
        types = [self._type(tensor) for tensor in op.outputs]
        call = op.body
        if not isinstance(call, ExternCall):
            tensors = op.input_tensors
            places = [tensors.index(tensor) for tensor in op.inputs]
            body = filled(op.name, (op.input_placeholders, places), op.output_placeholders, call, self.sizes)
            loops = te.HybridOp.make(label, [self.values[tensor] for tensor in tensors], types, Region(body))
            loops.attributes.update(_attributes(op.tag, op.attrs))
            self.builder.add(loops)
            self.values.update(zip(op.outputs, loops.outputs, strict=True))
            return
        inputs: list[SSAValue] = []
        numbers: list[Attribute | int] = []
        for argument in call.arguments:
            match argument:
                case Buffer() if argument in op.output_placeholders:
                    # Outputs follow the inputs, whose number is not known yet.
                    numbers.append(-1 - op.output_placeholders.index(argument))
                case Buffer():
                    value = self.values[op.inputs[op.input_placeholders.index(argument)]]
                    if value not in inputs:
                        inputs.append(value)
                    numbers.append(inputs.index(value))
                case Var() | Const():
                    value = size_of(argument, self.sizes) if isinstance(argument, Var) else argument.value
                    if isinstance(value, SizeExpr):
                        raise UndecidedSize(f"te.extern '{label}': {argument} is a number of the call")
                    wide = "float64" if is_float(argument.dtype) else "int64"
                    numbers.append(number_attribute(value, scalar_type(wide if call.packed else argument.dtype)))
                case _:
                    pass
        arguments = [IntAttr(len(inputs) - 1 - n if n < 0 else n) if isinstance(n, int) else n for n in numbers]
        extern = te.ExternOp.make(label, call.callee, arguments, inputs, types, packed=call.packed)
        extern.attributes.update(_attributes(op.tag, op.attrs))
        self.builder.add(extern)
        self.values.update(zip(op.outputs, extern.outputs, strict=True))

    @staticmethod
    def _terms(emitter: ScalarEmitter, reduce: Reduce) -> list[SSAValue]:
        """Return the values to combine; where the reduction's condition does not hold, those that it starts from."""
        if reduce.condition is None:
            return [emitter.value(value) for value in reduce.values]
        condition = emitter.value(reduce.condition)
        terms: list[SSAValue] = []
        for value, neutral in zip(reduce.values, _identity(reduce), strict=True):
            # The term is not wanted where the condition fails, and may read outside there.
            term = emitter.value(value, guarded=True)
            terms.append(emitter.builder.add(arith.SelectOp(condition, term, emitter.value(neutral))).result)
        return terms


@lru_cache(1024)
def _tensor_type(dtype: str, shape: tuple[Size, ...]) -> TensorType[Attribute]:
    return tensor_of(DTYPES[dtype], shape)


def _attributes(tag: str, attrs: Mapping[str, Any]) -> dict[str, Attribute]:
    """Tag and attrs of an operation as attributes of its stage; True is a flag, False none."""
    attributes: dict[str, Attribute] = {"tag": StringAttr(tag)} if tag else {}
    for key, value in attrs.items():
        if value is not False:
            attributes[key] = (
                UnitAttr() if value is True else value if isinstance(value, Attribute) else StringAttr(f"{value}")
            )
    return attributes


def _identity(reduce: Reduce) -> Sequence[Expr]:
    if reduce.combiner is not None:
        return reduce.combiner.starts or reduce.combiner.identity
    low, high = limits(reduce.dtype)
    identities: Mapping[str, float] = {"sum": 0, "prod": 1, "max": low, "min": high}
    return [Const(identities[reduce.reducer], reduce.dtype)]
