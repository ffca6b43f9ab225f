"""The sliding window of convolutions and poolings: ONNX's attributes resolved for an image of known size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.sizes import proves, symbols_of
from ..importing import window as importing
from ..importing.window import Sizes, same_padding
from .context import Context


@dataclass(frozen=True)
class Window(importing.Window):
    """A window of one to three axes."""

    def shortfall(self, ctx: Context, image: Sizes) -> Sizes:
        """Return how far the only window of each axis reaches beyond a padded image that is smaller.

        There is one where less than a stride is missing, as onnxruntime divides towards zero; else there is none. An
        image of symbolic size has to be as large as a window, which the program asks of every call.
        """

        def missing(axis: int) -> int:
            span = self.dilation[axis] * (self.kernel[axis] - 1) + 1
            found = span - (image[axis] + self.before[axis] + self.after[axis])
            if proves(found, "<=", 0):
                return 0
            if symbols_of(found):
                ctx.require(-found)
                return 0
            return found if found < self.strides[axis] else 0

        return tuple(missing(axis) for axis in range(len(image)))


def positive(ctx: Context, name: str, rank: int, default: int | None = None) -> Sizes:
    """Attribute `name`, one positive number for each of `rank` spatial axes."""
    given = ctx.ints(name, None)
    if given is None and default is not None:
        return (default,) * rank
    if given is None or len(given) != rank or min(given) < 1:
        count = {1: "one", 2: "two", 3: "three"}[rank]
        ctx.fail(f"{count} positive number{'s' * (rank > 1)} as '{name}'", str(list(given or ())))
    return given


def image_of(ctx: Context) -> Sizes:
    """The spatial extents of input 0, which has batch and channels before them."""
    shape = ctx.shape(0)
    if not 3 <= len(shape) <= 5:
        ctx.fail("a 3-d, 4-d or 5-d input (batch, channels, height, width)", f"shape {list(shape)}")
    return shape[2:]


def halves(total: Sequence[int], mode: str) -> tuple[Sizes, Sizes]:
    """Padding before and after: SAME_UPPER puts an odd pixel after, SAME_LOWER before."""
    small, large = tuple(n // 2 for n in total), tuple(n - n // 2 for n in total)
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def explicit_pads(ctx: Context, rank: int) -> tuple[Sizes, Sizes]:
    """Attribute `pads`, before and after."""
    pads = ctx.ints("pads", None) or (0,) * (2 * rank)
    if len(pads) != 2 * rank or min(pads) < 0:
        count = {1: "two", 2: "four", 3: "six"}[rank]
        ctx.fail(f"{count} non-negative numbers as 'pads'", str(list(pads)))
    return pads[:rank], pads[rank:]


def window(ctx: Context, image: Sizes, kernel: Sizes) -> Window:
    """The window of a node, its `auto_pad` resolved."""
    rank = len(image)
    strides, dilation = positive(ctx, "strides", rank, 1), positive(ctx, "dilations", rank, 1)
    match mode := ctx.word("auto_pad", "NOTSET"):
        case "NOTSET" | "":
            before, after = explicit_pads(ctx, rank)
        case "VALID":
            before = after = (0,) * rank
        case "SAME_UPPER" | "SAME_LOWER":
            before, after = halves(same_padding(image, strides, dilation, kernel), mode)
        case _:
            ctx.fail("auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode)
    return Window(kernel, strides, dilation, before, after)
