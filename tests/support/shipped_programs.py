"""Programs in which values decide, with calls of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import language_programs as programs
import numpy as np
import onnx.parser
from numpy.typing import NDArray

from whence.runtime.interpreting.flow import Adt

Array = NDArray[Any]
EXPORTS = Path(__file__).parents[1] / "exports"

IF = """graph (bool c, float[2, 3] x) => (float[2, 3] y) {
    [choice] y = If (c) <
        then_branch = yes () => (float[2, 3] t) { [first] t = Exp (x) },
        else_branch = no () => (float[2, 3] e) { [second] e = Abs (x) }>
}"""
CACHE = """graph (int64 n, float[1, p, 4] past, float[1, 1, 4] q) => (float[1, r, 4] all, float[1, 1, 4] last) {
    yes = Constant <value = bool {1}> ()
    [decode] all, last = Loop (n, yes, past, q) <body = step
        (int64 i, bool go, float[1, k, 4] keys, float[1, 1, 4] token)
        => (bool more, float[1, l, 4] grown, float[1, 1, 4] next) {
            more = Identity (go)
            [grow] grown = Concat <axis = 1> (keys, token)
            turned = Transpose <perm = [0, 2, 1]> (grown)
            scores = MatMul (token, turned)
            weights = Softmax (scores)
            [next] next = MatMul (weights, grown)
        }>
}"""
SCAN = """graph (float[2] start, float[T, 2] rows) => (float[2] final, float[T, 2] sums) {
    [scan] final, sums = Scan (start, rows) <num_scan_inputs = 1, body = one
        (float[2] s, float[2] r) => (float[2] after, float[2] out) {
            after = Add (s, r)
            out = Identity (after)
        }>
}"""
BOXES = """graph (float[1, n, 4] boxes, float[1, 1, n] scores, float[8, 2] w) => (float[k, 4] kept, int64[k, 3] rows)
<int64[1] most = {10}, float[1] overlap = {0.5}, float[1] least = {0.1}, int64[1] column = {2}, int64[1] one = {1},
 int64[1] first = {0}> {
    [nms] rows = NonMaxSuppression (boxes, scores, most, overlap, least)
    [which] which = Gather <axis = 1> (rows, column)
    [flat] flat = Squeeze (which, one)
    [alone] alone = Squeeze (boxes, first)
    [pick] kept = Gather <axis = 0> (alone, flat)
}"""
DRAWN = """graph (int64 n, float[3] x) => (float[3] y) {
    yes = Constant <value = bool {1}> ()
    [again] y = Loop (n, yes, x) <body = step (int64 i, bool go, float[3] a) => (bool more, float[3] b) {
        more = Identity (go)
        noise = RandomUniformLike (a)
        [add] b = Add (a, noise)
    }>
}"""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 18]> ' + text)


def drawn(specs: Sequence[Any], extent: int, seed: int) -> dict[str, Any]:
    """Values for inputs, with an extent where a call decides."""
    rng, values = np.random.default_rng(seed), dict[str, Any]()
    for spec in specs:
        shape = [extent if n < 0 else n for n in spec.shape]
        if spec.dtype.hasobject:
            values[spec.name] = np.full(shape, "the text", object)
        elif spec.dtype.kind == "b":
            values[spec.name] = rng.integers(0, 2, shape).astype(bool)
        elif spec.dtype.kind in "iu":
            values[spec.name] = rng.integers(0, 5, shape).astype(spec.dtype)
        else:
            values[spec.name] = rng.standard_normal(shape).astype(spec.dtype)
    return values


def boxes(count: int) -> dict[str, Array]:
    rng = np.random.default_rng(count)
    corners = rng.random((1, count, 2), np.float32)
    return {
        "boxes": np.concatenate([corners, corners + np.float32(0.3)], -1),
        "scores": rng.random((1, 1, count), np.float32),
        "w": np.ones((8, 2), np.float32),
    }


def listed(rows: Sequence[Array]) -> Adt:
    value = Adt(1, "Nil")
    for row in reversed(rows):
        value = Adt(0, "Cons", (row, value))
    return value


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def whole(*numbers: int) -> list[Array]:
    return [np.array(number, np.int32) for number in numbers]


MODELS: dict[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "branches": (IF, [{"c": np.array(c), "x": floats(2, 3)} for c in (True, False)]),
    "cache that grows": (
        CACHE,
        [{"n": np.array(n), "past": floats(1, p, 4), "q": floats(1, 1, 4)} for n, p in ((2, 3), (4, 5))],
    ),
    "scan": (SCAN, [{"start": floats(2), "rows": floats(n, 2)} for n in (3, 5)]),
    "boxes": (BOXES, [boxes(count) for count in (6, 9)]),
}
FILES = (
    *("detector.onnx", "jax/loops.mlir", "ml/c_dt_3.onnx", "ml/s_textclf.onnx", "pytorch/branches.pt2"),
    *("pytorch/chosen.pt2", "pytorch/counted.pt2", "pytorch/loops.pt2", "tflite/gru_loop.float.tflite"),
)
LANGUAGE: dict[str, tuple[str, Sequence[Sequence[Any]]]] = {
    "rows that grow": (programs.GROWING, [(floats(2, 2), np.int32(2)), (floats(5, 2), np.int32(4))]),
    "functions that call each other": (programs.ARITHMETIC, [whole(3), whole(8)]),
    "a list of steps": (
        programs.LSTM,
        [(floats(16, 8), floats(16), floats(1, 4), floats(1, 4), listed([floats(1, 4)] * n)) for n in (2, 3)],
    ),
    "shapes that values decide": (
        programs.DECIDED,
        [(floats(3, 4), n, np.array([1, 0, 0, 1, 1, 0], bool)) for n in (1, 2)],
    ),
    "loop": (programs.WHILE, [(floats(4), np.float32(20))]),
}
