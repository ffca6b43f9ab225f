"""From te tensors to the te dialect: one te.func, a te.compute per operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine import substitute
from ..dialects.relay.constants import DTYPES
from ..provenance.builder import LocatedBuilder
from ..provenance.span import fuse, is_known, layer_location
from .expr import Axis, Binary, Call, Cast, Compare, Const, Expr, Not, Read, Reduce, Select, fail, is_float
from .tensor import ComputeOp, PlaceholderOp, Tensor
from .tensor import Operation as TeOperation

_FLOAT: dict[str, type[Operation]] = {
    "add": arith.AddfOp,
    "sub": arith.SubfOp,
    "mul": arith.MulfOp,
    "div": arith.DivfOp,
    "max": arith.MaximumfOp,
    "min": arith.MinimumfOp,
    "pow": math.PowFOp,
}
_INTEGER: dict[str, type[Operation]] = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "div": arith.DivSIOp,
    "truncdiv": arith.DivSIOp,
    "truncmod": arith.RemSIOp,
    "floordiv": arith.FloorDivSIOp,
    "max": arith.MaxSIOp,
    "min": arith.MinSIOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
}
_PREDICATES = {"eq": ("oeq", "eq"), "ne": ("une", "ne"), "lt": ("olt", "slt"), "le": ("ole", "sle")} | {
    "gt": ("ogt", "sgt"),
    "ge": ("oge", "sge"),
}
MATH: dict[str, type[Operation]] = {
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atanh": math.AtanhOp,
    "ceil": math.CeilOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "floor": math.FloorOp,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "round": math.RoundEvenOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}
"""Functions of one float."""


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
    outputs: Sequence[Tensor], inputs: Sequence[Tensor] | None = None, name: str = "main"
) -> tuple[te.FuncOp, dict[Tensor, SSAValue]]:
    """The te.func that computes `outputs`, and the value of each tensor in it.

    inputs: the function's arguments in order; every placeholder, in order of use, without it.
    Raises ScheduleError when a placeholder is missing among the inputs.
    """
    operations = sorted_operations(outputs)
    placeholders = [op.output(0) for op in operations if isinstance(op, PlaceholderOp)]
    arguments = list(placeholders if inputs is None else inputs)
    if missing := [tensor.name for tensor in placeholders if tensor not in arguments]:
        fail(f"te: expected every placeholder among the arguments, missing {', '.join(missing)}")
    func = te.FuncOp(name, [_type(t) for t in arguments], [_type(t) for t in outputs])
    values: dict[Tensor, SSAValue] = {}
    for tensor, argument in zip(arguments, func.block.args, strict=True):
        argument.name_hint = tensor.name if SSAValue.is_valid_name(tensor.name) else None
        argument.location = _location(tensor.op)
        values[tensor] = argument
    labels: dict[str, int] = {}
    builder = LocatedBuilder(func.block)
    locations = [_location(op) for op in operations]
    func.location = fuse(locations)
    for op in operations:
        if not isinstance(op, ComputeOp):
            continue
        count = labels.get(op.name, 0)
        labels[op.name] = count + 1
        label = f"{op.name}_{count}" if count else op.name
        with builder.located(_location(op)):
            for index, tensor in enumerate(op.outputs):
                own = label if len(op.outputs) == 1 else f"{label}.v{index}"
                values[tensor] = _Emitter(builder, values, op, index).run(own)
    with builder.located(func.location):
        builder.add(te.ReturnOp(*(values[tensor] for tensor in outputs)))
    return func, values


def _type(tensor: Tensor) -> TensorType[Attribute]:
    return TensorType(DTYPES[tensor.dtype], tensor.shape)


def _location(op: TeOperation):
    return op.location if is_known(op.location) else layer_location(op.name, "te", 0)


class _Emitter:
    """Emits the compute of one output of an operation."""

    def __init__(self, builder: LocatedBuilder, values: dict[Tensor, SSAValue], op: ComputeOp, output: int):
        self.builder = builder
        self.tensors = values
        self.op = op
        self.expr = op.body[output]
        self.dtype = op.outputs[output].dtype

    def run(self, label: str) -> SSAValue:
        op, reduce = self.op, self.expr if isinstance(self.expr, Reduce) else None
        axes = [*op.axis, *op.reduce_axis]
        compute = te.ComputeOp.make(
            label,
            op.shape,
            DTYPES[self.dtype],
            reduce_extents=[axis.extent for axis in op.reduce_axis],
            reducer=reduce.reducer if reduce is not None else None,
            names=[axis.name for axis in axes],
        )
        if op.tag:
            compute.attributes["tag"] = StringAttr(op.tag)
        for key, value in op.attrs.items():
            compute.attributes[key] = StringAttr(str(value))
        self.indices: list[SSAValue] = list(compute.block.args)
        self.dims: dict[Axis, AffineExpr] = {axis: AffineDimExpr(i) for i, axis in enumerate(axes)}
        self.done: dict[int, SSAValue] = {}
        with self.builder.at(compute.block):
            value = self.value(reduce.value if reduce is not None else self.expr)
            if reduce is not None and reduce.condition is not None:
                value = self._where(reduce, value)
            self.builder.add(te.YieldOp(value))
        return self.builder.add(compute).result

    def _where(self, reduce: Reduce, value: SSAValue) -> SSAValue:
        """The term where the reduction's condition holds, its neutral element elsewhere."""
        neutral = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}[reduce.reducer]
        if not is_float(self.dtype) and reduce.reducer in ("max", "min"):
            width = te.bit_width(value.type)
            neutral = -(1 << (width - 1)) if reduce.reducer == "max" else (1 << (width - 1)) - 1
        assert reduce.condition is not None
        return self._add(arith.SelectOp(self.value(reduce.condition), value, self._number(neutral, value.type)))

    def _add(self, op: Operation) -> SSAValue:
        return self.builder.add(op).results[0]

    def _make(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        flags = {} if te.is_integer(operands[0].type) else {"fastmath": arith.FastMathFlagsAttr("none")}
        if isinstance(operands[0].type, IndexType):
            flags = {}
        return self._add(kind.create(operands=operands, result_types=[operands[0].type], properties=flags))

    def _number(self, value: float, type_: Attribute) -> SSAValue:
        if te.is_integer(type_) or type_ == te.INDEX:
            attribute: Attribute = IntegerAttr(int(value), cast(IntegerType, type_))
        else:
            attribute = FloatAttr(float(value), cast(AnyFloat, type_))
        return self._add(arith.ConstantOp.create(properties={"value": attribute}, result_types=[type_]))

    # Index expressions

    def affine(self, expr: Expr) -> AffineExpr | None:
        """`expr` as an affine expression of the axes; None when it is none."""
        match expr:
            case Axis():
                if expr not in self.dims:
                    fail(f"te.compute '{self.op.name}': axis {expr.name} belongs to no axis of this stage")
                return self.dims[expr]
            case Const(value=int() as value):
                return AffineConstantExpr(value)
            case Cast(a=a) if not is_float(expr.dtype) and not is_float(a.dtype):
                return self.affine(a)
            case Binary(op=op):
                a, b = self.affine(expr.a), self.affine(expr.b)
                if a is None or b is None:
                    return None
                return self._affine_binary(op, a, b)
            case _:
                return None

    @staticmethod
    def _affine_binary(op: str, a: AffineExpr, b: AffineExpr) -> AffineExpr | None:
        constant = b.value if isinstance(b, AffineConstantExpr) else None
        match op:
            case "add":
                return a + b
            case "sub":
                return a + b * -1
            case "mul" if constant is not None:
                return a * constant
            case "mul" if isinstance(a, AffineConstantExpr):
                return b * a.value
            case "floordiv" if constant is not None and constant > 0:
                return a // constant
            case "floormod" if constant is not None and constant > 0:
                return a % constant
            case _:
                return None

    def index(self, expr: Expr) -> AffineExpr:
        """`expr` as an index; what is not affine is computed and becomes an index operand."""
        if (found := self.affine(expr)) is not None:
            return found
        value = self.value(expr)
        if not isinstance(value.type, IndexType):
            value = self._add(arith.IndexCastOp(value, te.INDEX))
        self.indices.append(value)
        return AffineDimExpr(len(self.indices) - 1)

    def access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]:
        used = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(self.indices)
        for position, dim in enumerate(used):
            dims[dim] = AffineDimExpr(position)
        map = AffineMap(len(used), 0, tuple(substitute(expr, dims) for expr in exprs))
        return map, [self.indices[dim] for dim in used]

    # Values

    def value(self, expr: Expr, guarded: bool = False) -> SSAValue:
        """The value of `expr`. guarded: it may be evaluated where its reads lie outside; they give 0 there."""
        key = id(expr) * 2 + guarded
        if key not in self.done:
            self.done[key] = self._value(expr, guarded)
        return self.done[key]

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        match expr:
            case Const():
                return self._number(expr.value, te.stored_type(DTYPES[expr.dtype]))
            case Axis() | Binary(a=Axis()) if (found := self.affine(expr)) is not None:
                index = self._add(te.IndexOp.make(*self.access([found])))
                return self._add(arith.IndexCastOp(index, te.I32))
            case Read():
                return self._read(expr, guarded)
            case Binary():
                return self._binary(expr, guarded)
            case Compare():
                a, b = self.value(expr.a, guarded), self.value(expr.b, guarded)
                integer = te.is_integer(a.type)
                kind = arith.CmpiOp if integer else arith.CmpfOp
                return self._add(kind(a, b, _PREDICATES[expr.op][integer]))
            case Not():
                a = self.value(expr.a, guarded)
                return self._add(arith.XOrIOp(a, self._number(1, a.type)))
            case Select():
                condition = self.value(expr.condition, guarded)
                inner = guarded or expr.guarded
                return self._add(
                    arith.SelectOp(condition, self.value(expr.then, inner), self.value(expr.otherwise, inner))
                )
            case Cast():
                return self._cast(self.value(expr.a, guarded), expr.dtype)
            case Call():
                a = self.value(expr.a, guarded)
                if expr.name == "abs":
                    return self._make(math.AbsIOp if te.is_integer(a.type) else math.AbsFOp, a)
                return self._make(MATH[expr.name], a)
            case _:
                fail(f"te.compute '{self.op.name}': expected an expression of numbers, got {type(expr).__name__}")

    def _read(self, expr: Read, guarded: bool) -> SSAValue:
        tensor = self.tensors[expr.tensor]
        point = [self.index(index) for index in expr.indices]
        stored = te.stored_type(DTYPES[expr.dtype])
        otherwise: Attribute | None = None
        if guarded:
            otherwise = (
                IntegerAttr(0, cast(IntegerType, stored))
                if te.is_integer(stored)
                else FloatAttr(0.0, cast(AnyFloat, stored))
            )
        return self._add(te.ReadOp.make(tensor, *self.access(point), otherwise))

    def _binary(self, expr: Binary, guarded: bool) -> SSAValue:
        a, b = self.value(expr.a, guarded), self.value(expr.b, guarded)
        table = _INTEGER if te.is_integer(a.type) else _FLOAT
        if expr.op == "floormod" and te.is_integer(a.type):
            quotient = self._make(arith.FloorDivSIOp, a, b)
            return self._make(arith.SubiOp, a, self._make(arith.MuliOp, quotient, b))
        if expr.op in ("floordiv", "truncdiv") and not te.is_integer(a.type):
            rounding = math.FloorOp if expr.op == "floordiv" else math.TruncOp
            return self._make(rounding, self._make(arith.DivfOp, a, b))
        if expr.op not in table:
            fail(f"te.{expr.op}: expected {'float' if table is _INTEGER else 'integer'} operands, got {expr.dtype}")
        return self._make(table[expr.op], a, b)

    def _cast(self, value: SSAValue, dtype: str) -> SSAValue:
        target = te.stored_type(DTYPES[dtype])
        source = value.type
        if source == target:
            return value
        from_int, to_int = te.is_integer(source), te.is_integer(target)
        if to_int and te.bit_width(target) == 1:
            zero = self._number(0, source)
            return self._add(arith.CmpiOp(value, zero, "ne") if from_int else arith.CmpfOp(value, zero, "une"))
        if from_int and to_int:
            widen = arith.ExtUIOp if te.bit_width(source) == 1 else arith.ExtSIOp
            kind = arith.TruncIOp if te.bit_width(target) < te.bit_width(source) else widen
        elif from_int:
            kind = arith.UIToFPOp if te.bit_width(source) == 1 else arith.SIToFPOp
        elif to_int:
            kind = arith.FPToSIOp
        else:
            widths = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
            kind = arith.ExtFOp if widths[str(target)] > widths[str(source)] else arith.TruncFOp
        return self._add(kind.create(operands=[value], result_types=[target]))
