"""Builders whose parameters TVM has in an order or a form of its own: what picks elements, and pools whole images."""

from __future__ import annotations

from typing import Any

from whence.frontends.relay.expr import Expr, Tuple
from whence.relay.builders import Builder, TupleWrapper, as_expr, builder


def gather(data: Expr, axis: int, indices: Any) -> Expr:
    """The elements at indices along an axis, one for each index."""
    return builder("gather")(data, as_expr(indices), axis=axis)


def take(data: Expr, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Expr:
    """The slices at indices along an axis; without one, elements in row-major order."""
    return builder("take")(data, as_expr(indices), batch_dims=batch_dims, axis=axis, mode=mode)


def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Expr:
    """Matrices with other diagonals: one, or all from one to another."""
    return builder("matrix_set_diag")(data, diagonal, k=[k, k] if isinstance(k, int) else k, align=align)


def get_valid_counts(data: Expr, score_threshold: float, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """How many boxes count, the boxes with those first, and where these were."""
    call = builder("vision.get_valid_counts")(
        data, score_threshold=float(score_threshold), id_index=id_index, score_index=score_index
    )
    return TupleWrapper(call, 3)


def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the root of the variance."""
    whole = builder("mean")(data, axis=axis, keepdims=True, exclude=exclude)
    shown = whole if keepdims else builder("mean")(data, axis=axis, keepdims=False, exclude=exclude)
    spread = builder("variance")(data, whole, axis=axis, keepdims=keepdims, exclude=exclude)
    return TupleWrapper(Tuple([shown, builder("sqrt")(spread)]), 2)


def _global(kind: str, rank: int, layout: str) -> Builder:
    def pool(data: Expr, layout: str = layout, out_layout: str = "") -> Expr:
        name = f"nn.adaptive_{kind}_pool{rank}d"
        return builder(name)(data, output_size=[1] * rank, layout=layout, out_layout=out_layout)

    pool.__name__ = pool.__qualname__ = f"global_{kind}_pool{rank}d"
    pool.__doc__ = f"The {kind} of each channel."
    return pool


PICKING: dict[str, Builder] = {
    "gather": gather,
    "take": take,
    "matrix_set_diag": matrix_set_diag,
    "mean_std": mean_std,
    "vision.get_valid_counts": get_valid_counts,
    **{
        f"nn.global_{kind}_pool{rank}d": _global(kind, rank, layout)
        for kind in ("max", "avg")
        for rank, layout in ((1, "NCW"), (3, "NCDHW"))
    },
    "nn.contrib_conv2d_nchwc": builder("nn.contrib_conv2d_NCHWc"),
    "nn.contrib_depthwise_conv2d_nchwc": builder("nn.contrib_depthwise_conv2d_NCHWc"),
}
"""By TVM's names of the functions."""
