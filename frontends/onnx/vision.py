"""Operators of detectors, and images sampled at points."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay.transform import ConcatenateOp, ExpandDimsOp
from ...dialects.relay.vision import AllClassNonMaxSuppressionOp, RoiAlignOp, RoiPoolOp
from ..importing.attributes import Flag, Float, Int, Ints, Word
from ..importing.converter import Narrowed
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.resizing import affine_grid, grid_sample, resized_boxes
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


def _non_max_suppression(
    ctx: Context,
    boxes: Term,
    scores: Term,
    most: Term | None = None,
    overlap: Term | None = None,
    least: Term | None = None,
    *,
    centred: bool,
) -> Narrowed:
    bound = 0
    if most is not None:
        known = ctx.known(2)
        bound = -1 if known is None else max(int(known.reshape(-1)[0]), 0)
    numbers = ((most, 0, np.int64), (overlap, 0, np.float32), (least, -np.inf, np.float32))
    points, number = ctx.emit_all(
        AllClassNonMaxSuppressionOp,
        *(boxes.value, scores.value),
        *(ctx.constant(np.asarray(n, dtype), "default") if x is None else x.value for x, n, dtype in numbers),
        max_output_size=bound,
        center_point_box=centred,
    )
    return Narrowed(points, number)


_METHODS = {"linear": "bilinear", "cubic": "bicubic"}
"""Names since opset 20; those before are relay's."""


def _grid_sample(x: Term, grid: Term, mode: str, padding_mode: str, aligned: bool) -> Term:
    return grid_sample(x, grid, _METHODS.get(mode, mode), padding_mode, aligned)


_ALIGNED = Flag(False, name="align_corners")
_GRID_SAMPLE = row(_grid_sample, "X grid", mode=Word("bilinear"), padding_mode=Word("zeros"), aligned=_ALIGNED)
TABLE = {
    "AffineGrid": row(affine_grid, "theta size:ints", align_corners=_ALIGNED),
    "GridSample": _GRID_SAMPLE,
    "MaxRoiPool": row(RoiPoolOp, "X rois", pooled_size=Ints(name="pooled_shape"), spatial_scale=Float(1.0)),
    "NonMaxSuppression": row(
        _non_max_suppression,
        "boxes scores max_output_boxes_per_class? iou_threshold? score_threshold?",
        centred=Flag(False, others=None, name="center_point_box"),
    ),
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
