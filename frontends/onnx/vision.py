"""Operators of detectors, and images sampled at points."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.sampling import AffineGridOp, CropAndResizeOp, GridSampleOp
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, TransposeOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, RoiAlignOp, RoiPoolOp
from ..importing.converter import Converter, Narrowed
from ..importing.tensor import dtype_of
from .context import Context


def roi_align(ctx: Context) -> SSAValue:
    """vision.roi_align, whose regions have the number of their image in front."""
    rois = ctx.value(1)
    own = ctx.emit(CastOp, ctx.value(2), dtype=dtype_of(rois).name)
    rois = ctx.emit(ConcatenateOp, ctx.emit(ExpandDimsOp, own, axis=1), rois, axis=1)
    mode, default = ctx.word("mode", "avg"), "half_pixel" if ctx.opset >= 16 else "output_half_pixel"
    return ctx.emit(
        RoiAlignOp,
        ctx.value(0),
        rois,
        pooled_size=(ctx.int("output_height", 1), ctx.int("output_width", 1)),
        spatial_scale=ctx.float("spatial_scale", 1.0),
        sample_ratio=ctx.int("sampling_ratio", 0),
        mode="max_weighted" if mode == "max" else mode,
        aligned=ctx.word("coordinate_transformation_mode", default) == "half_pixel",
    )


def max_roi_pool(ctx: Context) -> SSAValue:
    size = ctx.ints("pooled_shape", None)
    if size is None:
        ctx.fail("pooled_shape", "none")
    return ctx.emit(RoiPoolOp, *ctx.values(), pooled_size=size, spatial_scale=ctx.float("spatial_scale", 1.0))


def _optional(ctx: Context, index: int, default: float, dtype: type[np.generic]) -> SSAValue:
    return ctx.value(index) if ctx.has(index) else ctx.constant(np.asarray(default, dtype), "default")


def non_max_suppression(ctx: Context) -> Narrowed:
    """vision.all_class_non_max_suppression."""
    most = ctx.known(2) if ctx.has(2) else np.zeros(1, np.int64)
    bound = -1 if most is None else int(most.reshape(-1)[0])
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        ctx.value(0),
        ctx.value(1),
        _optional(ctx, 2, 0, np.int64),
        _optional(ctx, 3, 0, np.float32),
        _optional(ctx, 4, -np.inf, np.float32),
        max_output_size=max(bound, 0) if most is not None else -1,
        center_point_box=ctx.flag("center_point_box", others=None),
    )
    return Narrowed(points, number)


_METHODS = {"linear": "bilinear", "cubic": "bicubic"}
"""Names since opset 20; those before are relay's."""


def grid_sample(ctx: Context) -> SSAValue:
    """image.grid_sample, whose grid has the coordinates in front."""
    data, rank = ctx.value(0), len(ctx.shape(0))
    mode = ctx.word("mode", "bilinear")
    grid = ctx.emit(TransposeOp, ctx.value(1), axes=(0, rank - 1, *range(1, rank - 1)))
    return ctx.emit(
        GridSampleOp,
        data,
        grid,
        method=_METHODS.get(mode, mode),
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=ctx.word("padding_mode", "zeros"),
        align_corners=ctx.flag("align_corners"),
    )


def affine_grid(ctx: Context) -> SSAValue:
    """image.affine_grid, which has the coordinates in front."""
    size = ctx.known_ints(1, "a size")
    grid = ctx.emit(AffineGridOp, ctx.value(0), target_shape=size[2:], align_corners=ctx.flag("align_corners"))
    rank = len(size)
    return ctx.emit(TransposeOp, grid, axes=(0, *range(2, rank), 1))


def crop_and_resize(ctx: Context) -> SSAValue:
    """com.microsoft's."""
    size = ctx.known_ints(3, "a crop size")
    mode = ctx.word("mode", "bilinear")
    return ctx.emit(
        CropAndResizeOp,
        *(ctx.value(index) for index in range(3)),
        crop_size=size,
        layout="NCHW",
        method="nearest_neighbor" if mode == "nearest" else mode,
        extrapolation_value=ctx.float("extrapolation_value", 0.0),
    )


TABLE = {
    "AffineGrid": Converter(affine_grid),
    "GridSample": Converter(grid_sample),
    "MaxRoiPool": Converter(max_roi_pool),
    "NonMaxSuppression": Converter(non_max_suppression),
    "RoiAlign": Converter(roi_align),
}
MICROSOFT = {"CropAndResize": Converter(crop_and_resize), "GridSample": Converter(grid_sample)}
