"""Operators of detectors, and images sampled at points."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.sampling import AffineGridOp
from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp, TransposeOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, RoiAlignOp, RoiPoolOp
from ..importing.attributes import Flag, Float, Int, Ints, Word
from ..importing.converter import Converter, Narrowed
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import grid_sample, resized_boxes
from .context import Context


def _roi_align(
    x: Term, rois: Term, images: Term, height: int, width: int, mode: str, places: str, **options: Any
) -> Term:
    """Regions, with the number of their image in front."""
    column = images.to(rois.dtype).apply(ExpandDimsOp, axis=1)
    return x.apply(
        RoiAlignOp,
        column.apply(ConcatenateOp, rois, axis=1),
        pooled_size=(height, width),
        mode="max_weighted" if mode == "max" else mode,
        aligned=places == "half_pixel",
        **options,
    )


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


def _grid_sample(x: Term, grid: Term, mode: str, padding_mode: str, aligned: bool) -> Term:
    return grid_sample(x, grid, _METHODS.get(mode, mode), padding_mode, aligned)


def _affine_grid(theta: Term, size: Sequence[int], aligned: bool) -> Term:
    """Points, whose coordinates come last; the operator has them in front."""
    grid = theta.apply(AffineGridOp, target_shape=size[2:], align_corners=aligned)
    return grid.apply(TransposeOp, axes=(0, *range(2, len(size)), 1))


_ALIGNED = Flag(False, name="align_corners")
_GRID_SAMPLE = row(_grid_sample, "X grid", mode=Word("bilinear"), padding_mode=Word("zeros"), aligned=_ALIGNED)
TABLE = {
    "AffineGrid": row(_affine_grid, "theta size:ints", aligned=_ALIGNED),
    "GridSample": _GRID_SAMPLE,
    "MaxRoiPool": row(RoiPoolOp, "X rois", pooled_size=Ints(name="pooled_shape"), spatial_scale=Float(1.0)),
    "NonMaxSuppression": Converter(non_max_suppression),
    "RoiAlign": row(
        _roi_align,
        "X rois batch_indices",
        height=Int(1, name="output_height"),
        width=Int(1, name="output_width"),
        mode=Word("avg"),
        places=Word(
            lambda ctx: "half_pixel" if ctx.opset >= 16 else "output_half_pixel",
            name="coordinate_transformation_mode",
        ),
        spatial_scale=Float(1.0),
        sample_ratio=Int(0, name="sampling_ratio"),
    ),
}
MICROSOFT = {
    "CropAndResize": row(
        partial(resized_boxes, layout="NCHW"),
        "X rois batch_indices crop_size:ints",
        method=Word("bilinear", name="mode"),
        extrapolation=Float(0.0, name="extrapolation_value"),
    ),
    "GridSample": _GRID_SAMPLE,
}
