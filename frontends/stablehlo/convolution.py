"""Convolutions whose axes stand in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.rearrange import ReverseOp
from ..importing.converter import Converter
from ..meanings import windows
from ..meanings.windows import Window, moved
from .context import Context
from .shaping import padded


def _labels(ctx: Context) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Those of the data, the kernel and the result, each of which must be a permutation."""
    stated = ctx.stated("dimension_numbers")
    labels = cast("tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]", stated)
    spatial = {str(axis) for axis in range(len(ctx.shape(0)) - 2)}
    expected = ({"b", "f"} | spatial, {"i", "o"} | spatial, {"b", "f"} | spatial)
    if (
        not isinstance(stated, tuple)
        or len(labels) != 3
        or any(set(own) != wanted or len(own) != len(wanted) for own, wanted in zip(labels, expected, strict=True))
    ):
        ctx.fail(f"dimension numbers of {len(ctx.shape(0))} axes", str(labels))
    return labels


def _convolution(ctx: Context) -> SSAValue:
    rank = len(ctx.shape(0)) - 2
    if rank not in windows.CONV or len(ctx.shape(1)) != rank + 2:
        ctx.fail("data and a kernel of 3 to 5 dimensions", f"shapes {list(ctx.shape(0))} and {list(ctx.shape(1))}")
    data_labels, kernel_labels, result_labels = _labels(ctx)
    strides, dilation, apart = (
        ctx.ints(name, 1, count=rank) for name in ("window_strides", "rhs_dilation", "lhs_dilation")
    )
    edges = ctx.ints("padding", 0, count=2 * rank)
    reversal = ctx.ints("window_reversal", 0, count=rank)
    groups = ctx.int("feature_group_count", 1)
    if ctx.int("batch_group_count", 1) != 1:
        ctx.fail("one group of batches", str(ctx.int("batch_group_count")))
    if min((*strides, *dilation, *apart)) < 1:
        ctx.fail("positive strides and dilations", f"{strides}, {dilation} and {apart}")
    names = [str(axis) for axis in range(rank)]
    # Where channels stand decides the layout; other axes go where that layout has them.
    last = data_labels.index("f") > data_labels.index("0")
    wanted = ("b", *names, "f") if last else ("b", "f", *names)
    data = moved(ctx.term(0), data_labels, wanted)
    kernel_wanted = (*names, "i", "o") if last else ("o", "i", *names)
    kernel = moved(ctx.term(1), kernel_labels, kernel_wanted)
    if any(reversal):
        flipped = [kernel_wanted.index(names[axis]) for axis in range(rank) if reversal[axis]]
        kernel = kernel.apply(ReverseOp, axis=flipped)
    low, high = list(edges[0::2]), list(edges[1::2])
    if any(n != 1 for n in apart) or min(edges, default=0) < 0:
        spatial = [wanted.index(name) for name in names]

        def everywhere(numbers: Sequence[int]) -> list[int]:
            return [numbers[spatial.index(axis)] if axis in spatial else 0 for axis in range(rank + 2)]

        inner = everywhere([n - 1 for n in apart])
        data = padded(data, data.number(0), everywhere(low), everywhere(high), inner)
        low, high = [0] * rank, [0] * rank
    wide = ctx.result_dtype()
    size = tuple(kernel.shape[kernel_wanted.index(name)] for name in names)
    letters = SPATIAL[rank]
    result = windows.conv(
        data.to(wide),
        kernel.to(wide),
        Window(size, strides, dilation, tuple(low), tuple(high)),
        groups=groups,
        channels=kernel.shape[kernel_wanted.index("o")],
        layout=f"N{letters}C" if last else "",
        kernel_layout=f"{letters}IO" if last else "",
    )
    return moved(result, wanted, result_labels).value


TABLE: dict[str, Converter[Context]] = {"convolution": Converter(_convolution)}
