"""Images in other sizes, and sampled at points."""

from __future__ import annotations

from math import floor
from typing import Any, cast

from ...dialects.relay.pooling import SPATIAL
from ...dialects.relay.vision import RoiAlignOp
from ...dialects.sizes import Size
from ..importing.attributes import Flag, Float, Int, Ints
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import affine_grid, grid_sample, resized_image
from .context import Context


def _upsample(rank: int, method: str, exact: bool = False, antialias: bool = False) -> Converter[Context]:
    """The spatial axes in another size. Coordinates are computed with the given scale where there is one."""

    def upsampled(ctx: Context, size: tuple[int, ...] | None, aligned: bool) -> Term:
        x = ctx.term("input" if ctx.given("input") else "self")
        if len(x.shape) != rank + 2:
            ctx.fail(f"an image of {rank} axes behind batch and channels", f"shape {list(x.shape)}")
        scales = _scales(ctx, rank)
        if aligned and antialias:
            ctx.fail("align_corners=False beside antialias", "align_corners=True")
        return resized_image(
            x,
            _sizes(ctx, x.shape[2:], scales) if size is None else size,
            f"NC{SPATIAL[rank]}",
            method,
            aligned=aligned,
            centred=exact or method != "nearest_neighbor",
            scales=scales,
            alpha=-0.5 if antialias else -0.75,
            inside=antialias,
            antialias=antialias,
        )

    return row(upsampled, size=Ints(None, name="output_size"), aligned=Flag(False, name="align_corners"))


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


def _grid_sample(x: Term, grid: Term, method: int, padding: int, aligned: bool) -> Term:
    methods, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return grid_sample(x, grid, methods[method], paddings[padding], aligned)


def _roi_align(x: Term, rois: Term, height: int, width: int, **options: Any) -> Term:
    return x.apply(RoiAlignOp, rois, pooled_size=(height, width), **options)


_GRID_SAMPLE = row(
    _grid_sample,
    "input grid",
    method=Int(0, name="interpolation_mode"),
    padding=Int(0, name="padding_mode"),
    aligned=Flag(False, name="align_corners"),
)
_LINEAR = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}

TABLE: dict[str, Converter[Context]] = {
    **{
        f"aten.upsample_{name}.{o}": _upsample(rank, "linear")
        for rank, name in _LINEAR.items()
        for o in ("vec", "default")
    },
    **{
        f"aten.upsample_nearest{rank}d.{overload}": _upsample(rank, "nearest_neighbor")
        for rank in (1, 2, 3)
        for overload in ("vec", "default")
    },
    **{
        f"aten._upsample_nearest_exact{rank}d.{overload}": _upsample(rank, "nearest_neighbor", exact=True)
        for rank in (1, 2, 3)
        for overload in ("vec", "default")
    },
    **{f"aten.upsample_bicubic2d.{overload}": _upsample(2, "cubic") for overload in ("vec", "default")},
    **{
        f"aten._upsample_bilinear2d_aa.{overload}": _upsample(2, "linear", antialias=True)
        for overload in ("vec", "default")
    },
    **{
        f"aten._upsample_bicubic2d_aa.{overload}": _upsample(2, "cubic", antialias=True)
        for overload in ("vec", "default")
    },
    "aten.affine_grid_generator.default": row(affine_grid, "theta", size=Ints(), align_corners=Flag(False)),
    "aten.grid_sampler.default": _GRID_SAMPLE,
    "aten.grid_sampler_2d.default": _GRID_SAMPLE,
    "aten.grid_sampler_3d.default": _GRID_SAMPLE,
    "torchvision.roi_align.default": row(
        _roi_align,
        "input rois",
        height=Int(name="pooled_height"),
        width=Int(name="pooled_width"),
        spatial_scale=Float(0.0),
        sample_ratio=Int(name="sampling_ratio"),
        aligned=Flag(False),
    ),
}
