# pyright: basic, reportArgumentType=false, reportIndexIssue=false
"""Cases of TensorFlow's operators on images and boxes, and of recurrent cells (see `tensorflow_operator_cases`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def reals(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Any:
    """Numbers of few digits, which files hold in little space."""
    return (np.random.default_rng(seed).uniform(low, high, shape) * 128).round().astype(np.float32) / 128


def integers(*shape: int, low: int = -9, high: int = 9, seed: int = 0, dtype: str = "int32") -> Any:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def images(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x = reals(2, 5, 6, 3)
    for name in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
        for align, half in ((False, False), (True, False), (False, True)):
            for size in ([9, 11], [3, 4]):
                yield (
                    f"{name} {align} {half} {size}",
                    lambda v, n=name, a=align, h=half, s=size: getattr(ops, n)(
                        images=v, size=s, align_corners=a, half_pixel_centers=h
                    ),
                    [x],
                )
    yield (
        "ResizeBilinear uint8",
        lambda v: ops.ResizeBilinear(images=v, size=[7, 7]),
        [integers(1, 4, 4, 2, low=0, high=255, dtype="uint8")],
    )
    boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.83], [-0.2, 0.1, 1.2, 0.8]])
    for method in ("bilinear", "nearest"):
        yield (
            f"CropAndResize {method}",
            lambda v, m=method: ops.CropAndResize(
                image=v, boxes=boxes, box_ind=[0, 1, 0], crop_size=[3, 4], method=m, extrapolation_value=0.5
            ),
            [x],
        )
    corners = np.sort(reals(12, 2, 2, low=0, high=1), axis=1).reshape(12, 4)
    scores = reals(12, low=0, high=1, seed=3)
    yield (
        "NonMaxSuppressionV2",
        lambda b, s: ops.NonMaxSuppressionV2(boxes=b, scores=s, max_output_size=5, iou_threshold=0.3),
        [corners, scores],
    )
    yield (
        "NonMaxSuppressionV3",
        lambda b, s: ops.NonMaxSuppressionV3(
            boxes=b, scores=s, max_output_size=5, iou_threshold=0.3, score_threshold=0.4
        ),
        [corners, scores],
    )
    for padded in (False, True):
        yield (
            f"NonMaxSuppressionV4 {padded}",
            lambda b, s, p=padded: ops.NonMaxSuppressionV4(
                boxes=b, scores=s, max_output_size=7, iou_threshold=0.3, score_threshold=0.2, pad_to_max_output_size=p
            ),
            [corners, scores],
        )
    yield (
        "NonMaxSuppressionV5",
        lambda b, s: ops.NonMaxSuppressionV5(
            boxes=b, scores=s, max_output_size=7, iou_threshold=0.8, score_threshold=0.1, soft_nms_sigma=0.5
        ),
        [corners, scores],
    )


def cells(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    x, cell, state = reals(2, 5), reals(2, 3, seed=1), reals(2, 3, seed=2)
    weights, bias, peepholes = reals(8, 12, seed=3), reals(12, seed=4), [reals(3, seed=s) for s in (5, 6, 7)]
    for peephole, clip in ((False, 3.0), (True, 0.5), (True, -1.0)):
        yield (
            f"LSTMBlockCell {peephole} {clip}",
            lambda x, c, h, p=peephole, k=clip: ops.LSTMBlockCell(
                x=x,
                cs_prev=c,
                h_prev=h,
                w=weights,
                wci=peepholes[0],
                wcf=peepholes[1],
                wco=peepholes[2],
                b=bias,
                forget_bias=0.7,
                cell_clip=k,
                use_peephole=p,
            ),
            [x, cell, state],
        )
    yield (
        "GRUBlockCell",
        lambda x, h: ops.GRUBlockCell(
            x=x, h_prev=h, w_ru=weights[:, :6], w_c=weights[:, 6:9], b_ru=bias[:6], b_c=bias[6:9]
        ),
        [x, state],
    )
    yield "PlaceholderWithDefault", lambda x: x * ops.PlaceholderWithDefault(input=np.float32(3), shape=[]), [x]
    corners = np.sort(reals(2, 12, 2, 2, low=-0.2, high=1.2), axis=2).reshape(2, 12, 1, 4)
    scores = np.random.default_rng(8).permutation(72).reshape(2, 12, 3).astype(np.float32) / 72
    for total, per_class in ((5, False), (40, False), (40, True)):
        yield (
            f"CombinedNonMaxSuppression {total} {per_class}",
            lambda b, s, t=total, p=per_class: ops.CombinedNonMaxSuppression(
                boxes=b,
                scores=s,
                max_output_size_per_class=4,
                max_total_size=t,
                iou_threshold=0.3,
                score_threshold=0.2,
                pad_per_class=p,
            ),
            [corners, scores],
        )


def lists(tf: Any, ops: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    """Lists of tensors outside of loops, and operators that hand their input on."""
    x, at = reals(4, 3), np.int32([2, 0])

    def of(x: Any) -> Any:
        return ops.TensorListFromTensor(tensor=x, element_shape=[3])

    def stacked(handle: Any, count: int = -1) -> Any:
        return ops.TensorListStack(input_handle=handle, element_shape=[3], element_dtype=tf.float32, num_elements=count)

    def grown(x: Any) -> Any:
        handle = ops.EmptyTensorList(element_shape=[-1], max_num_elements=9, element_dtype=tf.float32)
        for row in (x[0], x[1]):
            handle = ops.TensorListPushBack(input_handle=handle, tensor=row)
        rest, last = ops.TensorListPopBack(input_handle=handle, element_shape=[3], element_dtype=tf.float32)
        return last, stacked(rest), ops.TensorListLength(input_handle=handle)

    def array(x: Any) -> Any:
        handle, flow = ops.TensorArrayV3(size=4, dtype=tf.float32, element_shape=[3])
        flow = ops.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=x[:3], flow_in=flow)
        flow = ops.TensorArrayWriteV3(handle=handle, index=3, value=x[3], flow_in=flow)
        row = ops.TensorArrayReadV3(handle=handle, index=1, flow_in=flow, dtype=tf.float32)
        rows = ops.TensorArrayGatherV3(handle=handle, indices=at, flow_in=flow, dtype=tf.float32)
        return row, rows, ops.TensorArraySizeV3(handle=handle, flow_in=flow)

    yield "TensorList growing", grown, [x]
    yield "TensorArrayV3", array, [x]
    yield "TensorListElementShape", lambda x: ops.TensorListElementShape(input_handle=of(x), shape_type=tf.int32), [x]
    yield (
        "TensorListGather",
        lambda x: ops.TensorListGather(input_handle=of(x), indices=at, element_shape=[3], element_dtype=tf.float32),
        [x],
    )
    yield (
        "TensorListScatterV2",
        lambda x: stacked(ops.TensorListScatterV2(tensor=x[:2], indices=at, element_shape=[3], num_elements=4)),
        [x],
    )
    yield (
        "TensorListResize",
        lambda x: ops.TensorListLength(input_handle=ops.TensorListResize(input_handle=of(x), size=6)),
        [x],
    )
    yield (
        "TensorListConcatLists",
        lambda x: stacked(ops.TensorListConcatLists(input_a=of(x), input_b=of(x), element_dtype=tf.float32)),
        [x],
    )
    yield (
        "TensorListConcatV2",
        lambda x: ops.TensorListConcatV2(
            input_handle=of(x), element_dtype=tf.float32, element_shape=[3], leading_dims=np.zeros(0, "int64")
        ),
        [x],
    )
    yield "StopGradient", lambda x: x * ops.StopGradient(input=x * 2.0), [x]
    yield "PreventGradient", lambda x: x * ops.PreventGradient(input=x * 2.0), [x]
    yield "CheckNumerics", lambda x: x * ops.CheckNumerics(tensor=x * 2.0, message="numbers"), [x]
    yield "Snapshot", lambda x: x * ops.Snapshot(input=x * 2.0), [x]
    yield "BiasAddV1", lambda x: ops.BiasAddV1(value=x, bias=x[0]), [x]
    yield "MatrixDiagV2", lambda x: ops.MatrixDiagV2(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0), [x]
