"""Products of tensors over any of their axes, in the fastest form, and sums with what is beside them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.ir import Operation, SSAValue

from ...dialects.relay.core import ConstantOp
from ...dialects.relay.matmul import FEW_ROWS, BatchMatmulOp, BiasAddOp, DenseOp, MatmulOp
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import ExpandDimsOp, SqueezeOp, TransposeOp
from ...dialects.sizes import Size, broadcast_sizes, decide, proves, same, same_shape
from ..importing.terms import Term, axis_of
from .moves import swap_last

_NEAR = 16
"""The maximal number of operators between a weight and the constants that it is computed from."""


def is_constant(value: SSAValue) -> bool:
    """Return whether a value is computed from constants alone, a few operators away."""
    stack: list[SSAValue] = [value]
    for _ in range(_NEAR):
        if not stack:
            return True
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or not (owner.operands or isinstance(owner, ConstantOp)):
            return False
        stack.extend(owner.operands)
    return False


def scaled(x: Term, factor: Size | float) -> Term:
    return x if factor == 1.0 else x * x.number(factor)


def dense(x: Term, weight: Term, bias: Term | None = None, *, outputs_first: bool, bias_axis: int = 1) -> Term:
    """Multiply rows (.., k) by a 2-d weight, `(n, k)` if `outputs_first`, else `(k, n)`, and add the bias (n), if any.

    A constant weight is for nn.dense, transposed if necessary, which packs it at compile time; other weights are
    multiplied in the fastest form. bias_axis: the axis of columns, 1 or -1, as TVM writes it for a format.
    """
    *batch, depth = x.shape
    x.ctx.require_equal(depth, weight.shape[1 if outputs_first else 0])
    rows = x.reshape(prod(batch), depth)
    if is_constant(weight.value):
        result = rows.apply(DenseOp, weight if outputs_first else swap_last(weight))
    elif outputs_first and proves(rows.shape[0], "<=", FEW_ROWS):
        result = rows.apply(DenseOp, weight)
    else:
        result = rows.apply(MatmulOp, swap_last(weight) if outputs_first else weight)
    result = result if bias is None else result.apply(BiasAddOp, bias, axis=bias_axis)
    return result.reshape(*batch, result.shape[1])


def matrices(left: Term, right: Term) -> tuple[Term, Term, list[int]]:
    """Return operands of numpy's matmul with at least two dimensions, and the axes that their product has in excess."""
    ranks = len(left.shape), len(right.shape)
    if 0 in ranks:
        left.ctx.fail("operands of at least 1 dimension", f"shapes {list(left.shape)} and {list(right.shape)}")
    left = left.apply(ExpandDimsOp, axis=0) if ranks[0] == 1 else left
    right = right.apply(ExpandDimsOp, axis=1) if ranks[1] == 1 else right
    return left, right, [axis for axis, rank in ((-2, ranks[0]), (-1, ranks[1])) if rank == 1]


def matmul(left: Term, right: Term, transpose_left: bool = False, transpose_right: bool = False) -> Term:
    """Multiply as numpy's matmul does: by `dense` if the right operand is 2-d, else by nn.batch_matmul."""
    left, right, extra_axes = matrices(left, right)
    left, right = swap_last(left) if transpose_left else left, swap_last(right) if transpose_right else right
    result = dense(left, right, outputs_first=False) if len(right.shape) == 2 else batch_matmul(left, right)
    return result.apply(SqueezeOp, axis=extra_axes) if extra_axes else result


def batch_matmul(left: Term, right: Term) -> Term:
    """Multiply `(.., m, k)` and `(.., k, n)` by nn.batch_matmul, with flat batches unless one broadcasts in part."""
    (*left_batch, m, k), (*right_batch, _, n) = left.shape, right.shape
    common = broadcast_sizes(left_batch, right_batch)
    if common is None:
        left.ctx.fail("batch dimensions that broadcast", f"{left_batch} and {right_batch}")
    batch = cast("tuple[int, ...]", common)
    if all(same(prod(own), 1) or same_shape(own, batch) for own in (left_batch, right_batch)):
        a, b = left.reshape(prod(left_batch), m, k), right.reshape(prod(right_batch), *right.shape[-2:])
        return a.apply(BatchMatmulOp, b, transpose_b=False).reshape(*batch, m, n)
    a, b = (x.reshape(*(1,) * (3 - len(x.shape)), *x.shape) for x in (left, right))
    return a.apply(BatchMatmulOp, b, transpose_b=False)


def with_addend(total: Term, addend: Term, alpha: Size | float = 1.0, beta: Size | float = 1.0) -> Term:
    """alpha total + beta addend, by nn.bias_add where that is a vector of the columns of a matrix.

    With a beta of 0 nothing is added, whatever numbers the addend has.
    """
    total = scaled(total, alpha)
    if beta == 0:
        return total
    addend = scaled(addend, beta)
    return total.apply(BiasAddOp, addend) if same_shape(addend.shape, total.shape[1:]) else total + addend


def outer(a: Term, b: Term) -> Term:
    """The product of each element of one with each of the other: a matrix."""
    return a.reshape(prod(a.shape), 1) * b.reshape(1, prod(b.shape))


def vecdot(a: Term, b: Term, axis: int = -1) -> Term:
    """The sum of the products along an axis."""
    both = a * b
    return both.apply(SumOp, axis=(axis_of(both, axis),), keepdims=False)


def dot(a: Term, b: Term, axis: int = -2) -> Term:
    """The sums of products along the last axis of `a` and that axis of `b`, or its only one; of scalars the product."""
    if not a.shape or not b.shape:
        return a * b
    if len(b.shape) == 1 or (len(b.shape) == 2 and axis == -2):
        return matmul(a, b)
    return tensordot(a, b, [len(a.shape) - 1], [axis_of(b, axis)])


def tensordot(a: Term, b: Term, left: Sequence[int], right: Sequence[int]) -> Term:
    """The sums of products along axes of `a` and as many of `b`; the other axes of `a` come first."""
    return dot_general(a, b, ((), ()), (left, right))


def kron(a: Term, b: Term) -> Term:
    """Each element of one times all of the other, as blocks."""
    rank = max(len(a.shape), len(b.shape))
    a, b = (x.reshape(*(1,) * (rank - len(x.shape)), *x.shape) for x in (a, b))
    left = a.reshape(*(n for extent in a.shape for n in (extent, 1)))
    right = b.reshape(*(n for extent in b.shape for n in (1, extent)))
    return (left * right).reshape(*(m * n for m, n in zip(a.shape, b.shape, strict=True)))


# Products over any axes.

Pair = tuple[Sequence[int], Sequence[int]]
"""Axes of the left side, and those of the right side that they meet."""


def dot_general(a: Term, b: Term, batch: Pair, inner: Pair) -> Term:
    """The sums of products along `inner` for each index of `batch`, of which extents are equal on both sides.

    The axes of the batch come first, then the others of the left side, then those of the right.
    """
    for left, right in (*zip(*batch, strict=True), *zip(*inner, strict=True)):
        if decide(a.shape[left], "==", b.shape[right]) is False:
            a.ctx.fail("dimensions of one extent", f"{a.shape[left]} and {b.shape[right]}")
        a.ctx.require_equal(a.shape[left], b.shape[right])
    free = [
        [axis for axis in range(len(x.shape)) if axis not in batch[side] and axis not in inner[side]]
        for side, x in enumerate((a, b))
    ]
    groups = [a.shape[axis] for axis in batch[0]]
    rows, columns = ([x.shape[axis] for axis in axes] for x, axes in zip((a, b), free, strict=True))
    result = (*groups, *rows, *columns)
    depth, m, n = (prod(extents) for extents in ([a.shape[axis] for axis in inner[0]], rows, columns))
    if not inner[0]:
        # The product of each with each, where nothing is summed.
        x = ordered(a, (*batch[0], *free[0])).reshape(*groups, *rows, *[1] * len(columns))
        return x * ordered(b, (*batch[1], *free[1])).reshape(*groups, *[1] * len(rows), *columns)
    data = ordered(a, (*batch[0], *free[0], *inner[0]))
    if not groups or same(prod(groups), 1):
        first = bool(free[1]) and _outputs_first(b, batch[1], free[1], inner[1])
        weight = ordered(b, (*batch[1], *free[1], *inner[1]) if first else (*batch[1], *inner[1], *free[1]))
        weight = weight.reshape(*(n, depth) if first else (depth, n))
        return dense(data.reshape(m, depth), weight, outputs_first=first).reshape(*result)
    # Transposed is what a product may take as it is.
    by_rows = _in_order((*batch[1], *free[1], *inner[1])) and not is_constant(b.value)
    weight = b if by_rows else ordered(b, (*batch[1], *inner[1], *free[1]))
    weight = weight.reshape(prod(groups), *(n, depth) if by_rows else (depth, n))
    product = data.reshape(prod(groups), m, depth).apply(BatchMatmulOp, weight, transpose_b=by_rows)
    return product.reshape(*result)


def ordered(x: Term, axes: Sequence[int]) -> Term:
    """The axes in an order."""
    return x if _in_order(axes) else x.apply(TransposeOp, axes=axes)


def _in_order(axes: Sequence[int]) -> bool:
    return list(axes) == sorted(axes)


def _outputs_first(x: Term, batch: Sequence[int], free: Sequence[int], inner: Sequence[int]) -> bool:
    """Return whether a side stands as (.., outputs, depth) already."""
    return len(x.shape) > 1 and _in_order((*batch, *free, *inner)) and not _in_order((*batch, *inner, *free))
