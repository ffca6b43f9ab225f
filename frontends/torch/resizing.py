"""Images in other sizes, and sampled at points."""

from __future__ import annotations

from math import floor
from typing import cast

from xdsl.ir import SSAValue

from ...dialects.relay.interpolation import Resizing, quotient
from ...dialects.relay.sampling import GridSampleOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.relay.vision import RoiAlignOp
from ...dialects.sizes import Size
from ..importing.converter import Converter
from ..importing.resizing import resized
from ..importing.tensor import shape_of
from .context import Context


def upsample(rank: int, method: str, exact: bool = False, antialias: bool = False) -> Converter[Context]:
    """image.resize of the spatial axes. Coordinates are computed with the given scale where there is one."""

    def convert(ctx: Context) -> SSAValue:
        data = ctx.of("input" if ctx.given("input") else "self")
        image = shape_of(data)[2:]
        if len(image) != rank:
            ctx.fail(f"an image of {rank} axes behind batch and channels", f"shape {list(shape_of(data))}")
        scales = _scales(ctx, rank)
        sizes = ctx.ints("output_size") if ctx.given("output_size") else _sizes(ctx, image, scales)
        aligned = ctx.flag("align_corners")
        if aligned and antialias:
            ctx.fail("align_corners=False beside antialias", "align_corners=True")
        mode, rounding = ("align_corners" if aligned else "half_pixel"), ""
        if method == "nearest_neighbor":
            mode, rounding = ("half_pixel", "round_prefer_ceil") if exact else ("asymmetric", "floor")
        alpha = -0.5 if antialias else -0.75
        how = [
            Resizing(
                extent,
                size,
                quotient(size, extent) if scale is None or aligned else scale,
                method,
                mode,
                rounding,
                alpha,
                antialias,
                antialias,
            )
            for extent, size, scale in zip(image, sizes, scales, strict=True)
        ]
        return resized(ctx, data, list(range(2, rank + 2)), how)

    return Converter(convert)


def _scales(ctx: Context, rank: int) -> list[float | None]:
    """The given scale of each axis."""
    if (result := ctx.floats("scale_factors", None)) is not None:
        if len(result) != rank or min(result) <= 0:
            ctx.fail(f"{rank} scales above 0", str(list(result)))
        return list(result)
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[rank]
    return [ctx.float(name, 0.0) if ctx.given(name) else None for name in names]


def _sizes(ctx: Context, image: tuple[int, ...], scales: list[float | None]) -> tuple[int, ...]:
    sizes: list[int] = []
    for extent, scale in zip(image, scales, strict=True):
        if scale is None:
            ctx.fail("a size or a scale", "none")
        if isinstance(cast(Size, extent), int):
            sizes.append(floor(extent * scale))
        elif scale.is_integer():
            sizes.append(extent * int(scale))
        elif (1 / scale).is_integer():
            sizes.append(extent // int(1 / scale))
        else:
            ctx.fail("a scale that is a whole number, or one divided by such, for an image of open size", str(scale))
    return tuple(sizes)


def _grid_sample(ctx: Context) -> SSAValue:
    methods, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    method, padding = ctx.int("interpolation_mode", 0), ctx.int("padding_mode", 0)
    grid = ctx.of("grid")
    rank = len(shape_of(grid))
    return ctx.emit(
        GridSampleOp,
        ctx.of("input"),
        ctx.emit(TransposeOp, grid, axes=(0, rank - 1, *range(1, rank - 1))),
        method=methods[method],
        padding_mode=paddings[padding],
        align_corners=ctx.flag("align_corners"),
        layout="NCHW" if len(ctx.shape_of("input")) == 4 else "NCDHW",
    )


def _roi_align(ctx: Context) -> SSAValue:
    return ctx.emit(
        RoiAlignOp,
        ctx.of("input"),
        ctx.of("rois"),
        pooled_size=(ctx.int("pooled_height"), ctx.int("pooled_width")),
        spatial_scale=ctx.float("spatial_scale", 0.0),
        sample_ratio=ctx.int("sampling_ratio"),
        aligned=ctx.flag("aligned"),
    )


_LINEAR = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}

TABLE: dict[str, Converter[Context]] = {
    **{
        f"aten.upsample_{name}.{o}": upsample(rank, "linear")
        for rank, name in _LINEAR.items()
        for o in ("vec", "default")
    },
    **{
        f"aten.upsample_nearest{rank}d.{overload}": upsample(rank, "nearest_neighbor")
        for rank in (1, 2, 3)
        for overload in ("vec", "default")
    },
    **{
        f"aten._upsample_nearest_exact{rank}d.{overload}": upsample(rank, "nearest_neighbor", exact=True)
        for rank in (1, 2, 3)
        for overload in ("vec", "default")
    },
    **{f"aten.upsample_bicubic2d.{overload}": upsample(2, "cubic") for overload in ("vec", "default")},
    **{
        f"aten._upsample_bilinear2d_aa.{overload}": upsample(2, "linear", antialias=True)
        for overload in ("vec", "default")
    },
    **{
        f"aten._upsample_bicubic2d_aa.{overload}": upsample(2, "cubic", antialias=True)
        for overload in ("vec", "default")
    },
    "aten.grid_sampler.default": Converter(_grid_sample),
    "aten.grid_sampler_2d.default": Converter(_grid_sample),
    "aten.grid_sampler_3d.default": Converter(_grid_sample),
    "torchvision.roi_align.default": Converter(_roi_align),
}
