"""Images in other sizes, and boxes cut out of them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.resize import Resize2DOp
from ...dialects.relay.sampling import CropAndResizeOp
from ..importing.converter import Converter
from ..importing.terms import Term, term
from .context import Context


def _size(ctx: Context) -> tuple[int, ...]:
    """The height and width in input 1."""
    size = ctx.known_ints(1, "a size")
    if len(size) != 2 or len(ctx.shape(0)) != 4:
        ctx.fail(
            "images (batch, height, width, channels), and a height and width", f"{list(ctx.shape(0))}, {list(size)}"
        )
    return size


def _mode(ctx: Context) -> str:
    if ctx.flag("align_corners"):
        return "align_corners"
    return "half_pixel" if ctx.flag("half_pixel_centers") else "asymmetric"


def _real(ctx: Context) -> SSAValue:
    """The image as floats, which is what interpolation gives."""
    image = term(ctx, 0)
    return image.value if image.dtype.kind == "f" and image.dtype.itemsize == 4 else image.to("float32").value


def resize_bilinear(ctx: Context) -> SSAValue:
    return ctx.emit(
        Resize2DOp,
        _real(ctx),
        size=_size(ctx),
        layout="NHWC",
        method="linear",
        coordinate_transformation_mode=_mode(ctx),
    )


def resize_bicubic(ctx: Context) -> SSAValue:
    """With pixels that have centres, by Keys' kernel of the image's own elements."""
    centred = ctx.flag("half_pixel_centers")
    return ctx.emit(
        Resize2DOp,
        _real(ctx),
        size=_size(ctx),
        layout="NHWC",
        method="cubic",
        coordinate_transformation_mode=_mode(ctx),
        cubic_alpha=-0.5 if centred else -0.75,
        cubic_exclude=int(centred),
    )


def resize_nearest_neighbor(ctx: Context) -> SSAValue:
    """Rounded down; at aligned corners to the nearest, halves away from 0."""
    aligned = ctx.flag("align_corners")
    centred = "tf_half_pixel_for_nn" if ctx.flag("half_pixel_centers") else "asymmetric"
    return ctx.emit(
        Resize2DOp,
        ctx.value(0),
        size=_size(ctx),
        layout="NHWC",
        method="nearest_neighbor",
        coordinate_transformation_mode="align_corners" if aligned else centred,
        rounding_method="round_prefer_ceil" if aligned else "floor",
    )


def crop_and_resize(ctx: Context) -> SSAValue:
    size, method = ctx.known_ints(3, "a size"), ctx.text("method", "bilinear")
    return ctx.emit(
        CropAndResizeOp,
        Term(ctx, ctx.value(0)).to("float32").value,
        ctx.value(1),
        ctx.value(2),
        crop_size=size,
        layout="NHWC",
        method="nearest_neighbor" if method == "nearest" else method,
        extrapolation_value=ctx.real("extrapolation_value", 0.0),
    )


TABLE = {
    "CropAndResize": Converter(crop_and_resize),
    "ResizeBicubic": Converter(resize_bicubic),
    "ResizeBilinear": Converter(resize_bilinear),
    "ResizeNearestNeighbor": Converter(resize_nearest_neighbor),
}
