"""Borders around tensors, of which widths below 0 are cut off; and pixels that move between an image's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...dialects.relay.rearrange import BatchToSpaceNdOp, DepthToSpaceOp, MirrorPadOp, SpaceToBatchNdOp, SpaceToDepthOp
from ...dialects.relay.transform import StridedSliceOp
from ...dialects.sizes import Size, SizeExpr, decide, proves, size_max, size_min
from ..importing.edges import Widths, grown, none_of, padded_then_cut
from ..importing.terms import Term


def padded(x: Term, widths: Widths, value: Term | float = 0.0, mode: str = "constant") -> Term:
    """A tensor in a border of a value, or in the modes `edge`, `reflect` and `wrap` of its own elements.

    What is cut off is cut off first, so that no border repeats it.
    """
    if all(proves(width, ">=", 0) for pair in widths for width in pair):
        return grown(x, widths, value, mode)
    for extent, pair in zip(cast("Sequence[Size]", x.shape), widths, strict=True):
        cut = any(decide(0, "<=", width) is not True for width in pair)
        if cut and any(isinstance(size, SizeExpr) for size in (extent, *pair)):
            return padded_then_cut(x, widths, value, mode)
    begin = [cast("int", size_max(-before, 0)) for before, _ in widths]
    end = [cast("int", extent + size_min(after, 0)) for extent, (_, after) in zip(x.shape, widths, strict=True)]
    if any(proves(first, ">", last) for first, last in zip(begin, end, strict=True)):
        x.ctx.fail("pads that leave something", f"{list(widths)} of {list(x.shape)}")
    kept = x.apply(StridedSliceOp, begin=begin, end=end, strides=[1] * len(begin))
    added = [(size_max(before, 0), size_max(after, 0)) for before, after in widths]
    return kept if none_of(added) else grown(kept, added, value, mode)


def fitted(x: Term, axis: int, length: int) -> Term:
    """The first elements along an axis, or all with zeros behind them."""
    missing = length - x.shape[axis]
    if proves(missing, "==", 0):
        return x
    return padded(x, [(0, missing if at == axis else 0) for at in range(len(x.shape))])


def bordered(x: Term, widths: Widths, value: Term | float = 0.0, mode: str = "constant") -> Term:
    """`padded` by widths that may not be below 0; also in the modes `mirror`, which no border is wider than, and
    `symmetric`, which repeats the edge."""
    if len(widths) != len(x.shape) or any(proves(width, "<", 0) for pair in widths for width in pair):
        x.ctx.fail(f"pad widths of shape [{len(x.shape)}, 2], none negative", str([list(pair) for pair in widths]))
    if mode in ("constant", "edge", "reflect", "wrap"):
        return padded(x, widths, value, mode)
    flat = cast("list[int]", [width for pair in widths for width in pair])
    return x.apply(MirrorPadOp, mode="SYMMETRIC" if mode == "symmetric" else "REFLECT", pad_width=flat)


def space_to_depth(x: Term, block: int, layout: str = "NCHW") -> Term:
    """The pixels of each block as channels: (row in the block, column, channel)."""
    for axis, letter in enumerate(layout):
        if letter in "HW" and block > 0 and len(x.shape) == 4 and decide(x.shape[axis] % block, "==", 0) is None:
            # Whole blocks as far as they go: to the end, as every call is checked.
            x.ctx.require_multiple(x.shape[axis], block, f"whole blocks of {block} x {block}")
            end = x.shape[axis] // block * block
            x = x.apply(StridedSliceOp, begin=(0,), end=(end,), strides=(1,), axes=(axis,))
    return x.apply(SpaceToDepthOp, block_size=block, layout=layout)


def depth_to_space(x: Term, block: int, layout: str = "NCHW", mode: str = "DCR") -> Term:
    """Channels as the pixels of blocks: (row in the block, column, channel), in mode `CRD` (channel, row, column)."""
    return x.apply(DepthToSpaceOp, block_size=block, layout=layout, mode=mode)


def space_to_batch(x: Term, block: Sequence[int], widths: Sequence[tuple[int, int]], value: float = 0.0) -> Term:
    """The places in a block of the axes behind the batch as further images, of a tensor in a border of a value."""
    return x.apply(SpaceToBatchNdOp, block_shape=block, paddings=_blocked(x, block, widths), pad_value=value)


def batch_to_space(x: Term, block: Sequence[int], crops: Sequence[tuple[int, int]]) -> Term:
    """`space_to_batch` back, without what is cut off at the ends."""
    return x.apply(BatchToSpaceNdOp, block_shape=block, crops=_blocked(x, block, crops))


def _blocked(x: Term, block: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    if len(pairs) != len(block) or min(block, default=1) < 1:
        x.ctx.fail("block sizes, and a pair of widths for each", f"{list(block)} and {len(pairs)} pairs")
    return [width for pair in pairs for width in pair]
