"""Operators of open sizes against onnxruntime: in one program for all, or in parts compiled for few shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.parser
import pytest
from numpy.typing import NDArray
from reference_runtime import onnxruntime_outputs

import whence
from whence.executables.dynamic import DynamicExecutable
from whence.executables.sized import SizedExecutable
from whence.support.errors import FrontendError

Array = NDArray[Any]
RNG = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def parsed(text: str, opset: int = 20) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}, "com.microsoft": 1]> {text}')


def agree(executable: Any, model: onnx.ModelProto, inputs: dict[str, Array]) -> None:
    found = executable.run(inputs)
    for (name, mine), theirs in zip(found.items(), onnxruntime_outputs(model, inputs), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5, err_msg=name)


MADE = """graph (float[n, m] x) => (float[n, m] eye, float[a] halves, int64[b] down, float[n, m, m] one,
    float[n, p] padded) <float zero = {0}, float half = {0.5}, int64 none = {0}, int64 back = {-1},
    float[2] values = {0, 1}, int64[1] eight = {8}, int64[3] at_end = {0, 0, 0}> {
    eye = EyeLike <k = 1> (x)
    s = Shape <start = 1> (x)
    m = Squeeze (s)
    limit = Cast <to = 1> (m)
    halves = Range (zero, limit, half)
    down = Range (m, none, back)
    wide = Cast <to = 7> (x)
    one = OneHot (wide, m, values)
    under = Neg (s)
    rest = Mod (under, eight)
    pads = Concat <axis = 0> (at_end, rest)
    padded = Pad (x, pads)
}"""
ROWS = """graph (float[n, m] x, float[m] weights) => (float[n, m] hot, float[n, m] same, float[n, m] kept,
    bool[n, m] mask, float[n, m] norm) {
    hot = Hardmax <axis = 0> (x)
    slopes = Neg (x)
    same = PRelu (x, slopes)
    kept, mask = Dropout (x)
    norm = LayerNormalization (x, weights)
}"""


@pytest.mark.parametrize("text", [MADE, ROWS], ids=["sizes", "rows"])
def test_what_is_made_of_sizes_is_one_program(text: str):
    model = parsed(text)
    executable = whence.compile(model, tier="symbolic", audit=True)
    for n, m in ((1, 1), (7, 3), (8, 13), (3, 40)):
        agree(executable, model, {"x": floats(n, m), **({"weights": floats(m)} if text is ROWS else {})})


TOP = parsed("""graph (float[n, m] x) => (float[n, k] few, int64[n, k] where, float[n, l] half)
    <int64[1] most = {5}, int64[1] two = {2}> {
    s = Shape <start = 1> (x)
    both = Concat <axis = 0> (s, most)
    k = ReduceMin <keepdims = 1> (both)
    few, where = TopK (x, k)
    l = Div (s, two)
    half, places = TopK <largest = 0> (x, l)
}""")


def test_as_many_of_the_greatest_as_sizes_say():
    executable = whence.compile(TOP, tier="symbolic", audit=True, specialize={"n": 2, "m": 1})
    assert isinstance(executable, SizedExecutable)
    for m in (0, 1, 2, 9, 40):
        x = floats(2, m)
        agree(executable, TOP, {"x": x})
    assert len(executable.specializations) == 1


PRODUCTS = parsed("""graph (uint8[b, n, k] x, int8[b, k, m] w, float[n] u, float[m] v, float[b, n, n] q)
    => (int32[b, n, m] y, float[n, m] outer, float[b, n] diagonal) <uint8 a = {3}, int8 c = {-2}> {
    y = MatMulInteger (x, w, a, c)
    outer = Einsum <equation = "i,j->ij"> (u, v)
    diagonal = Einsum <equation = "bii->bi"> (q)
}""")


def test_products_along_any_number_of_elements():
    executable = whence.compile(PRODUCTS, tier="symbolic", audit=True)
    for b, n, k, m in ((1, 1, 1, 1), (2, 7, 13, 8), (3, 4, 40, 5)):
        small = {"x": RNG.integers(0, 255, (b, n, k), np.uint8), "w": RNG.integers(-60, 60, (b, k, m), np.int8)}
        agree(executable, PRODUCTS, {**small, "u": floats(n), "v": floats(m), "q": floats(b, n, n)})


CACHED = parsed(
    """graph (float[b, n, 16] q, float[b, n, 8] k, float[b, n, 8] v, float[b, 1, p, 8] pk, float[b, 1, p, 8] pv,
    int32[b] last, int32 total) => (float[b, n, 16] y, float[b, 1, t, 8] nk, float[b, 1, t, 8] nv) {
    y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (q, k, v, pk, pv, last, total)
}"""
)


def test_attention_with_a_cache_of_any_length():
    executable = whence.compile(CACHED, tier="symbolic")
    for past, new in ((0, 5), (9, 1), (20, 1)):
        parts = {"q": floats(1, new, 16), "k": floats(1, new, 8), "v": floats(1, new, 8)}
        cache = {"pk": floats(1, 1, past, 8), "pv": floats(1, 1, past, 8)}
        whole = past + new
        counts = {"last": np.full(1, whole - 1, np.int32), "total": np.array(whole, np.int32)}
        agree(executable, CACHED, {**parts, **cache, **counts})


def _boxes(n: int, k: int) -> dict[str, Array]:
    corners = RNG.uniform(0, 9, (1, n, 4)).astype(np.float32)
    return {"x": corners, "s": RNG.random((1, k, n), np.float32)}


SUPPRESSED = """graph (float[1, n, 4] x, float[1, c, n] s) => (int64[k, 3] y)
    <int64[1] most = {4}, float[1] iou = {0.4}, float[1] least = {0.1}> {
    y = NonMaxSuppression (x, s, most, iou, least)
}"""
CHOSEN = "graph (float[n, m] x, int64[1] k) => (float[n, l] y, int64[n, l] i) { y, i = TopK (x, k) }"
SCALES = """graph (float[n, 2, h, w] x) => (float[n, 2, p, q] y) <float[4] twice = {1, 1, 2, 2}> {
    a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
    c = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (b, , twice)
    y = Add (a, c)
}"""
WINDOWS = """graph (float[n, h, 4] x) => (float[p, 16] y)
    <int64[1] four = {4}, int64[1] rest = {-1}, int64[1] all = {16}> {
    n = Shape <end = 1> (x)
    h = Shape <start = 1, end = 2> (x)
    parts = Div (h, four)
    apart = Concat <axis = 0> (n, parts, four, rest)
    a = Reshape (x, apart)
    together = Concat <axis = 0> (rest, all)
    y = Reshape (a, together)
}"""

REPEATED = """graph (float[n, m] x, float[k] times) => (float[n, m] y) <bool yes = {1}> {
    shape = Shape (times)
    k = Squeeze (shape)
    [loop] y = Loop (k, yes, x) <
        body = once (int64 i, bool on, float[n, m] v) => (bool go, float[n, m] w) {
            go = Identity (on) [bend] t = Tanh (v) [add] w = Add (t, x)
        }
    >
}"""


def _repeated(m: int, k: int) -> dict[str, Array]:
    return {"x": floats(3, m), "times": floats(k)}


def _chosen(m: int, k: int) -> dict[str, Array]:
    return {"x": floats(3, m), "k": np.array([k])}


def _windows(n: int, h: int) -> dict[str, Array]:
    return {"x": floats(n, h, 4)}


@pytest.mark.parametrize(
    ("text", "inputs", "calls", "programs"),
    [
        (SUPPRESSED, _boxes, ((3, 2), (9, 1), (100, 3)), 2),
        (CHOSEN, _chosen, ((2, 0), (5, 0), (9, 4), (9, 9), (40, 7)), 4),
        (WINDOWS, _windows, ((1, 4), (2, 12), (3, 40), (5, 8)), 2),
        (REPEATED, _repeated, ((1, 0), (4, 1), (16, 3), (17, 2), (33, 5), (8, 40)), 3),
    ],
    ids=["suppressed", "chosen", "windows", "repeated"],
)
def test_parts_are_compiled_for_few_shapes(
    text: str, inputs: Callable[..., dict[str, Array]], calls: tuple[tuple[int, int], ...], programs: int
):
    """Where values decide a shape, or sizes have to be multiples: specialised for what comes first, then for all."""
    model = parsed(text)
    executable = whence.compile(model)
    assert isinstance(executable, DynamicExecutable)
    for sizes in calls:
        agree(executable, model, inputs(*sizes))
    assert len(executable.specializations) <= programs


def test_sizes_that_are_no_multiples_are_specialised_for():
    model = parsed(SCALES)
    executable = whence.compile(model)
    assert isinstance(executable, DynamicExecutable)
    for h, programs in ((8, 1), (16, 1), (40, 1), (9, 2)):
        agree(executable, model, {"x": floats(1, 2, h, 8)})
        assert len(executable.specializations) == programs
    with pytest.raises(FrontendError):
        executable.run({"x": floats(1, 2, 6, 8)})
    agree(executable, model, {"x": floats(1, 2, 24, 8)})
    # A first call with no multiples has one program for some, not a shorter one for all sizes and the rest.
    executable = whence.compile(model)
    assert isinstance(executable, DynamicExecutable)
    agree(executable, model, {"x": floats(1, 2, 9, 8)})
    assert len(executable.specializations) == 1


def test_a_signal_is_at_least_a_window():
    model = parsed("""graph (float[n, t, 1] x) => (float[n, f, 5, 2] y) <int64 step = {4}, int64 length = {8}> {
        y = STFT (x, step, , length)
    }""")
    executable = whence.compile(model, tier="symbolic", audit=True)
    for n, t in ((1, 8), (2, 33)):
        agree(executable, model, {"x": floats(n, t, 1)})
    with pytest.raises(FrontendError, match=r"dimension 1 of .* 'x': expected 8 <= t, got t = 7"):
        executable.run({"x": floats(1, 7, 1)})


EDGES = """graph (float[n, m] x, float[k] y)
    => (float[n, k] fit, float[n, k] near, float[n, k] back, float[k, k] middle, float[n, p] part,
    float[q, m] shift)
    <int64[3] at_begin = {0, 0, 0}, int64[1] zero = {0}, int64[1] last = {1}, int64[1] three = {3},
    int64[3] by_one = {1, -1, 0}, int64[2] pairs = {-1, 2}, int64[1] all = {-1}, int64[1] far = {-9223372036854775807},
    int64 none = {0}, int64 two = {2}> {
    m = Shape <start = 1> (x)
    k = Shape (y)
    more = Sub (k, m)
    pads = Concat <axis = 0> (at_begin, more)
    [fit] fit = Pad (x, pads)
    [near] near = Pad <mode = "edge"> (x, pads)
    [back] back = Pad <mode = "reflect"> (x, pads)
    both = Concat <axis = 0> (k, k)
    [middle] middle = CenterCropPad (x, both)
    end = Sub (k, three)
    [part] part = Slice (x, zero, end, last)
    few = Clip (k, none, two)
    flat = Concat <axis = 0> (by_one, few)
    rows = Reshape (flat, pairs)
    turned = Slice (rows, all, far, zero, all)
    columns = Transpose <perm = [1, 0]> (turned)
    widths = Reshape (columns, all)
    [shift] shift = Pad (x, widths)
}"""
IMAGES = """graph (float[1, 2, h, w] x, float[1, 2, 3] t, float[a, b] y)
    => (float[1, 2, p, q] small, float[1, 2, a, b] sized, float[1, 2, a, b] moved, float[1, 2, h, w] kept)
    <float[4] scales = {1, 1, 0.6, 0.3}> {
    [small] small = Resize <mode = "linear", antialias = 1> (x, , scales)
    ab = Shape (y)
    [sized] sized = Resize <mode = "cubic", antialias = 1, exclude_outside = 1, axes = [2, 3]> (x, , , ab)
    nc = Shape <end = 2> (x)
    whole = Concat <axis = 0> (nc, ab)
    [points] points = AffineGrid <align_corners = 1> (t, whole)
    [moved] moved = GridSample <mode = "cubic", padding_mode = "reflection"> (x, points)
    hw = Shape (x)
    v, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    [kept] kept = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (v, i, hw)
}"""
BRANCHES = """graph (float[n, m] x) => (float[n, m] either, float[n, p] few, float[q] ones)
    <int64[1] zero = {0}, int64[1] eight = {8}, int64[1] axis = {1}, float one = {1}> {
    m = Shape <start = 1> (x)
    n = Shape <end = 1> (x)
    wide = Greater (m, eight)
    alike = Equal (m, n)
    no = Not (alike)
    asked = And (wide, no)
    [either] either = If (asked) <
        then_branch = t () => (a) { a = Relu (x) }, else_branch = e () => (b) { r = Neg (x) b = Exp (r) } >
    [few] few = If (wide) <
        then_branch = u () => (c) { c = Slice (x, zero, eight, axis) }, else_branch = f () => (d) { d = Tanh (x) } >
    least = Where (wide, eight, m)
    [ones] ones = Expand (one, least)
}"""


def _edges(n: int, m: int, k: int) -> dict[str, Array]:
    return {"x": floats(n, m), "y": floats(k)}


def _images(h: int, w: int, a: int, b: int) -> dict[str, Array]:
    # Coordinates far outside are reflected often, which rounds them often.
    return {"x": floats(1, 2, h, w), "t": 0.3 * floats(1, 2, 3), "y": floats(a, b)}


def _branches(n: int, m: int) -> dict[str, Array]:
    return {"x": floats(n, m)}


MADE_OF_LENGTHS = """graph (float[n] x, float[k] bands)
    => (float[n] hann, float[n] hamming, float[n] black, float[p, k] mel)
    <int64 rate = {16000}, float low = {20}, float high = {7600}> {
    shape = Shape (x)
    n = Squeeze (shape)
    count = Shape (bands)
    k = Squeeze (count)
    [hann] hann = HannWindow (n)
    [hamming] hamming = HammingWindow (n)
    [black] black = BlackmanWindow (n)
    [mel] mel = MelWeightMatrix (k, n, rate, low, high)
}"""
MULTIPLES = """graph (float[n, 3, h, w] x, float[a, b] y, int8[c, m] q, float[c, j] scales, float[1, 8, l] parts)
    => (float[n, 12, i, j] apart, float[n, 3, e, f] fit, float[n, 3, r, t] cover, float[c, m] real,
    float[1, 2, h, w] image)
    <int64[2] block = {2, 2}> {
    [apart] apart = SpaceToDepth <blocksize = 2> (x)
    ab = Shape (y)
    [fit] fit = Resize <mode = "linear", keep_aspect_ratio_policy = "not_larger", axes = [2, 3]> (x, , , ab)
    [cover] cover = Resize <mode = "cubic", antialias = 1, keep_aspect_ratio_policy = "not_smaller", axes = [2, 3]>
        (x, , , ab)
    [real] real = DequantizeLinear <axis = 1, block_size = 4> (q, scales)
    hw = Shape <start = 2> (x)
    [image] image = Col2Im (parts, hw, block)
}"""
LOSSES = """graph (float[n, c, d] x, int64[n, d] t, float[n, h, s, 8] q, float[n, h, u, 8] k, float[n, h, u, 8] v,
    float[m, 9] z) => (float loss, float[n, c, d] odds, float[n, d] one, float[n, h, s, 8] y, int64 parts,
    float[o, 9] end, float[m, 4] middle)
    <int64 three = {3}, int64 last = {-1}, int64 second = {1}, int64[3] sizes = {2, 4, 3}> {
    [loss] loss, odds = SoftmaxCrossEntropyLoss (x, t)
    [one] one = NegativeLogLikelihoodLoss <reduction = "none", ignore_index = 0> (x, t)
    [attend] y = Attention <is_causal = 1> (q, k, v)
    [rows] rows = SplitToSequence (z, three)
    [parts] parts = SequenceLength (rows)
    [end] end = SequenceAt (rows, last)
    [columns] columns = SplitToSequence <axis = 1> (z, sizes)
    [middle] middle = SequenceAt (columns, second)
}"""


def _lengths(n: int, k: int) -> dict[str, Array]:
    return {"x": floats(n), "bands": floats(k)}


def _multiples(n: int, h: int, w: int, a: int, b: int, c: int, m: int) -> dict[str, Array]:
    quantised = {"q": RNG.integers(-90, 90, (c, m), np.int8), "scales": np.abs(floats(c, -(-m // 4)))}
    return {"x": floats(n, 3, h, w), "y": floats(a, b), **quantised, "parts": floats(1, 8, (h - 1) * (w - 1))}


def _losses(n: int, c: int, d: int, h: int, s: int, u: int, m: int) -> dict[str, Array]:
    targets = {"x": floats(n, c, d), "t": RNG.integers(0, c, (n, d)), "z": floats(m, 9)}
    return {**targets, "q": floats(n, h, s, 8), "k": floats(n, h, u, 8), "v": floats(n, h, u, 8)}


LENGTHS = ((1, 1), (3, 2), (16, 5), (17, 16), (1001, 40), (512, 80))
PICTURES = (
    (1, 2, 2, 1, 1, 1, 1),
    (2, 4, 6, 3, 9, 3, 4),
    (1, 16, 16, 8, 7, 16, 17),
    (3, 34, 18, 16, 31, 5, 8),
    (1, 8, 64, 40, 33, 0, 7),
    (1, 32, 2, 5, 50, 9, 33),
)
CLASSES = (
    (1, 1, 1, 1, 1, 1, 1),
    (2, 3, 4, 3, 4, 5, 3),
    (7, 16, 1, 2, 16, 16, 16),
    (3, 17, 5, 5, 1, 33, 17),
    (1, 1000, 2, 16, 7, 7, 100),
    (33, 8, 9, 1, 3, 2, 8),
)


@pytest.mark.parametrize(
    ("text", "inputs", "calls", "level"),
    [
        (MADE_OF_LENGTHS, _lengths, LENGTHS, 3),
        (MADE_OF_LENGTHS, _lengths, LENGTHS[-2:], 0),
        (MULTIPLES, _multiples, PICTURES, 3),
        (MULTIPLES, _multiples, PICTURES, 0),
        (LOSSES, _losses, CLASSES, 3),
        (LOSSES, _losses, CLASSES, 0),
        (EDGES, _edges, ((1, 1, 1), (2, 7, 4), (3, 8, 8), (2, 5, 8), (3, 40, 33)), 3),
        (EDGES, _edges, ((1, 1, 1), (2, 7, 4), (2, 5, 8)), 0),
        (IMAGES, _images, ((4, 4, 2, 2), (8, 6, 5, 9), (16, 34, 40, 12)), 3),
        (BRANCHES, _branches, ((1, 1), (2, 7), (2, 8), (9, 9), (3, 9), (2, 129), (0, 9)), 3),
        (BRANCHES, _branches, ((1, 1), (9, 9), (3, 9), (0, 9)), 0),
    ],
    ids=[
        "lengths",
        "lengths-0",
        "multiples",
        "multiples-0",
        "losses",
        "losses-0",
        "edges",
        "edges-0",
        "images",
        "branches",
        "branches-0",
    ],
)
def test_what_sizes_decide_is_one_program(
    text: str, inputs: Callable[..., dict[str, Array]], calls: tuple[tuple[int, ...], ...], level: int
):
    """Whether a border is put on or cut off, how far a filter reaches, which branch is taken."""
    model = parsed(text, 23 if text is LOSSES else 21)
    executable = whence.compile(model, tier="symbolic", audit=True, opt_level=level)
    for sizes in calls:
        agree(executable, model, inputs(*sizes))


def test_layers_that_sizes_decide_on_are_told():
    executable = whence.compile(parsed(BRANCHES), tier="symbolic", opt_level=0)
    named = {location for kernel in executable.kernels for location in str(executable.why(kernel)).split()}
    assert {"either", "few", "ones"} <= named


def test_nothing_is_padded_or_cut_of_empty_axes():
    model = parsed("""graph (float[n, m] x, float[k] y) => (float[n, k] fit) <int64[3] at_begin = {0, 0, 0}> {
        m = Shape <start = 1> (x)
        k = Shape (y)
        more = Sub (k, m)
        pads = Concat <axis = 0> (at_begin, more)
        fit = Pad (x, pads)
    }""")
    executable = whence.compile(model, tier="symbolic")
    for n, m, k in ((2, 0, 3), (2, 3, 0), (0, 3, 4), (0, 0, 0)):
        agree(executable, model, _edges(n, m, k))


def test_transforms_of_any_length():
    model = parsed("""graph (float[n, t, 1] x) => (float[n, t, 2] whole, float[n, f, 2] half, float[n, l, 1] again) {
        whole = DFT (x)
        half = DFT <onesided = 1> (x)
        again = DFT <inverse = 1, onesided = 1> (half)
    }""")
    executable = whence.compile(model, tier="symbolic", audit=True)
    for n, t in ((1, 2), (2, 8), (1, 30), (3, 128)):
        x = floats(n, t, 1)
        found = executable.run({"x": x})
        for name, wanted in (("whole", np.fft.fft(x[..., 0])), ("half", np.fft.rfft(x[..., 0]))):
            np.testing.assert_allclose(found[name], np.stack([wanted.real, wanted.imag], -1), atol=1e-4)
        np.testing.assert_allclose(found["again"], x, atol=1e-5)


def test_branches_of_other_ranks_are_parts():
    model = parsed("""graph (float[n, m] x) => (z) <int64[1] one = {1}, int64[1] flat = {-1}> {
        m = Shape <start = 1> (x)
        c = Equal (m, one)
        z = If (c) <
            then_branch = t () => (a) { a = Reshape (x, flat) }, else_branch = e () => (b) { b = Neg (x) } >
    }""")
    with pytest.raises(FrontendError, match="If: expected outputs of one rank from both branches"):
        whence.compile(model, tier="symbolic")
    executable = whence.compile(model)
    for n, m in ((2, 3), (4, 1)):
        agree(executable, model, {"x": floats(n, m)})


def test_sizes_keep_the_dtype_that_they_are_cast_to():
    model = parsed("""graph (float[n, m] x, int32[2] y) => (int32[2] sum, int32[2] sizes, int32 taken, uint32 wide)
        <int32 zero = {0}, int32 one = {1}> {
        shape = Shape (x)
        sizes = Cast <to = 6> (shape)
        sum = Add (sizes, y)
        n = Gather (sizes, zero)
        m = Gather (sizes, one)
        fewer = Less (n, m)
        nn = Mul (n, n)
        taken = Where (fewer, nn, m)
        wide = Cast <to = 12> (n)
    }""")
    executable = whence.compile(model, tier="symbolic", audit=True)
    for n, m in ((3, 4), (4, 3), (0, 1), (1, 0)):
        agree(executable, model, {"x": floats(n, m), "y": np.array([1, -2], np.int32)})
