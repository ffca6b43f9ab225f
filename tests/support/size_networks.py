"""Small networks whose sizes are as those of known ones: lengths that values say, windows, maps that are added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from loop_models import CallableModel, parsed
from numpy.typing import NDArray

Array = NDArray[Any]
RNG = np.random.default_rng(5)
LENGTHS = (5, 12, 30, 1, 64)
CHUNKS = (16, 8, 32, 64, 24)
PICTURES = ((1, 64, 64), (1, 96, 64), (2, 32, 160), (1, 32, 32), (1, 128, 96))
"""Sizes of five calls."""


def _weight(name: str, *shape: int) -> str:
    numbers = ", ".join(map(str, (0.3 * RNG.standard_normal(shape)).astype(np.float32).reshape(-1).tolist()))
    return f"float[{', '.join(map(str, shape))}] {name} = {{{numbers}}}"


def _words(rows: int, lengths: Sequence[int]) -> Callable[[int], dict[str, Array]]:
    def inputs(call: int) -> dict[str, Array]:
        return {"ids": np.random.default_rng(call).integers(0, 20, (rows, lengths[call]))}

    return inputs


def speech() -> CallableModel:
    """In the manner of VITS: durations are computed, and a path of letters to frames of their sums; then upsampled."""
    model = parsed(f"""
    speech (int64[1, t] ids) => (float[1, 1, s] audio)
    <{_weight("table", 20, 8)}, {_weight("durations", 1, 8, 1)}, {_weight("mixed", 8, 8, 3)}, {_weight("up", 8, 1, 4)},
     float three = {{3}}, float least = {{1}}, int64[2] inner = {{1, 2}}, int64 zero = {{0}}, int64 one = {{1}},
     int64 last = {{2}}, int64[1] a0 = {{0}}, int64[1] a1 = {{1}}, int64[1] flat = {{-1}},
     int64[4] above = {{1, 0, 0, 0}}> {{
        e = Gather (table, ids)
        x = Transpose <perm = [0, 2, 1]> (e)
        logs = Conv <kernel_shape = [1]> (x, durations)
        real = Exp (logs) scaled = Mul (real, three) d = Ceil (scaled)
        total = ReduceSum <keepdims = 0> (d, inner)
        some = Clip (total, least)
        frames = Cast <to = 7> (some)
        most = ReduceMax <keepdims = 0> (frames)
        places = Range (zero, most, one)
        row = Unsqueeze (places, a0) column = Unsqueeze (frames, a1) inside = Less (row, column)
        mask0 = Cast <to = 1> (inside) mask = Unsqueeze (mask0, a1)
        ends0 = CumSum (d, last) ends1 = Reshape (ends0, flat) ends = Unsqueeze (ends1, a1)
        real_places = Cast <to = 1> (places) numbers = Unsqueeze (real_places, a0)
        before = Less (numbers, ends) p = Cast <to = 1> (before)
        padded = Pad (p, above) previous = Slice (padded, a0, flat, a0) path0 = Sub (p, previous)
        path1 = Unsqueeze (path0, a0) path = Transpose <perm = [0, 2, 1]> (path1)
        z0 = MatMul (path, e) z1 = Transpose <perm = [0, 2, 1]> (z0) z = Mul (z1, mask)
        o1 = Conv <kernel_shape = [3], pads = [1, 1]> (z, mixed) o2 = LeakyRelu (o1)
        o3 = ConvTranspose <kernel_shape = [4], strides = [2], pads = [1, 1]> (o2, up)
        audio = Tanh (o3)
    }}""")
    return CallableModel(model, _words(1, LENGTHS))


def regulated() -> CallableModel:
    """In the manner of FastSpeech: each letter as often as its duration says, found by NonZero and gathered."""
    model = parsed(f"""
    regulated (int64[one, t] ids) => (float[s, 4] y)
    <{_weight("table", 20, 8)}, {_weight("durations", 8, 1)}, {_weight("out", 8, 4)},
     float least = {{1}}, float f = {{0.1}}, float six = {{6}}, int64 zero = {{0}}, int64 one = {{1}},
     int64[1] a0 = {{0}}, int64[1] a1 = {{1}}, int64[1] flat = {{-1}}> {{
        letters = Reshape (ids, flat)
        e = Gather (table, letters)
        logs = MatMul (e, durations) positive = Relu (logs) scaled = Mul (positive, six) up = Ceil (scaled)
        column0 = Squeeze (up, a1) column = Add (column0, least) d = Cast <to = 7> (column)
        most = ReduceMax <keepdims = 0> (d)
        numbers = Range (zero, most, one)
        du = Unsqueeze (d, a1) ru = Unsqueeze (numbers, a0) inside = Less (ru, du)
        found = NonZero (inside)
        rows = Slice (found, a0, a1, a0) which = Squeeze (rows, a0)
        long = Gather (e, which)
        shape = Shape (long) frames = Gather (shape, zero)
        places = Range (zero, frames, one) real = Cast <to = 1> (places) angle = Mul (real, f) wave = Sin (angle)
        waves = Unsqueeze (wave, a1) placed = Add (long, waves) y = MatMul (placed, out)
    }}""")
    return CallableModel(model, _words(1, LENGTHS))


def padded_windows() -> CallableModel:
    """Attention in windows of 8 tokens, of a sentence that is padded to whole windows and cut again."""
    model = parsed(f"""
    windows (int64[b, t] ids) => (float[b, t, 8] y)
    <{_weight("table", 20, 8)}, {_weight("key", 8, 8)}, int64 w = {{8}}, int64 zero = {{0}}, int64 one = {{1}},
     int64[1] a0 = {{0}}, int64[1] a1 = {{1}}, int64[4] ahead = {{0, 0, 0, 0}}, int64[2] window = {{8, 8}},
     int64[1] width = {{8}}> {{
        e0 = Gather (table, ids)
        shape = Shape (ids) t = Gather (shape, one) b = Gather (shape, zero)
        rest = Mod (t, w) lack0 = Sub (w, rest) lack = Mod (lack0, w)
        lack1 = Unsqueeze (lack, a0) pads = Concat <axis = 0> (ahead, lack1, a0) e = Pad (e0, pads)
        whole = Shape (e) long = Gather (whole, one) count = Div (long, w)
        b1 = Unsqueeze (b, a0) count1 = Unsqueeze (count, a0)
        parted = Concat <axis = 0> (b1, count1, window) x = Reshape (e, parted)
        k = MatMul (x, key) kt = Transpose <perm = [0, 1, 3, 2]> (k)
        scores = MatMul (x, kt) odds = Softmax <axis = -1> (scores) o = MatMul (odds, x)
        long1 = Unsqueeze (long, a0) joined = Concat <axis = 0> (b1, long1, width) flat = Reshape (o, joined)
        t1 = Unsqueeze (t, a0) y = Slice (flat, a0, t1, a1)
    }}""")
    return CallableModel(model, _words(2, LENGTHS))


def sliding_chunks() -> CallableModel:
    """In the manner of Longformer: chunks of 8 tokens, and those half a chunk apart; sentences are whole chunks."""
    offsets = ", ".join(map(str, range(8)))
    model = parsed(f"""
    chunks (int64[b, t] ids) => (float[b, n, 8] y)
    <{_weight("table", 20, 8)}, {_weight("key", 8, 8)}, int64 w = {{8}}, int64 half = {{4}},
     int64 zero = {{0}}, int64 one = {{1}},
     int64 two = {{2}}, int64[1] a0 = {{0}}, int64[1] a1 = {{1}}, int64[1] a2 = {{2}}, int64[2] window = {{8, 8}},
     int64[1, 8] inside = {{{offsets}}}> {{
        e = Gather (table, ids)
        shape = Shape (e) t = Gather (shape, one) b = Gather (shape, zero)
        count = Div (t, w) b1 = Unsqueeze (b, a0) count1 = Unsqueeze (count, a0)
        parted = Concat <axis = 0> (b1, count1, window) chunks = Reshape (e, parted)
        twice = Mul (count, two) number = Sub (twice, one) numbers = Range (zero, number, one)
        starts0 = Mul (numbers, half) starts = Unsqueeze (starts0, a1) places = Add (starts, inside)
        x = Gather <axis = 1> (e, places)
        k = MatMul (x, key) kt = Transpose <perm = [0, 1, 3, 2]> (k)
        scores = MatMul (x, kt) odds = Softmax <axis = -1> (scores) o = MatMul (odds, x)
        mean = ReduceMean <axes = [1, 2], keepdims = 0> (o) mean1 = Unsqueeze (mean, a1)
        sums = ReduceSum <keepdims = 0> (chunks, a2) y = Add (sums, mean1)
    }}""")
    return CallableModel(model, _words(2, CHUNKS))


def pyramid() -> CallableModel:
    """In the manner of YOLO: maps of 3 scales, of which the small ones are enlarged and joined to the next."""
    weights = [_weight(f"w{k}", 4, 3 if k == 0 else 4, 3, 3) for k in range(5)]
    weights += [_weight(f"v{k}", 4, 8, 1, 1) for k in range(2)]
    strided = "<strides = [2, 2], kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"
    down = "".join(
        f"c{k} = Conv {strided} ({f's{k - 1}' if k else 'x'}, w{k})\ng{k} = Sigmoid (c{k}) s{k} = Mul (c{k}, g{k})\n"
        for k in range(5)
    )
    resize = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
    model = parsed(f"""
    pyramid (float[batch, 3, height, width] x) => (float[batch, n, 4] y)
    <{", ".join(weights)}, float[4] twice = {{1, 1, 2, 2}}, int64[3] rows = {{0, 4, -1}}> {{
        {down}
        u0 = Resize {resize} (s4, , twice) m0 = Concat <axis = 1> (u0, s3) o0 = Conv <kernel_shape = [1, 1]> (m0, v0)
        u1 = Resize {resize} (o0, , twice) m1 = Concat <axis = 1> (u1, s2) o1 = Conv <kernel_shape = [1, 1]> (m1, v1)
        f0 = Reshape (s4, rows) f1 = Reshape (o0, rows) f2 = Reshape (o1, rows)
        all = Concat <axis = 2> (f0, f1, f2) y = Transpose <perm = [0, 2, 1]> (all)
    }}""")

    def inputs(call: int) -> dict[str, Array]:
        batch, height, width = PICTURES[call]
        picture = np.random.default_rng(call).standard_normal((batch, 3, height, width))
        return {"x": picture.astype(np.float32)}

    return CallableModel(model, inputs)


NETWORKS: dict[str, Callable[[], CallableModel]] = {
    "speech": speech,
    "regulated": regulated,
    "padded windows": padded_windows,
    "sliding chunks": sliding_chunks,
    "pyramid": pyramid,
}
"""By name."""
