"""Computes made of calls of a tensor intrinsic: `te.compute((64, 16), lambda i: vadd(A[i, 0:16], B[i, 0:16]))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...support.dtypes import fail
from .expr import (
    Axis,
    Const,
    Expr,
    ExprLike,
    Extent,
    Read,
    Var,
    convert,
)
from .reductions import Reduce
from .tensor import ComputeOp, InnerCompute, Tensor, TensorSlice, tensor_of
from .walks import rebuilt, substitution


class Intrinsic(Protocol):
    """An intrinsic that replaces a compute's inner axes."""

    @property
    def name(self) -> str:
        """The name for errors."""
        ...


@dataclass(frozen=True, eq=False)
class IntrinCall(InnerCompute):
    """An intrinsic on regions of tensors, as what a compute computes at its outer axes."""

    intrin: Intrinsic
    pattern: ComputeOp
    """The compute that the intrinsic does."""
    slices: tuple[TensorSlice | Tensor, ...]
    reduce_axes: tuple[Axis, ...]

    def operation(
        self, name: str, outer: Sequence[Axis], extents: Sequence[Extent], tag: str, attrs: dict[str, Any]
    ) -> TensorComputeOp:
        return _tensor_compute(name, outer, extents, self, tag, attrs)


class TensorComputeOp(ComputeOp):
    """A compute whose inner axes are those of an intrinsic; primitives cannot change these axes."""

    def __init__(
        self,
        name: str,
        axes: Sequence[Axis],
        body: Expr,
        tag: str,
        attrs: dict[str, Any],
        intrin: Intrinsic,
        outer: int,
    ):
        super().__init__(name, axes, [body], tag, attrs)
        self.intrin = intrin
        self.schedulable_ndim = outer
        """The axes, from the first on, that are outside of the intrinsic."""


def _tensor_compute(
    name: str, outer: Sequence[Axis], extents: Sequence[Extent], call: IntrinCall, tag: str, attrs: dict[str, Any]
) -> TensorComputeOp:
    """The compute whose last dimensions, of `extents`, are those of an intrinsic.

    Raises ScheduleError when the intrinsic computes another shape, or a region is not what it takes.
    """
    pattern, stage = call.pattern, f"stage '{name}'"
    inner = [Axis(f"ax{i}", extent) for i, extent in enumerate(extents)]
    wanted = [axis.extent for axis in pattern.axis]
    skipped = len(wanted) - len(inner)
    if skipped < 0 or any(e != 1 for e in wanted[:skipped]) or not _same(wanted[skipped:], list(extents)):
        fail(f"te.compute: expected {wanted} as what '{call.intrin.name}' computes, got {list(extents)} ({stage})")
    tensors = pattern.input_tensors
    if len(call.slices) != len(tensors):
        fail(f"te.compute: expected {len(tensors)} regions for '{call.intrin.name}', got {len(call.slices)} ({stage})")
    whole = pattern.body[0]
    if call.reduce_axes and not isinstance(whole, Reduce):
        fail(f"te.compute: expected an intrinsic that reduces beside reduce_axis, got '{call.intrin.name}' ({stage})")
    zero = Const(0, "int32")
    points: dict[Axis, Expr] = dict(zip(pattern.axis, [zero] * skipped + inner, strict=True))
    terms = {axis: Axis(axis.name, axis.extent, start=axis.start, reduce=True) for axis in pattern.reduce_axis}
    points |= terms
    regions = {
        tensor: _Region(tensor, region, f"'{call.intrin.name}', {stage}")
        for tensor, region in zip(tensors, call.slices, strict=True)
    }

    def change(expr: Expr) -> Expr | None:
        if isinstance(expr, Axis):
            return points[expr]
        if isinstance(expr, Read):
            return regions[tensor_of(expr)].read([rebuilt(index, change) for index in expr.indices])
        return None

    if isinstance(whole, Reduce):
        body: Expr = replace(
            whole,
            values=tuple(rebuilt(value, change) for value in whole.values),
            axes=(*call.reduce_axes, *terms.values()),
            condition=None if whole.condition is None else rebuilt(whole.condition, change),
        )
    else:
        body = rebuilt(whole, change)
    return TensorComputeOp(
        name=name, axes=[*outer, *inner], body=body, tag=tag, attrs=attrs, intrin=call.intrin, outer=len(outer)
    )


def _same(wanted: Sequence[Extent], actual: Sequence[Extent]) -> bool:
    """Return whether sizes agree as far as they are numbers."""
    pairs = zip(wanted, actual, strict=False)
    return len(wanted) == len(actual) and all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


class _Region:
    """The part of a tensor that an input of an intrinsic is: each of its dimensions is one of the tensor's."""

    def __init__(self, wanted: Tensor, actual: TensorSlice | Tensor, where: str):
        self.tensor = actual if isinstance(actual, Tensor) else actual.tensor
        indices: list[ExprLike | slice] = [] if isinstance(actual, Tensor) else list(actual.indices)
        indices += [slice(None)] * (self.tensor.ndim - len(indices))
        if len(indices) != self.tensor.ndim:
            fail(
                f"te.compute: expected {self.tensor.ndim} indices of '{self.tensor.name}', got {len(indices)} ({where})"
            )
        self.starts: list[Expr] = []
        extents: list[Extent] = []
        for index, size in zip(indices, self.tensor.shape, strict=True):
            start, extent = _range(index, size, where)
            self.starts.append(start)
            extents.append(extent)
        ranges = [i for i, index in enumerate(indices) if isinstance(index, slice)]
        rank = wanted.ndim
        self.dims = ranges if len(ranges) == rank else list(range(max(0, len(extents) - rank), len(extents)))
        outside = [extents[i] for i in range(len(extents)) if i not in self.dims]
        if any(e != 1 for e in outside) or not _same(wanted.shape, [extents[i] for i in self.dims]):
            shape = list(wanted.shape)
            fail(f"te.compute: expected a region {shape} of '{self.tensor.name}', got {extents} ({where})")
        if self.tensor.dtype != wanted.dtype:
            fail(f"te.compute: expected a tensor of {wanted.dtype}, got {self.tensor.dtype} ({where})")

    def read(self, indices: Sequence[Expr]) -> Expr:
        """An element of the region."""
        point = list(self.starts)
        for dim, index in zip(self.dims, indices, strict=True):
            point[dim] = point[dim] + index
        return self.tensor(*point)


def _range(index: ExprLike | slice, size: Extent, where: str) -> tuple[Expr, Extent]:
    """Start and extent of an index."""
    if not isinstance(index, slice):
        return convert(index), 1
    if index.step is not None:
        fail(f"te.compute: expected ranges without steps, got {index} ({where})")
    start = 0 if index.start is None else index.start
    stop = size if index.stop is None else index.stop
    return convert(start), stop - start


def with_numbers(op: ComputeOp, numbers: Mapping[Var, Const]) -> ComputeOp:
    """A compute with numbers for some of its variables."""
    change = substitution(numbers)

    def inside(expr: Expr) -> Expr:
        if not isinstance(expr, Reduce):
            return rebuilt(expr, change)
        condition = None if expr.condition is None else rebuilt(expr.condition, change)
        return replace(expr, values=tuple(rebuilt(value, change) for value in expr.values), condition=condition)

    compute = ComputeOp(op.name, op.axis, [inside(expr) for expr in op.body], op.tag, op.attrs)
    compute.location = op.location
    return compute
