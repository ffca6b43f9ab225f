"""Terms of a sum that are products with the zeros around an image: where they are, so that loops need not add them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from xdsl.dialects.arith import MulfOp
from xdsl.dialects.builtin import AnyFloat, FloatAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import linear, substitute
from ...dialects.sizes.types import extents_of
from ...dialects.tir import UNBOUNDED
from .bodies import room

SKIP = "pragma_skip_padding"
"""The hint of a reduction's loop whose passes are left out where all their terms are products with padding."""


def inside(
    compute: te.ComputeOp, axis: SSAValue, least: Mapping[SSAValue, AffineExpr], most: Mapping[SSAValue, AffineExpr]
) -> Iterator[AffineExpr]:
    """Expressions one of which is negative where all terms of a sum's pass are products with zeros of padding.

    axis: the argument of the compute for the loop; least, most: the smallest and the largest value of each argument.
    A term that is left out is 0, unless the other factor is infinite.
    """
    for read in compute.reads:
        padded = read.tensor.owner
        if axis not in read.indices or not isinstance(padded, te.ComputeOp) or not _is_factor(compute, read):
            continue
        if (image := _image_of(padded)) is None:
            continue
        ends = [substitute_all(read, values) for values in (least, most)]
        used = [expr.used_dims() for expr in read.map.data.results]
        for dim, (source, extent) in enumerate(zip(image.map.data.results, _extents(image), strict=True)):
            if read.indices.index(axis) not in used[dim] or not _grows(read.map.data.results[dim]):
                continue
            # A padded image has its own axes in their order, some moved by a number.
            first, last = (substitute(source, end) for end in ends)
            yield last
            yield room(first, extent)


def substitute_all(read: te.ReadOp, values: Mapping[SSAValue, AffineExpr]) -> list[AffineExpr]:
    """The point of a read where the arguments of its compute have some values."""
    dims = [values[index] for index in read.indices]
    return [substitute(expr, dims) for expr in read.map.data.results]


def _extents(read: te.ReadOp) -> tuple[int, ...]:
    return cast("tuple[int, ...]", extents_of(cast(TensorType[Attribute], read.tensor.type)))


def _is_factor(compute: te.ComputeOp, read: te.ReadOp) -> bool:
    """Return whether a compute sums products of floats of which a read is one factor."""
    if compute.reducer is None or compute.reducer.data != "sum" or compute.combiner is not None:
        return False
    (term,) = compute.yields
    return isinstance(term.owner, MulfOp) and read.result in term.owner.operands


def _image_of(padded: te.ComputeOp) -> te.ReadOp | None:
    """The tensor that a stage reads and that has the same elements at other places, and zeros around them."""
    if padded.reducer is not None or len(padded.reads) != 1 or len(padded.yields) != 1:
        return None
    (read,) = padded.reads
    zero = read.otherwise
    if (
        padded.yields[0] is not read.result
        or not isinstance(zero, FloatAttr)
        or cast(FloatAttr[AnyFloat], zero).value.data
    ):
        return None
    rank = len(padded.block.args)
    moved = list(read.indices) == list(padded.block.args) and len(read.map.data.results) == rank
    forms = [linear(expr, (UNBOUNDED,) * rank) for expr in read.map.data.results]
    return read if moved and all(form.terms == ((AffineDimExpr(dim), 1),) for dim, form in enumerate(forms)) else None


def _grows(expr: AffineExpr) -> bool:
    """Return whether an expression is smallest where all its dims are."""
    form = linear(expr, (UNBOUNDED,) * (max(expr.used_dims(), default=-1) + 1))
    return all(isinstance(atom, AffineDimExpr) and isinstance(c, int) and c > 0 for atom, c in form.terms)
