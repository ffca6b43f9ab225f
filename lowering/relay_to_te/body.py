"""Building computes: a TeBuilder makes stages, a Body the scalar ops of one stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnitAttr,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine import substitute
from ...dialects.relay.constants import Array
from ...dialects.relay.operator import element_of, shape_of
from ...provenance.builder import LocatedBuilder

INDEX = IndexType()
OpT = TypeVar("OpT", bound=Operation)


@dataclass(frozen=True)
class Scalar:
    """A constant of one element, spelled where it is read."""

    value: Array
    element: Attribute
    shape: tuple[int, ...]
    location: LocationAttr


Tensor: TypeAlias = SSAValue | Scalar
"""An operand of an operator inside a fused group."""


def shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.shape if isinstance(tensor, Scalar) else shape_of(tensor)


def element(tensor: Tensor) -> Attribute:
    return tensor.element if isinstance(tensor, Scalar) else element_of(tensor)


def number(value: float | int, type_: Attribute) -> Attribute:
    """The attribute of a number of a scalar type."""
    if isinstance(type_, IntegerType | IndexType):
        return IntegerAttr(int(value), cast(IntegerType, type_))
    return FloatAttr(float(value), cast(AnyFloat, type_))


def is_half(element: Attribute) -> bool:
    return isinstance(element, Float16Type | BFloat16Type)


class Body:
    """The scalar ops of one compute; `axes` are its data axes, `reduce` its reduce axes.

    widen: half precision is read as float32.
    """

    def __init__(self, compute: te.ComputeOp, builder: LocatedBuilder, *, widen: bool = False):
        self.compute = compute
        self.builder = builder
        self._widen = widen
        arguments = compute.block.args
        rank = len(compute.shape)
        dims = [AffineDimExpr(i) for i in range(len(arguments))]
        self.axes: list[AffineExpr] = list(dims[:rank])
        self.reduce: list[AffineExpr] = list(dims[rank:])
        self._values: list[SSAValue] = list(arguments)

    def add(self, op: OpT) -> OpT:
        return self.builder.add(op)

    def apply(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        """A one-result op whose result has the first operand's type."""
        return self.builder.add(kind.create(operands=operands, result_types=[operands[0].type])).results[0]

    def apply_fast(self, kind: type[Operation], *operands: SSAValue) -> SSAValue:
        """As `apply`, for float ops, which carry fast-math flags (none set)."""
        flags = arith.FastMathFlagsAttr("none")
        op = kind.create(operands=operands, result_types=[operands[0].type], properties={"fastmath": flags})
        return self.builder.add(op).results[0]

    def constant(self, value: float | int, type_: Attribute) -> SSAValue:
        op = arith.ConstantOp.create(properties={"value": number(value, type_)}, result_types=[type_])
        return self.builder.add(op).results[0]

    def _access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]:
        used = sorted(set[int]().union(*(expr.used_dims() for expr in exprs)))
        dims: list[AffineExpr] = [AffineConstantExpr(0)] * len(self._values)
        for position, dim in enumerate(used):
            dims[dim] = AffineDimExpr(position)
        return (
            AffineMap(len(used), 0, tuple(substitute(expr, dims) for expr in exprs)),
            [self._values[dim] for dim in used],
        )

    def read(self, tensor: Tensor, point: Sequence[AffineExpr], otherwise: float | int | None = None) -> SSAValue:
        """The element at `point`; with `otherwise`, that number where the point lies outside."""
        value = self._read(tensor, point, otherwise)
        return self.builder.add(arith.ExtFOp(value, f32)).result if self._widen and is_half(value.type) else value

    def _read(self, tensor: Tensor, point: Sequence[AffineExpr], otherwise: float | int | None) -> SSAValue:
        if isinstance(tensor, Scalar):
            with self.builder.located(tensor.location):
                return self.constant(tensor.value.reshape(-1)[0].item(), te.stored_type(tensor.element))
        stored = te.stored_type(element_of(tensor))
        default = None if otherwise is None else number(otherwise, stored)
        return self.builder.add(te.ReadOp.make(tensor, *self._access(point), default)).result

    def read_broadcast(self, tensor: Tensor, point: Sequence[AffineExpr]) -> SSAValue:
        """The element of a tensor that broadcasts, numpy's way, to a tensor indexed by `point`."""
        extents = shape(tensor)
        tail = point[len(point) - len(extents) :]
        zero = AffineConstantExpr(0)
        return self.read(tensor, [zero if e == 1 else p for e, p in zip(extents, tail, strict=True)])

    def index(self, expr: AffineExpr) -> SSAValue:
        """An affine function of the axes as an `index` number."""
        return self.builder.add(te.IndexOp.make(*self._access([expr]))).result

    def computed(self, value: SSAValue) -> AffineExpr:
        """A computed integer as an index."""
        if value.type != INDEX:
            value = self.builder.add(arith.IndexCastOp(value, INDEX)).result
        self._values.append(value)
        return AffineDimExpr(len(self._values) - 1)

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        kind = arith.CmpiOp if isinstance(left.type, IntegerType | IndexType) else arith.CmpfOp
        return self.builder.add(kind(left, right, predicate)).result

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.builder.add(arith.SelectOp(condition, then, otherwise)).result


class TeBuilder:
    """Appends computes to a te.func; labels are made distinct."""

    def __init__(self, func: te.FuncOp):
        self.func = func
        self.builder = LocatedBuilder(func.block, func.location)
        self._labels: dict[str, int] = {}

    def _label(self, label: str) -> str:
        count = self._labels.get(label, 0)
        self._labels[label] = count + 1
        return f"{label}_{count}" if count else label

    def compute(
        self,
        label: str,
        extents: Sequence[int],
        element: Attribute,
        body: Callable[[Body], SSAValue],
        *,
        reduce: Sequence[int] = (),
        reducer: str | None = None,
        names: Sequence[str] = (),
        tag: str | None = None,
        keep: bool = False,
        narrow: bool = True,
    ) -> SSAValue:
        """A new stage whose element is what `body` returns.

        reduce, reducer: extents of the reduce axes and how their terms combine; no axes, no reduction.
        tag: what a schedule looks for ("conv2d_NCHWc"); keep: the stage has a buffer even if it could be inlined.
        Half precision is reduced in float32, and rounded in a stage of its own unless `narrow` is off.
        """
        reducing = reducer if reduce else None
        wide = reducing is not None and is_half(element)
        stored = f32 if wide else element
        op = te.ComputeOp.make(
            self._label(label), extents, stored, reduce_extents=reduce, reducer=reducing, names=names
        )
        if tag is not None:
            op.attributes[tag] = UnitAttr()
        if keep:
            op.attributes["keep"] = UnitAttr()
        with self.builder.at(op.block):
            self.builder.add(te.YieldOp(body(Body(op, self.builder, widen=wide))))
        result = self.builder.add(op).result
        if not (wide and narrow):
            return result
        rounded = cast(AnyFloat, element)
        return self.compute(
            label, extents, element, lambda b: b.add(arith.TruncFOp(b.read(result, b.axes), rounded)).result
        )


def flat_index(point: Sequence[AffineExpr], extents: Sequence[int]) -> AffineExpr:
    """The row-major position of `point` in a tensor of `extents`."""
    position: AffineExpr = AffineConstantExpr(0)
    for expr, extent in zip(point, extents, strict=True):
        position = position * extent + expr
    return position


def unflatten(position: AffineExpr, extents: Sequence[int]) -> list[AffineExpr]:
    """The point of a row-major position."""
    point: list[AffineExpr] = []
    stride = int(np.prod(extents, dtype=np.int64))
    for axis, extent in enumerate(extents):
        stride //= max(1, extent)
        expr = position // stride if stride > 1 else position
        point.append(expr % extent if axis else expr)
    return point
