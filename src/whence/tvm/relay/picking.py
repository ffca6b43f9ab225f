"""Builders whose parameters have another order or form in TVM: for picking elements, and pooling whole images."""

from __future__ import annotations

from typing import Any

from whence.relay.builders import Builder, TupleWrapper, as_expr, builder, const
from whence.syntax.relay.expr import Expr, Tuple


def gather(data: Expr, axis: int, indices: Any) -> Expr:
    """The elements at indices along an axis, one for each index."""
    return builder("gather")(data, as_expr(indices), axis=axis)


def take(data: Expr, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip") -> Expr:
    """The slices at indices along an axis; without one, elements in row-major order."""
    return builder("take")(data, as_expr(indices), batch_dims=batch_dims, axis=axis, mode=mode)


def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Expr:
    """Matrices with other diagonals: one, or all from one to another."""
    return builder("matrix_set_diag")(data, diagonal, k=[k, k] if isinstance(k, int) else k, align=align)


def get_valid_counts(data: Expr, score_threshold: Any, id_index: int = 0, score_index: int = 1) -> TupleWrapper:
    """Return the number of valid boxes, the boxes with the valid ones first, and the former indices of these."""
    least = score_threshold if isinstance(score_threshold, Expr) else const(float(score_threshold))
    return TupleWrapper(builder("vision.get_valid_counts")(data, least, id_index=id_index, score_index=score_index), 3)


def non_max_suppression(
    data: Expr,
    valid_count: Expr,
    indices: Expr,
    max_output_size: Any = -1,
    iou_threshold: Any = 0.5,
    *args: Any,
    **kw: Any,
) -> Expr | TupleWrapper:
    """The boxes that no better one covers: their numbers and how many there are, or the boxes themselves."""
    most = max_output_size if isinstance(max_output_size, Expr) else const(int(max_output_size), "int32")
    limit = iou_threshold if isinstance(iou_threshold, Expr) else const(float(iou_threshold))
    call = builder("vision.non_max_suppression")(data, valid_count, indices, most, limit, *args, **kw)
    return TupleWrapper(call, 2) if call.attrs.return_indices else call


def multibox_transform_loc(*args: Any, **kw: Any) -> TupleWrapper:
    """The boxes that predictions make of anchors, and how many there are."""
    return TupleWrapper(builder("vision.multibox_transform_loc")(*args, **kw), 2)


def _compressed(matrix: Any) -> list[Expr]:
    """Data, indices and indptr of a matrix in compressed rows: its attributes, or three of a sequence."""
    parts = (matrix.data, matrix.indices, matrix.indptr) if hasattr(matrix, "indices") else matrix
    return [as_expr(part) for part in parts]


def sparse_dense(dense_mat: Any, sparse_mat: Any, sparse_lhs: bool = False) -> Expr:
    """A matrix times the transpose of a sparse one, or with `sparse_lhs` the sparse one times the other's transpose."""
    return builder("nn.sparse_dense")(as_expr(dense_mat), *_compressed(sparse_mat), sparse_lhs=sparse_lhs)


def sparse_add(dense_mat: Any, sparse_mat: Any) -> Expr:
    """A matrix and a sparse one."""
    return builder("nn.sparse_add")(as_expr(dense_mat), *_compressed(sparse_mat))


def sparse_transpose(x: Any) -> TupleWrapper:
    """Data, indices and indptr of the transpose."""
    return TupleWrapper(builder("nn.sparse_transpose")(*_compressed(x)), 3)


def sparse_reshape(sparse_indices: Any, prev_shape: Any, new_shape: Any) -> TupleWrapper:
    """Return the positions of the elements in the new shape, and that shape."""
    return TupleWrapper(builder("sparse_reshape")(*map(as_expr, (sparse_indices, prev_shape, new_shape))), 2)


def mean_std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> TupleWrapper:
    """The mean and the root of the variance."""
    mean = builder("mean")(data, axis=axis, keepdims=True, exclude=exclude)
    shown = mean if keepdims else builder("mean")(data, axis=axis, keepdims=False, exclude=exclude)
    spread = builder("variance")(data, mean, axis=axis, keepdims=keepdims, exclude=exclude)
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
    "nn.sparse_dense": sparse_dense,
    "nn.sparse_add": sparse_add,
    "nn.sparse_transpose": sparse_transpose,
    "sparse_reshape": sparse_reshape,
    "vision.get_valid_counts": get_valid_counts,
    "vision.non_max_suppression": non_max_suppression,
    "vision.multibox_transform_loc": multibox_transform_loc,
    **{
        f"nn.global_{kind}_pool{rank}d": _global(kind, rank, layout)
        for kind in ("max", "avg")
        for rank, layout in ((1, "NCW"), (3, "NCDHW"))
    },
    "nn.contrib_conv2d_nchwc": builder("nn.contrib_conv2d_NCHWc"),
    "nn.contrib_depthwise_conv2d_nchwc": builder("nn.contrib_depthwise_conv2d_NCHWc"),
}
"""By TVM's names of the functions."""
