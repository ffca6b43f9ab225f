"""The sliding window of convolutions and poolings: ONNX's attributes resolved for an image of known size."""

from __future__ import annotations

from dataclasses import dataclass

from .context import Context

Pair = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """A 2-d window."""

    kernel: Pair
    strides: Pair
    dilation: Pair
    padding: tuple[int, int, int, int]
    """top, left, bottom, right"""

    def outgrowth(self, image: Pair) -> Pair:
        """How far, with the output size rounded up, the last window reaches beyond the padded image, below and right.

        A window that would start in the padding on that side is left out, as in ONNX from opset 19 on and in
        onnxruntime for all.
        """

        def reach(axis: int) -> int:
            before, after = self.padding[axis], self.padding[axis + 2]
            stride, span = self.strides[axis], self.dilation[axis] * (self.kernel[axis] - 1) + 1
            last = -(-(image[axis] + before + after - span) // stride)
            if last * stride >= image[axis] + before:
                last -= 1
            return max(last * stride + span - (image[axis] + before + after), 0)

        return reach(0), reach(1)


def pair(ctx: Context, name: str, default: int | None = None) -> Pair:
    """Attribute `name`, one positive number for each of the two image axes."""
    given = ctx.ints(name)
    if given is None and default is not None:
        return default, default
    if given is None or len(given) != 2 or min(given) < 1:
        ctx.fail(f"two positive numbers as '{name}'", str(list(given or ())))
    return given[0], given[1]


def image_of(ctx: Context) -> Pair:
    """Height and width of input 0, NCHW."""
    shape = ctx.shape(0)
    if len(shape) != 4:
        ctx.fail("a 4-d input (batch, channels, height, width)", f"shape {list(shape)}")
    return shape[2], shape[3]


def window(ctx: Context, image: Pair, kernel: Pair) -> Window:
    """The window of a node, its `auto_pad` resolved: SAME_UPPER puts an odd pixel after, SAME_LOWER before."""
    strides, dilation = pair(ctx, "strides", 1), pair(ctx, "dilations", 1)
    match mode := ctx.str("auto_pad", "NOTSET"):
        case "NOTSET":
            pads = ctx.ints("pads") or (0, 0, 0, 0)
            if len(pads) != 4 or min(pads) < 0:
                ctx.fail("four non-negative numbers as 'pads'", str(list(pads)))
            padding = (pads[0], pads[1], pads[2], pads[3])
        case "VALID":
            padding = (0, 0, 0, 0)
        case "SAME_UPPER" | "SAME_LOWER":
            total = [
                max((-(-extent // s) - 1) * s + d * (k - 1) + 1 - extent, 0)
                for extent, s, d, k in zip(image, strides, dilation, kernel, strict=True)
            ]
            small, large = [n // 2 for n in total], [n - n // 2 for n in total]
            before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
            padding = (before[0], before[1], after[0], after[1])
        case _:
            ctx.fail("auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode)
    return Window(kernel, strides, dilation, padding)
