"""Random models of scatters and what else is seldom."""

from __future__ import annotations

from typing import Any

import numpy as np
from flatbuffers import flexbuffers
from random_tflite_parts import Make, Rng, one, pick, sizes
from tflite_builder import Net, Quant


def scatter_nd(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    depth, count = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    points = np.stack([rng.integers(0, n, count) for n in shape[:depth]], -1).astype(np.int32)
    inputs: list[Any] = [points, ("float32", [count, *shape[depth:]]), np.array(shape, np.int32)]
    return one("SCATTER_ND", inputs, options="ScatterNdOptions")


def embedding_lookup_sparse(rng: Rng) -> bytes:
    """Rows for places in order, of which some have none."""
    rows, places = int(rng.integers(1, 5)), sizes(rng, int(rng.integers(1, 3)), 3)
    taken = np.argwhere(rng.integers(0, 2, [*places, 3]) > 0).astype(np.int32)
    if not len(taken):
        taken = np.zeros((1, len(places) + 1), np.int32)
    table = rng.standard_normal((rows, *sizes(rng, int(rng.integers(1, 3)), 3))).astype(np.float32)
    inputs: list[Any] = [rng.integers(0, rows, len(taken)).astype(np.int32), taken, np.array([*places, 3], np.int32)]
    inputs += [("float32", [len(taken)]), table]
    combiner = int(rng.integers(0, 3))
    return one("EMBEDDING_LOOKUP_SPARSE", inputs, options="EmbeddingLookupSparseOptions", combiner=combiner)


def segment_sum(rng: Rng) -> bytes:
    rows = int(rng.integers(1, 7))
    ids = np.sort(rng.integers(0, 4, rows)).astype(np.int32)
    return one("SEGMENT_SUM", [("float32", [rows, 3]), ids], options="SegmentSumOptions")


def unsorted(op: str, options: str) -> Make:
    def make(rng: Rng) -> bytes:
        rows = int(rng.integers(1, 7))
        ids = rng.integers(-1, 4, rows).astype(np.int32)
        return one(op, [("float32", [rows, 3]), ids, np.array(5, np.int32)], options=options)

    return make


def sparse_to_dense(rng: Rng) -> bytes:
    shape = sizes(rng, 2)
    points = np.argwhere(rng.integers(0, 2, shape) > 0).astype(np.int32)
    if not len(points):
        points = np.zeros((1, 2), np.int32)
    inputs: list[Any] = [points, np.array(shape, np.int32), ("float32", [len(points)]), np.array(2.5, np.float32)]
    return one("SPARSE_TO_DENSE", inputs, options="SparseToDenseOptions")


def matrix_diag(rng: Rng) -> bytes:
    return one("MATRIX_DIAG", [("float32", sizes(rng, int(rng.integers(1, 4))))], options="MatrixDiagOptions")


def matrix_set_diag(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    inputs: list[Any] = [("float32", shape), ("float32", [shape[0], min(shape[1:])])]
    return one("MATRIX_SET_DIAG", inputs, options="MatrixSetDiagOptions")


def dynamic_update_slice(rng: Rng) -> bytes:
    shape = sizes(rng, 3)
    own = [int(rng.integers(1, n + 1)) for n in shape]
    start = rng.integers(-1, 6, 3).astype(np.int32)
    return one(
        "DYNAMIC_UPDATE_SLICE", [("float32", shape), ("float32", own), start], options="DynamicUpdateSliceOptions"
    )


def bucketize(rng: Rng) -> bytes:
    bounds = np.sort(rng.uniform(-3, 3, int(rng.integers(1, 6)))).astype(np.float32)
    return one("BUCKETIZE", [("float32", sizes(rng, 2))], ["int32"], "BucketizeOptions", boundaries=bounds.tolist())


def fake_quant(rng: Rng) -> bytes:
    fields: dict[str, Any] = {
        "min": -float(rng.uniform(0, 3)),
        "max": float(rng.uniform(0.1, 3)),
        "numBits": pick(rng, 8, 4),
    }
    return one("FAKE_QUANT", [("float32", sizes(rng, 3))], options="FakeQuantOptions", **fields)


def dilate(rng: Rng) -> bytes:
    shape = sizes(rng, int(rng.integers(1, 4)))
    steps = np.array(sizes(rng, len(shape), 3), np.int32)
    return one("DILATE", [("float32", shape), steps, np.array(-1.5, np.float32)], options="DilateOptions")


def suppression(op: str) -> Make:
    def make(rng: Rng) -> bytes:
        net, count, most = Net(), int(rng.integers(1, 12)), int(rng.integers(1, 8))
        corners = np.sort(rng.uniform(0, 1, (count, 2, 2)), axis=1).astype(np.float32)
        inputs = [net.const("boxes", corners.reshape(count, 4)), net.input("scores", [count])]
        sigma = pick(rng, 0.0, 0.2, 0.5) if op.endswith("V5") else 0.0
        # What factors raise, which are scores below 0, the kernel takes in another order.
        least = 0.05 if sigma else -1.0
        floats = [pick(rng, 0.0, 0.3, 0.7), least, *([sigma] if op.endswith("V5") else [])]
        numbers: list[Any] = [np.array(most, np.int32), *np.array(floats, np.float32)]
        inputs += [net.const(f"c{k}", np.asarray(number)) for k, number in enumerate(numbers)]
        outputs = [net.tensor("found", [most], "int32"), net.tensor("number", [], "int32")]
        if op.endswith("V5"):
            outputs.insert(1, net.tensor("scores_found", [most]))
        options = op.title().replace("_", "") + "Options"
        net.op(op, inputs, outputs, options)
        return net.build(outputs)

    return make


DETECTIONS = {"DETECTION_POSTPROCESS": 1, "DETECTION_POSTPROCESS by class": 1, "DETECTION_POSTPROCESS classes": 2}
"""Case -> how many rows a detection has."""


def detection(rows: int, by_class: bool = False) -> Make:
    def make(rng: Rng) -> bytes:
        net, count, most = Net(), int(rng.integers(3, 12)), int(rng.integers(1, 6))
        kinds = int(rng.integers(rows, 4))
        # Of classes of one box with equal scores the kernel takes any, so they are floats.
        dtype, quant = ("float32", None) if rows > 1 else pick(rng, ("float32", None), ("uint8", Quant(0.02, 100)))
        boxes = net.input("boxes", [1, count, 4], dtype, quant)
        scores = net.input("scores", [1, count, kinds + int(rng.integers(2))], dtype, quant)
        places = rng.uniform(0.1, 0.9, (count, 4)).astype(np.float32)
        if quant is None:
            anchors = net.const("anchors", places)
        else:
            anchors = net.const("anchors", (places * 255).astype(np.uint8), Quant(1 / 255))
        outputs = [net.tensor("found", [1, most * rows, 4]), net.tensor("classes", [1, most * rows])]
        outputs += [net.tensor("best", [1, most * rows]), net.tensor("number", [1])]
        numbers: dict[str, Any] = {
            "max_detections": most,
            "max_classes_per_detection": rows,
            "detections_per_class": int(rng.integers(1, 4)),
            "num_classes": kinds,
            "nms_score_threshold": 0.1,
            "nms_iou_threshold": 0.5,
            "y_scale": 10.0,
            "x_scale": 10.0,
            "h_scale": 5.0,
            "w_scale": 5.0,
            "use_regular_nms": by_class,
        }
        module: Any = flexbuffers
        custom = ("TFLite_Detection_PostProcess", bytes(module.Dumps(numbers)))
        net.op("CUSTOM", [boxes, scores, anchors], outputs, custom=custom)
        return net.build(outputs)

    return make


MORE: dict[str, Make] = {
    **{name: detection(rows, "by class" in name) for name, rows in DETECTIONS.items()},
    "NON_MAX_SUPPRESSION_V4": suppression("NON_MAX_SUPPRESSION_V4"),
    "NON_MAX_SUPPRESSION_V5": suppression("NON_MAX_SUPPRESSION_V5"),
    "BUCKETIZE": bucketize,
    "DILATE": dilate,
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "EMBEDDING_LOOKUP_SPARSE": embedding_lookup_sparse,
    "FAKE_QUANT": fake_quant,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "SCATTER_ND": scatter_nd,
    "SEGMENT_SUM": segment_sum,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "UNSORTED_SEGMENT_MAX": unsorted("UNSORTED_SEGMENT_MAX", "UnsortedSegmentMaxOptions"),
    "UNSORTED_SEGMENT_MIN": unsorted("UNSORTED_SEGMENT_MIN", "UnsortedSegmentMinOptions"),
    "UNSORTED_SEGMENT_PROD": unsorted("UNSORTED_SEGMENT_PROD", "UnsortedSegmentProdOptions"),
    "UNSORTED_SEGMENT_SUM": unsorted("UNSORTED_SEGMENT_SUM", "UnsortedSegmentSumOptions"),
}
