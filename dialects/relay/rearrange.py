"""Operators that repeat, reverse, stack and cut tensors, and move blocks between axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

from ..sizes.types import tensor_of
from .attributes import boolean, integer, optional_ints, real, required_ints, string
from .elementwise import broadcast_shape
from .layout_traits import OF_IMAGE, ON_AXIS, OwnLayouts
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor, element_of
from .signature import is_tensor_of
from .traits import BROADCAST, INJECTIVE, OPAQUE, Selects
from .transform import Injective


@irdl_op_definition
class TileOp(Injective):
    """The tensor `reps[i]` times along each axis; the shorter of shape and `reps` gets ones in front."""

    name = "relay.tile"
    traits = traits_def(Selects())
    reps = required_ints()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, reps = sig.shape(0), sig.ints("reps")
        if any(r < 0 for r in reps):
            sig.fail("reps of at least 0", str(list(reps)))
        rank = max(len(old), len(reps))
        pairs = zip((1,) * (rank - len(old)) + old, (1,) * (rank - len(reps)) + reps, strict=True)
        return [extent * r for extent, r in pairs]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.tile(x, sig.ints("reps"))


@irdl_op_definition
class RepeatOp(Injective):
    """Each element `repeats` times in a row along `axis`."""

    name = "relay.repeat"
    traits = traits_def(Selects())
    repeats = integer(1)
    axis = integer(0)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        shape = list(sig.shape(0))
        if sig.int("repeats") < 1:
            sig.fail("repeats of at least 1", str(sig.int("repeats")))
        shape[sig.axis(sig.int("axis"), len(shape))] *= sig.int("repeats")
        return shape

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.repeat(x, sig.int("repeats"), sig.int("axis"))


@irdl_op_definition
class ReverseOp(Injective):
    """In reverse order along the axes in `axis`."""

    name = "relay.reverse"
    traits = traits_def(Selects())
    axis = required_ints()

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, ...]:
        """The axes, non-negative."""
        return tuple(sig.axis(axis, len(sig.shape(0))) for axis in sig.ints("axis"))

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        cls.axes(sig)
        return sig.shape(0)

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.flip(x, ReverseOp.axes(sig))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return all(sig.shape(0)[axis] < 2 for axis in cls.axes(sig))


@irdl_op_definition
class StackOp(Operator):
    """The operands, one after the other, along a new axis."""

    name = "relay.stack"
    data = var_operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(0)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if not sig.types or not all(is_tensor_of(type_, element_of(sig.types[0]), sig.shape(0)) for type_ in sig.types):
            sig.fail("operands of one type", ", ".join(map(str, sig.types)) or "none")
        shape = list(sig.shape(0))
        shape.insert(sig.axis(sig.int("axis"), len(shape) + 1), len(sig.types))
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, parts: Sequence[AnyArray]) -> AnyArray:
        return np.stack(parts, sig.int("axis"))


@irdl_op_definition
class SplitOp(Operator):
    """Parts along `axis`: `indices_or_sections` is one number of equal parts, or where the next parts begin."""

    name = "relay.split"
    data = operand_def(TensorType)
    parts = var_result_def(TensorType)
    indices_or_sections = required_ints()
    sections = boolean(False)
    """True if the one number is that of equal parts."""
    axis = integer(0)
    traits = traits_def(OPAQUE, ON_AXIS)

    @classmethod
    def bounds(cls, sig: Signature) -> list[tuple[int, int]]:
        """The begin and end of each part along the axis."""
        extent = sig.shape(0)[sig.axis(sig.int("axis"), len(sig.shape(0)))]
        sections = sig.ints("indices_or_sections")
        if sig.get("sections"):
            if len(sections) != 1 or sections[0] < 1:
                sig.fail(f"a number of equal parts of {extent}", str(list(sections)))
            sig.require_equal(extent % sections[0], 0, f"a number of equal parts of {extent}", str(list(sections)))
            cuts = [extent // sections[0] * i for i in range(sections[0] + 1)]
        else:
            cuts = [0, *sections, extent]
        for begin, end in pairwise(cuts):
            sig.require(end - begin, f"ascending indices up to {extent}", str(list(sections)))
        return list(pairwise(cuts))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        old = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(old))
        element = sig.types[0].element_type
        return [tensor_of(element, (*old[:axis], end - begin, *old[axis + 1 :])) for begin, end in cls.bounds(sig)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> tuple[AnyArray, ...]:
        return tuple(x.take(range(*part), sig.int("axis")) for part in SplitOp.bounds(sig))


@irdl_op_definition
class MeshgridOp(Operator):
    """Coordinates of a grid, of vectors along its axes; with `indexing` "xy" the first two axes change places."""

    name = "relay.meshgrid"
    data = var_operand_def(TensorType)
    grids = var_result_def(TensorType)
    indexing = string("ij")
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.str("indexing") not in ("ij", "xy"):
            sig.fail("indexing ij or xy", repr(sig.str("indexing")))
        element = sig.same_element()
        extents = [prod(sig.rank(at, 0, 1)) for at in range(len(sig.types))]
        if sig.str("indexing") == "xy":
            extents[:2] = reversed(extents[:2])
        return [tensor_of(element, extents)] * len(extents)

    @classmethod
    def along(cls, sig: Signature, at: int) -> int:
        """The axis of the grid that vector `at` lies along."""
        return 1 - at if sig.str("indexing") == "xy" and at < 2 <= len(sig.types) else at

    @classmethod
    def evaluate(cls, sig: Signature, vectors: Sequence[AnyArray]) -> tuple[AnyArray, ...]:
        return tuple(np.meshgrid(*vectors, indexing="xy" if sig.str("indexing") == "xy" else "ij"))


class Like(Operator):
    """The shape of the second operand decides that of the result."""

    data = operand_def(TensorType)
    shape_like = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)


@irdl_op_definition
class SliceLikeOp(Like):
    """The first elements along `axes` (all without it), as many as the second operand has."""

    name = "relay.slice_like"
    axes = optional_ints()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        old, like = list(sig.shape(0)), sig.shape(1)
        axes = sig.get("axes") or range(len(old))
        for number in axes:
            axis = sig.axis(number, len(old), "axes")
            if axis >= len(like) or like[axis] > old[axis]:
                sig.fail(f"a tensor to slice {sig.types[0]} like", str(sig.types[1]))
            old[axis] = like[axis]
        return [tensor_of(sig.types[0].element_type, old)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, like: AnyArray) -> AnyArray:
        return x[tuple(slice(n) for n in cls.infer(sig)[0].get_shape())]


@irdl_op_definition
class ReshapeLikeOp(Like):
    """The dimensions `lhs_begin` to `lhs_end` replaced by `rhs_begin` to `rhs_end` of the second operand; 0 for all."""

    name = "relay.reshape_like"
    lhs_begin = integer(0)
    lhs_end = integer(0)
    rhs_begin = integer(0)
    rhs_end = integer(0)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        old, like = sig.shape(0), sig.shape(1)
        cuts = [sig.int(name) for name in ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")]
        a, b, c, d = (
            cut + len(shape) if cut < 0 else cut for cut, shape in zip(cuts, (old, old, like, like), strict=True)
        )
        shape = (*old[:a], *like[c : d or len(like)], *old[b or len(old) :])
        if prod(shape) != prod(old):
            sig.fail(f"a shape of {prod(old)} elements", str(list(shape)))
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, like: AnyArray) -> AnyArray:
        return x.reshape(cls.infer(sig)[0].get_shape())


@irdl_op_definition
class BroadcastToLikeOp(Like):
    name = "relay.broadcast_to_like"
    traits = traits_def(BROADCAST)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if broadcast_shape(sig, sig.shape(0), sig.shape(1)) != sig.shape(1):
            sig.fail(f"a tensor that {sig.types[0]} broadcasts to", str(sig.types[1]))
        return [tensor_of(sig.types[0].element_type, sig.shape(1))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, like: AnyArray) -> AnyArray:
        return np.broadcast_to(x, like.shape)


@irdl_op_definition
class MirrorPadOp(Injective):
    """`pad_width`: before and after of each axis in turn; reflected at the edges, in mode "SYMMETRIC" edges too."""

    name = "relay.nn.mirror_pad"
    mode = string("SYMMETRIC")
    pad_width = required_ints()

    @classmethod
    def pairs(cls, sig: Signature) -> list[tuple[int, int]]:
        """Before and after of each axis."""
        width, old = sig.ints("pad_width"), sig.shape(0)
        pairs = list(zip(width[::2], width[1::2], strict=False))
        symmetric = sig.str("mode") == "SYMMETRIC"
        if sig.str("mode") not in ("SYMMETRIC", "REFLECT"):
            sig.fail("mode SYMMETRIC or REFLECT", repr(sig.str("mode")))
        fits = len(width) == 2 * len(old) and min(width, default=0) >= 0
        if not fits or any(max(pair) > extent - (not symmetric) for pair, extent in zip(pairs, old, strict=True)):
            sig.fail("widths of at most the extents", str(list(width)))
        return pairs

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        return [a + extent + b for (a, b), extent in zip(cls.pairs(sig), sig.shape(0), strict=True)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.pad(x, cls.pairs(sig), mode="symmetric" if sig.str("mode") == "SYMMETRIC" else "reflect")


class Blocks(Injective):
    """Between blocks of `block_size` x `block_size` pixels and channels, of images in `layout` NCHW or NHWC."""

    block_size = integer(1)
    layout = string("NCHW")
    traits = traits_def(OwnLayouts(among=("NCHW", "NHWC")), OF_IMAGE, Selects())

    @classmethod
    def image(cls, sig: Signature) -> tuple[int, int, int, int]:
        """Batch, channels, height and width of the operand."""
        if sig.str("layout") not in ("NCHW", "NHWC"):
            sig.fail("layout NCHW or NHWC", repr(sig.str("layout")))
        shape = sig.rank(0, 4)
        n, c, h, w = (shape[sig.str("layout").index(letter)] for letter in "NCHW")
        return n, c, h, w

    @classmethod
    def placed(cls, sig: Signature, n: int, c: int, h: int, w: int) -> tuple[int, ...]:
        """A shape in the layout."""
        return (n, c, h, w) if sig.str("layout") == "NCHW" else (n, h, w, c)


def _channels_first(sig: Signature, x: AnyArray) -> AnyArray:
    return x if sig.str("layout") == "NCHW" else x.transpose(0, 3, 1, 2)


def _placed(sig: Signature, x: AnyArray) -> AnyArray:
    return x if sig.str("layout") == "NCHW" else x.transpose(0, 2, 3, 1)


@irdl_op_definition
class SpaceToDepthOp(Blocks):
    name = "relay.nn.space_to_depth"

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        n, c, h, w = cls.image(sig)
        b = sig.int("block_size")
        if b < 1 or h % b or w % b:
            sig.fail(f"an image of whole blocks of {b} x {b}", str(sig.types[0]))
        return cls.placed(sig, n, c * b * b, h // b, w // b)

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        b, (n, c, h, w) = sig.int("block_size"), cls.image(sig)
        blocks = _channels_first(sig, x).reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
        return _placed(sig, blocks.reshape(n, c * b * b, h // b, w // b))


@irdl_op_definition
class DepthToSpaceOp(Blocks):
    """Mode "DCR": channel (row of the block, column, channel left); "CRD": (channel left, row, column)."""

    name = "relay.nn.depth_to_space"
    mode = string("DCR")

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        n, c, h, w = cls.image(sig)
        b = sig.int("block_size")
        if b < 1 or c % (b * b) or sig.str("mode") not in ("DCR", "CRD"):
            sig.fail(f"channels in multiples of {b} x {b}, mode DCR or CRD", f"{sig.types[0]}, {sig.str('mode')}")
        return cls.placed(sig, n, c // (b * b), h * b, w * b)

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        b, (n, c, h, w) = sig.int("block_size"), cls.image(sig)
        images, rest = _channels_first(sig, x), c // (b * b)
        if sig.str("mode") == "DCR":
            blocks = images.reshape(n, b, b, rest, h, w).transpose(0, 3, 4, 1, 5, 2)
        else:
            blocks = images.reshape(n, rest, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
        return _placed(sig, blocks.reshape(n, rest, h * b, w * b))


class Batches(Injective):
    """Between blocks of `block_shape` of the axes behind the batch, and the batch."""

    block_shape = required_ints()

    @classmethod
    def pairs(cls, sig: Signature, name: str) -> list[tuple[int, int]]:
        """An attribute of two ints for each blocked axis."""
        values, count = sig.ints(name), len(sig.ints("block_shape"))
        if len(values) != 2 * count or any(v < 0 for v in values) or count >= len(sig.shape(0)) or not count:
            sig.fail(f"{2 * count} {name} of at least 0, for axes behind the batch", str(list(values)))
        return list(zip(values[::2], values[1::2], strict=True))


@irdl_op_definition
class SpaceToBatchNdOp(Batches):
    """`paddings`: before and after of each blocked axis in turn, of `pad_value`."""

    name = "relay.nn.space_to_batch_nd"
    paddings = required_ints()
    pad_value = real(0.0)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, blocks = sig.shape(0), sig.ints("block_shape")
        padded = [e + a + b for e, (a, b) in zip(old[1:], cls.pairs(sig, "paddings"), strict=False)]
        if any(e % b for e, b in zip(padded, blocks, strict=True)):
            sig.fail(f"whole blocks of {list(blocks)}", str(padded))
        return (old[0] * prod(blocks), *(e // b for e, b in zip(padded, blocks, strict=True)), *old[1 + len(blocks) :])

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        blocks = sig.ints("block_shape")
        width = [(0, 0), *Batches.pairs(sig, "paddings"), *[(0, 0)] * (x.ndim - 1 - len(blocks))]
        padded = np.pad(x, width, constant_values=x.dtype.type(sig.get("pad_value")))
        split: list[Any] = [len(x)]
        for extent, block in zip(padded.shape[1:], blocks, strict=False):
            split += [extent // block, block]
        cells = padded.reshape(*split, *x.shape[1 + len(blocks) :])
        inner = [2 + 2 * i for i in range(len(blocks))]
        rest = [axis for axis in range(cells.ndim) if axis not in inner]
        return cells.transpose(*inner, *rest).reshape(tuple(SpaceToBatchNdOp.extents(sig)))


@irdl_op_definition
class BatchToSpaceNdOp(Batches):
    """`crops`: before and after of each blocked axis in turn, taken away at the end."""

    name = "relay.nn.batch_to_space_nd"
    crops = required_ints()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, blocks, crops = sig.shape(0), sig.ints("block_shape"), cls.pairs(sig, "crops")
        cropped = [e * b - x - y for e, b, (x, y) in zip(old[1 : 1 + len(blocks)], blocks, crops, strict=True)]
        if old[0] % prod(blocks) or min(cropped) < 0:
            sig.fail(f"a batch in multiples of {prod(blocks)}, crops that leave something", str(sig.types[0]))
        return (old[0] // prod(blocks), *cropped, *old[1 + len(blocks) :])

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        blocks, crops = sig.ints("block_shape"), Batches.pairs(sig, "crops")
        count, batch = len(blocks), len(x) // prod(sig.ints("block_shape"))
        cells = x.reshape(*blocks, batch, *x.shape[1:])
        order = [count]
        for i in range(count):
            order += [count + 1 + i, i]
        cells = cells.transpose(*order, *range(2 * count + 1, cells.ndim))
        merged = cells.reshape(
            batch, *(e * b for e, b in zip(x.shape[1:], blocks, strict=False)), *x.shape[1 + count :]
        )
        return merged[(slice(None), *(slice(a, n - b) for (a, b), n in zip(crops, merged.shape[1:], strict=False)))]
