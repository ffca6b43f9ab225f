"""Computes of the operators that repeat, reverse, stack and cut tensors, and move blocks between axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ... import te
from ...dialects.relay import rearrange as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import product, same
from ...te import Expr, Tensor
from .stages import broadcast, compute, label, shape
from .transform import flat_index, reshape, unflatten

_Point = Callable[..., Sequence[Expr | int]]


def _moved(op: Operator, x: Tensor, point: _Point) -> Tensor:
    """The elements of `x` at the `point` of each one of the result."""
    return compute(shape_of(op.results[0]), lambda *i: x(*point(*i)), label(op))


def tile(op: Operator, x: Tensor) -> Tensor:
    """Rows that are repeated as a whole: an axis that is not repeated is part of one that is, before it."""
    result_extents = shape_of(op.results[0])
    extents = (*[1] * (len(result_extents) - len(shape(x))), *shape(x))
    groups: list[list[int]] = []
    for axis, (extent, times) in enumerate(zip(extents, result_extents, strict=True)):
        if groups and same(extent, times):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    rows, results = (
        [cast(int, product(each[axis] for axis in group)) for group in groups] for each in (extents, result_extents)
    )

    def element(*i: Expr) -> Expr:
        inside = [at if same(n, times) else at % n for at, n, times in zip(i, rows, results, strict=True)]
        point = [
            index
            for group, at in zip(groups, inside, strict=True)
            for index in unflatten(at, [extents[axis] for axis in group])
        ]
        return x(*point[len(result_extents) - len(shape(x)) :])

    repeated = compute(results, element, label(op))
    if len(groups) == len(result_extents):
        return repeated

    def part(*i: Expr) -> Expr:
        return repeated(
            *(flat_index([i[axis] for axis in group], [result_extents[axis] for axis in group]) for group in groups)
        )

    return compute(result_extents, part, f"{label(op)}_whole")


def repeat(op: Operator, x: Tensor) -> Tensor:
    axis, repeats = op.signature.int("axis") % len(shape(x)), op.signature.int("repeats")
    return _moved(op, x, lambda *i: (*i[:axis], i[axis] // repeats, *i[axis + 1 :]))


def reverse(op: Operator, x: Tensor) -> Tensor:
    axes, extents = relay.ReverseOp.axes(op.signature), shape(x)
    return _moved(op, x, lambda *i: [extents[at] - 1 - index if at in axes else index for at, index in enumerate(i)])


def stack(op: Operator, parts: Sequence[Tensor]) -> Tensor:
    axis = op.signature.int("axis") % len(shape_of(op.results[0]))

    def element(*i: Expr) -> Expr:
        point = (*i[:axis], *i[axis + 1 :])
        value = parts[0](*point)
        for number, part in enumerate(parts[1:], 1):
            value = te.select(i[axis] < number, value, part(*point))
        return value

    return compute(shape_of(op.results[0]), element, label(op))


def split(op: Operator, x: Tensor) -> tuple[Tensor, ...]:
    axis = op.signature.int("axis") % len(shape(x))

    def part(number: int, start: int) -> Tensor:
        def element(*i: Expr) -> Expr:
            return x(*i[:axis], i[axis] + start, *i[axis + 1 :])

        return compute(shape_of(op.results[number]), element, f"{label(op)}_{number}")

    return tuple(part(number, begin) for number, (begin, _) in enumerate(relay.SplitOp.bounds(op.signature)))


def meshgrid(op: Operator, vectors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    def grid(number: int, vector: Tensor) -> Tensor:
        axis = relay.MeshgridOp.along(op.signature, number)
        name = f"{label(op)}_{number}"
        return compute(shape_of(op.results[0]), lambda *i: vector(*(i[axis],) * len(shape(vector))), name)

    return tuple(grid(number, vector) for number, vector in enumerate(vectors))


def mirror_pad(op: Operator, x: Tensor) -> Tensor:
    edge = int(op.signature.str("mode") == "SYMMETRIC")
    widths = relay.MirrorPadOp.pairs(op.signature)

    def mirrored(index: Expr, extent: int, width: tuple[int, int]) -> Expr:
        at = index - width[0]
        before = te.select(at < 0, at * -1 - edge, at) if width[0] else at
        return te.select(before >= extent, 2 * extent - 2 + edge - before, before) if width[1] else before

    return _moved(op, x, lambda *i: [mirrored(*along) for along in zip(i, shape(x), widths, strict=True)])


def slice_like(op: Operator, x: Tensor, like: Tensor) -> Tensor:
    return _moved(op, x, lambda *i: i)


def reshape_like(op: Operator, x: Tensor, like: Tensor) -> Tensor:
    return reshape(op, x)


def broadcast_to_like(op: Operator, x: Tensor, like: Tensor) -> Tensor:
    return compute(shape(like), lambda *i: broadcast(x, i), label(op))


def _in_layout(op: Operator, i: Sequence[Expr]) -> tuple[Expr, Expr, Expr, Expr]:
    n, *rest = i
    c, y, x = rest if op.signature.str("layout") == "NCHW" else (rest[2], *rest[:2])
    return n, c, y, x


def space_to_depth(op: Operator, data: Tensor) -> Tensor:
    sig = op.signature
    block, channels = sig.int("block_size"), relay.Blocks.image(sig)[1]

    def point(*i: Expr) -> Sequence[Expr | int]:
        n, c, y, x = _in_layout(op, i)
        row, column, channel = unflatten(c, (block, block, channels))
        return _placed(op, (n, channel, y * block + row, x * block + column))

    return _moved(op, data, point)


def _placed(op: Operator, point: Sequence[Expr | int]) -> Sequence[Expr | int]:
    n, c, y, x = point
    return (n, c, y, x) if op.signature.str("layout") == "NCHW" else (n, y, x, c)


def depth_to_space(op: Operator, data: Tensor) -> Tensor:
    sig = op.signature
    block, channels = sig.int("block_size"), relay.Blocks.image(sig)[1]
    rest = channels // block**2

    def point(*i: Expr) -> Sequence[Expr | int]:
        n, c, y, x = _in_layout(op, i)
        row, column = y % block, x % block
        if sig.str("mode") == "DCR":
            channel = flat_index((row, column, c), (block, block, rest))
        else:
            channel = flat_index((c, row, column), (rest, block, block))
        return _placed(op, (n, channel, y // block, x // block))

    return _moved(op, data, point)


def space_to_batch_nd(op: Operator, x: Tensor) -> Tensor:
    sig = op.signature
    blocks, batch, count = sig.ints("block_shape"), shape(x)[0], len(sig.ints("block_shape"))
    before = [a for a, _ in relay.Batches.pairs(sig, "paddings")]

    def element(*i: Expr) -> Expr:
        *within, n = unflatten(i[0], (*blocks, batch))
        axes = zip(i[1 : 1 + count], blocks, within, before, strict=True)
        point = [index * block + inner - skipped for index, block, inner, skipped in axes]
        return x(n, *point, *i[1 + count :], otherwise=sig.get("pad_value"))

    return compute(shape_of(op.results[0]), element, label(op))


def batch_to_space_nd(op: Operator, x: Tensor) -> Tensor:
    sig = op.signature
    blocks, count = sig.ints("block_shape"), len(sig.ints("block_shape"))
    before = [a for a, _ in relay.Batches.pairs(sig, "crops")]
    batch = shape_of(op.results[0])[0]

    def point(*i: Expr) -> Sequence[Expr | int]:
        positions = [index + skipped for index, skipped in zip(i[1 : 1 + count], before, strict=True)]
        inner = [index % block for index, block in zip(positions, blocks, strict=True)]
        outer = [index // block for index, block in zip(positions, blocks, strict=True)]
        return (flat_index((*inner, i[0]), (*blocks, batch)), *outer, *i[1 + count :])

    return _moved(op, x, point)


TABLE = {
    relay.TileOp: tile,
    relay.RepeatOp: repeat,
    relay.ReverseOp: reverse,
    relay.StackOp: stack,
    relay.SplitOp: split,
    relay.MeshgridOp: meshgrid,
    relay.MirrorPadOp: mirror_pad,
    relay.SliceLikeOp: slice_like,
    relay.ReshapeLikeOp: reshape_like,
    relay.BroadcastToLikeOp: broadcast_to_like,
    relay.SpaceToDepthOp: space_to_depth,
    relay.DepthToSpaceOp: depth_to_space,
    relay.SpaceToBatchNdOp: space_to_batch_nd,
    relay.BatchToSpaceNdOp: batch_to_space_nd,
}
