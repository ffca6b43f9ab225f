"""How nodes of operators that networks are made of are drawn: products, windows, recurrences, images, quantization."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from random_onnx import Program, Redraw, Value, is_float
from random_onnx_elementwise import Recipe

_REAL = ("float32", "float64")


def _real(dtype: np.dtype[Any]) -> bool:
    return dtype.name in _REAL


def _numbers(dtype: np.dtype[Any]) -> bool:
    return dtype.name in ("float16", *_REAL) or (dtype.itemsize > 2 and not is_float(dtype))


def matmul(p: Program) -> None:
    dtype = p.dtype("MatMul", among=_numbers)
    x = p.tensor(dtype, rank=(1, 4))
    batch = p.partner(x.shape[:-2])
    shape = (x.shape[-1],) if p.chance(0.15) else (*batch, x.shape[-1], p.size(9))
    p.emit("MatMul", x, p.fresh(shape, dtype, -2, 2), gain=10, steps=8 + 2 * x.shape[-1])


def gemm(p: Program) -> None:
    dtype = p.dtype("Gemm", among=_numbers)
    a = p.tensor(dtype, rank=(2, 2))
    turned, other = p.choice((None, 0, 1)), p.choice((None, 0, 1))
    m, k = a.shape[::-1] if turned else a.shape
    n = p.size(9)
    b = p.fresh((n, k) if other else (k, n), dtype, -2, 2)
    c = p.fresh(p.choice(((m, n), (n,), (1, n), (m, 1), (), (1,))), dtype) if p.chance(0.6) else None
    # onnxruntime does not scale the addend of a product without terms.
    betas = (None, 2.0) if k else (None,)
    alpha, beta = (p.choice((None, 0.5)), p.choice(betas)) if is_float(dtype) else (None, None)
    p.emit("Gemm", a, b, c, transA=turned, transB=other, alpha=alpha, beta=beta, gain=10, steps=8 + 2 * k)


_EQUATIONS = (
    "ij,jk->ik",
    "ij->ji",
    "ij,ij->i",
    "bij,bjk->bik",
    "i,j->ij",
    "ii->i",
    "ij->",
    "...i,ij->...j",
    "bhid,bhjd->bhij",
    "ij,j",
    "ijk->k",
)


def einsum(p: Program) -> None:
    equation = p.choice(_EQUATIONS)
    dtype = p.dtype("Einsum", among=lambda d: d.name in (*_REAL, "int32", "int64"))
    extents: dict[str, int] = {}
    dots = p.shape(0, 2, False)
    operands: list[Value] = []
    for term in equation.split("->")[0].split(","):
        dims = [extents.setdefault(letter, p.size(5)) for letter in term.replace("...", "")]
        operands.append(p.fresh((*(dots if "..." in term else ()), *dims), dtype))
    p.emit("Einsum", *operands, equation=equation, gain=10, steps=60)


def det(p: Program) -> None:
    n = p.size(4)
    x = p.array((*p.shape(0, 2, False), n, n), p.choice(_REAL), -1, 1)
    p.emit("Det", p.given((x + 2 * np.eye(n)).astype(x.dtype)), steps=200)


def _spatial(p: Program, rank: int, least: int = 1) -> list[int]:
    return [p.size(9, least) for _ in range(rank)]


def _windows(p: Program, extents: list[int], kernel: list[int], dilated: bool = True) -> dict[str, Any]:
    """Strides, pads and dilations with which every window lies at least partly inside."""
    rank = len(extents)
    dilations = [p.choice((1, 1, 2)) for _ in range(rank)] if dilated and p.chance(0.4) else None
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or [1] * rank, strict=True)]
    strides = [p.dice.randint(1, 3) for _ in range(rank)] if p.chance(0.6) else None
    pads: list[int] | None = [p.dice.randint(0, min(2, k - 1)) for k in kernel * 2]
    auto = None
    if p.chance(0.25) and (dilations is None or max(dilations) == 1):
        auto, pads = p.choice(("SAME_UPPER", "SAME_LOWER", "VALID")), None
    elif p.chance(0.3):
        pads = None
    if auto and auto.startswith("SAME") and strides and any(s > k for s, k in zip(strides, kernel, strict=True)):
        # Here onnxruntime's outputs are smaller than the standard's.
        raise Redraw
    total = [a + b for a, b in zip(pads[:rank], pads[rank:], strict=True)] if pads else [0] * rank
    if auto is None or auto == "VALID":
        if any(n + t < s for n, t, s in zip(extents, total, spans, strict=True)):
            raise Redraw
    return {"dilations": dilations, "strides": strides, "pads": pads, "auto_pad": auto}


def conv(p: Program) -> None:
    rank, groups = p.choice((1, 2, 2, 2, 3)), p.choice((1, 1, 2, 3))
    extents, kernel = _spatial(p, rank), [p.size(3) for _ in range(rank)]
    windows = _windows(p, extents, kernel)
    deep = groups * p.size(4), groups * p.size(4)
    dtype = p.dtype("Conv", among=_real)
    x = p.fresh((p.size(2), deep[0], *extents), dtype)
    for value in p.made:
        if value.dtype == dtype and value.rank == rank + 2 and value.shape[1:] == x.shape[1:]:
            x = value
    w = p.fresh((deep[1], deep[0] // groups, *kernel), dtype)
    bias = p.fresh((deep[1],), dtype) if p.chance(0.5) else None
    shape = kernel if p.chance(0.7) else None
    p.emit("Conv", x, w, bias, kernel_shape=shape, group=groups, gain=20, steps=100, **windows)


def conv_transpose(p: Program) -> None:
    rank, groups = p.choice((1, 2, 2, 3)), p.choice((1, 1, 2))
    extents, kernel = _spatial(p, rank), [p.size(3) for _ in range(rank)]
    windows = _windows(p, [n + 3 for n in extents], kernel)
    strides, dilations = windows["strides"] or [1] * rank, windows["dilations"] or [1] * rank
    pads = windows["pads"] or [0] * 2 * rank
    for n, k, s, d, a, b in zip(extents, kernel, strides, dilations, pads[:rank], pads[rank:], strict=True):
        # Like onnxruntime we refuse what leaves nothing.
        if (n - 1) * s + (k - 1) * d + 1 - a - b < 1:
            raise Redraw
    more = [p.dice.randint(0, s - 1) for s in strides] if p.chance(0.4) and windows["auto_pad"] is None else None
    # What onnxruntime does not have, the reference evaluator gives the first group's biases in every group.
    dtype = p.dtype("ConvTranspose", among=_real if groups == 1 else lambda d: d.name == "float32")
    x = p.fresh((p.size(2), groups * p.size(3), *extents), dtype)
    w = p.fresh((x.shape[1], p.size(3), *kernel), dtype)
    bias = p.fresh((groups * w.shape[1],), dtype) if p.chance(0.5) else None
    p.emit("ConvTranspose", x, w, bias, group=groups, output_padding=more, gain=20, steps=100, **windows)


def pool(op: str, p: Program) -> None:
    rank = p.choice((1, 2, 2, 3))
    extents, kernel = _spatial(p, rank), [p.size(4) for _ in range(rank)]
    windows = _windows(p, extents, kernel, p.attributed(op, "dilations"))
    shape = (p.size(3), p.size(3), *extents)
    # What onnxruntime does not have, the reference evaluator pads otherwise.
    known = {"MaxPool": ("float32", "float64", "int8", "uint8")}.get(op, ("float32",))
    dtype = p.dtype(op, among=lambda d: d.name in known)
    ceil = p.choice((None, 0, 1)) if windows["auto_pad"] is None else None
    more: dict[str, Any] = {"count_include_pad": p.choice((None, 0, 1)), "p": p.choice((None, 1, 2, 3))}
    if op == "LpPool":
        more.pop("count_include_pad")
    else:
        more.pop("p")
    exact = op == "MaxPool"
    wanted = (True, True) if exact and p.chance(0.3) else (True,)
    x = p.fresh(shape, dtype)
    p.emit(op, x, wanted=wanted, kernel_shape=kernel, ceil_mode=ceil, exact=exact, steps=60, **windows, **more)


def global_pool(op: str, p: Program) -> None:
    # The reference evaluator, which runs what is not float32, knows images only.
    x = p.tensor(np.float32, -20, 20, rank=(3, 4), empty=False)
    p.emit(op, x, p=p.choice((None, 1, 3)), steps=60)


def max_unpool(p: Program) -> None:
    x = p.fresh((1, p.size(2), 2 * p.size(3), 2 * p.size(3)), np.float32)
    kernel = [2, 2]
    pooled, places = p.emit("MaxPool", x, wanted=(True, True), kernel_shape=kernel, strides=kernel, exact=True)
    shape = p.known(x.shape) if p.chance(0.5) else None
    p.emit("MaxUnpool", pooled, places, shape, kernel_shape=kernel, strides=kernel, exact=True)


def recurrent(op: str, p: Program) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = p.choice((None, "forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    turned = p.choice((0, 0, 0, 1)) if p.attributed(op, "layout") else 0
    t, b, i, h = p.size(5), p.size(4), p.size(5), p.size(5)
    dtype = p.dtype(op, among=lambda one: one == np.float32)
    x = p.fresh((b, t, i) if turned else (t, b, i), dtype)
    w, r = p.fresh((d, gates * h, i), dtype, -1, 1), p.fresh((d, gates * h, h), dtype, -1, 1)
    bias = p.fresh((d, 2 * gates * h), dtype, -1, 1) if p.chance(0.6) else None
    lengths = p.given(p.array((b,), np.int32, 1, t)) if p.chance(0.3) and not turned else None
    first = (b, d, h) if turned else (d, b, h)
    states = [p.fresh(first, dtype, -1, 1) if p.chance(0.4) else None for _ in range(2 if op == "LSTM" else 1)]
    peepholes = [p.fresh((d, 3 * h), dtype, -1, 1)] if op == "LSTM" and p.chance(0.3) else []
    wanted = (
        p.choice(((True,), (True, True), (False, True)))
        if op != "LSTM"
        else p.choice(((True, True, True), (True,), (False, True)))
    )
    more: dict[str, Any] = {"linear_before_reset": p.choice((0, 1))} if op == "GRU" else {}
    # The layout with batches first only the reference evaluator runs, which leaves these out.
    # Of an LSTM onnxruntime clips what goes into the gates, and not into the last activation.
    if p.chance(0.3) and not turned and op != "LSTM":
        more["clip"] = 0.8
    if not turned and op == "RNN" and p.chance(0.4):
        more["activations"] = [p.choice(("Tanh", "Relu", "Sigmoid"))] * d
    layout = 1 if turned else None
    p.emit(
        op,
        x,
        w,
        r,
        bias,
        lengths,
        *states,
        *peepholes,
        wanted=wanted,
        hidden_size=h,
        direction=direction,
        layout=layout,
        gain=50,
        steps=100,
        **more,
    )


def _scale(p: Program, shape: tuple[int, ...], dtype: Any = np.float32) -> Value:
    """Powers of two, so that no rounding of a quotient decides."""
    return p.given(np.asarray(2.0 ** p.numbers.integers(-5, 0, shape)).astype(dtype), 0.7)


def quantize(p: Program) -> None:
    dtype = p.dtype("QuantizeLinear", "T2" if p.opset < 23 else "T3", among=lambda d: not is_float(d))
    x = p.tensor(p.dtype("QuantizeLinear", "T1", among=lambda d: d == np.float32), exact=True, rank=(1, 4))
    axis = p.axis(x.rank)
    shape = (x.shape[axis],) if p.chance(0.4) else ()
    zero = p.fresh(shape, dtype) if dtype != np.uint8 or p.chance(0.6) else None
    p.emit("QuantizeLinear", x, _scale(p, shape), zero, axis=axis if shape else None)


def dequantize(p: Program) -> None:
    dtype = p.dtype("DequantizeLinear", "T1" if p.opset >= 19 else "T", among=lambda d: not is_float(d))
    x = p.tensor(dtype, rank=(1, 4))
    axis = p.axis(x.rank)
    blocked = p.opset >= 21 and p.chance(0.2) and x.array.size > 0
    if blocked:
        block = p.choice([n for n in range(1, x.shape[axis] + 1) if x.shape[axis] % n == 0])
        dims = list(x.shape)
        dims[axis] //= block
        shape = tuple(dims)
    else:
        block, shape = None, (x.shape[axis],) if p.chance(0.4) else ()
    zero = p.fresh(shape, dtype) if p.chance(0.6) and dtype != np.int32 else None
    p.emit("DequantizeLinear", x, _scale(p, shape), zero, axis=axis if shape else None, block_size=block)


def dynamic_quantize(p: Program) -> None:
    """Multiples of the scale, the ends among them."""
    levels = p.array(p.shape(1, 3, False), np.float32, -128, 127).round()
    levels.ravel()[:1] = -128
    x = np.concatenate([levels.ravel(), [127]]).astype(np.float32) / 16
    p.emit("DynamicQuantizeLinear", p.given(x), wanted=(True, True, True))


def matmul_integer(p: Program) -> None:
    left, right = p.dtype("MatMulInteger", "T1"), p.dtype("MatMulInteger", "T2")
    m, k, n = p.size(9), p.size(9), p.size(9)
    a = p.fresh((*p.shape(0, 1, False), m, k), left, -128, 255)
    b = p.fresh((k, n), right, -128, 255)
    zeros = [p.fresh((), dtype) if p.chance(0.5) else None for dtype in (left, right)]
    # onnxruntime saturates sums of two products in 16 bits.
    p.emit("MatMulInteger", a, b, *zeros, evaluator=True)


def qlinear_matmul(p: Program) -> None:
    kind = p.choice((np.uint8, np.int8))
    m, k, n = p.size(9), p.size(9), p.size(9)
    a, b = p.fresh((m, k), kind, -128, 255), p.fresh((k, n), kind, -128, 255)
    zero = [p.fresh((), kind) for _ in range(3)]
    out = p.given(np.asarray(2.0, np.float32), 0.9)
    p.emit("QLinearMatMul", a, _scale(p, ()), zero[0], b, _scale(p, ()), zero[1], out, zero[2])


def conv_integer(p: Program) -> None:
    extents, kernel = _spatial(p, 2), [p.size(3), p.size(3)]
    windows = _windows(p, extents, kernel)
    c, f = p.size(3), p.size(4)
    x, w = p.fresh((1, c, *extents), np.uint8, 0, 255), p.fresh((f, c, *kernel), np.uint8, 0, 255)
    zeros = [p.fresh((), np.uint8) if p.chance(0.5) else None, None]
    p.emit("ConvInteger", x, w, *zeros, kernel_shape=kernel, **windows)


def qlinear_conv(p: Program) -> None:
    extents, kernel = _spatial(p, 2), [p.size(3), p.size(3)]
    windows = _windows(p, extents, kernel)
    c, f = p.size(4), p.size(4)
    kind = p.choice((np.uint8, np.int8))
    x, w = p.fresh((1, c, *extents), kind, -128, 255), p.fresh((f, c, *kernel), kind, -128, 255)
    each = (f,) if p.chance(0.4) else ()
    zero = [p.fresh((), kind), p.given(np.zeros(each, kind), 1.0), p.fresh((), kind)]
    bias = p.fresh((f,), np.int32, -500, 500) if p.chance(0.5) else None
    out = p.given(np.asarray(2.0, np.float32), 0.9)
    scales = _scale(p, ()), p.given(_scale(p, each).array, 1.0)
    p.emit(
        "QLinearConv", x, scales[0], zero[0], w, scales[1], zero[1], out, zero[2], bias, kernel_shape=kernel, **windows
    )


def resize(p: Program) -> None:
    mode = p.choice(("nearest", "linear", "cubic"))
    rank = 2 if mode == "cubic" else p.choice((1, 2, 2, 3))
    x = p.fresh((p.size(2), p.size(3), *_spatial(p, rank, 2)), p.dtype("Resize", "T1", among=lambda d: d == np.float32))
    coordinates = p.choice((None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"))
    more: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        more["nearest_mode"] = p.choice((None, "floor", "ceil", "round_prefer_ceil"))
    if mode == "cubic":
        more |= {"cubic_coeff_a": p.choice((None, -0.5)), "exclude_outside": p.choice((None, 0, 1))}
    sizes = [*x.shape[:2], *(p.size(12) for _ in range(rank))]
    scales = [1.0, 1.0, *(p.choice((0.5, 1.0, 1.5, 2.0, 3.0)) for _ in range(rank))]
    # onnxruntime counts the corners of an output of 3.5 places.
    if p.chance(0.5) and coordinates != "align_corners":
        if min(int(n * s) for n, s in zip(x.shape, scales, strict=True)) < 1:
            raise Redraw
        p.emit("Resize", x, None, p.known(scales, np.float32), exact=mode == "nearest", steps=100, **more)
    else:
        p.emit("Resize", x, None, None, p.known(sizes), exact=mode == "nearest", steps=100, **more)


def grid_sample(p: Program) -> None:
    n, rank = p.size(2), 2
    x = p.fresh((n, p.size(3), *_spatial(p, rank, 2)), np.float32)
    grid = p.fresh((n, *_spatial(p, rank), rank), np.float32, -1.3, 1.3)
    modes = ("bilinear", "bicubic") if p.opset < 20 else ("linear", "cubic")
    padding, corners = p.choice((None, "zeros", "border", "reflection")), p.choice((None, 0, 1))
    p.emit("GridSample", x, grid, mode=p.choice(modes), padding_mode=padding, align_corners=corners, steps=1000)


def affine_grid(p: Program) -> None:
    rank = p.choice((2, 3))
    n = p.size(2)
    # Where the corners of a single place are, the standard leaves open.
    size = [n, p.size(3), *_spatial(p, rank, 2)]
    p.emit(
        "AffineGrid",
        p.fresh((n, rank, rank + 1), np.float32),
        p.known(size),
        align_corners=p.choice((None, 0, 1)),
        steps=50,
    )


def rois(p: Program) -> None:
    n, count = p.size(2), p.size(3)
    x = p.fresh((n, p.size(3), p.size(9, 3), p.size(9, 3)), np.float32)
    corners = p.array((count, 2), np.float32, 0, 4)
    boxes = np.concatenate([corners, corners + p.array((count, 2), np.float32, 1, 6)], 1).astype(np.float32)
    which = p.given(p.array((count,), np.int64, 0, n - 1))
    mode = p.choice((None, "avg", "max"))
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": p.choice((None, "output_half_pixel")),
        "mode": mode,
        # onnxruntime says of itself that the greatest of several samples is wrong.
        "sampling_ratio": 1 if mode == "max" else p.choice((0, 1, 2)),
        "output_height": p.size(4),
        "output_width": p.size(4),
        "spatial_scale": p.choice((None, 0.5)),
    }
    p.emit("RoiAlign", x, p.given(boxes), which, steps=1000, attributes=attributes)


def col2im(p: Program) -> None:
    image, block = _spatial(p, 2, 3), [p.size(3), p.size(3)]
    count = int(np.prod([n - k + 1 for n, k in zip(image, block, strict=True)]))
    x = p.fresh((p.size(2), p.size(3) * int(np.prod(block)), count), np.float32)
    p.emit("Col2Im", x, p.known(image), p.known(block), steps=50)


def suppression(p: Program) -> None:
    n, boxes, classes = p.size(2), p.size(7), p.size(3)
    corners = p.array((n, boxes, 2), np.float32, 0, 4)
    spans = p.array((n, boxes, 2), np.float32, 0.5, 3)
    most = p.known([p.dice.randint(1, 5)])
    scores = p.fresh((n, classes, boxes), np.float32, 0, 1)
    least = p.known([0.3], np.float32) if p.chance(0.5) else None
    p.emit(
        "NonMaxSuppression",
        p.given(np.concatenate([corners, corners + spans], 2)),
        scores,
        most,
        p.known([0.4], np.float32),
        least,
    )


def window(p: Program) -> None:
    kind = p.choice(("HannWindow", "HammingWindow", "BlackmanWindow"))
    # Of two numbers a window may have none but 0, as far as it is not rounded.
    p.emit(kind, p.known(p.size(17, 3)), periodic=p.choice((None, 0, 1)), steps=30)


def mel(p: Program) -> None:
    numbers = [p.known(n) for n in (p.size(6), 16 * p.dice.randint(1, 3), 8000)]
    p.emit("MelWeightMatrix", *numbers, p.known(0.0, np.float32), p.known(4000.0, np.float32), steps=100)


def dft(p: Program) -> None:
    onesided = p.choice((None, 0, 1))
    x = p.fresh((p.size(2), p.size(9), p.size(4), 1 if onesided else p.choice((1, 2))), np.float32)
    if p.opset >= 20:
        p.emit("DFT", x, None, p.known(p.choice((1, 2, -2))), onesided=onesided, steps=200)
    else:
        p.emit("DFT", x, axis=p.choice((None, 1, 2)), onesided=onesided, steps=200)


def stft(p: Program) -> None:
    length = p.choice((4, 5, 8))
    x = p.fresh((p.size(2), length + p.size(20), 1), np.float32)
    frame = p.fresh((length,), np.float32, 0, 1) if p.chance(0.6) else None
    p.emit("STFT", x, p.known(p.size(4)), frame, p.known(length), onesided=p.choice((None, 0, 1)), steps=200)


RECIPES: dict[str, Recipe] = {
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "Det": det,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    **{op: partial(pool, op) for op in ("MaxPool", "AveragePool", "LpPool")},
    **{op: partial(global_pool, op) for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")},
    "MaxUnpool": max_unpool,
    **{op: partial(recurrent, op) for op in ("RNN", "GRU", "LSTM")},
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
    "Resize": resize,
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "RoiAlign": rois,
    "Col2Im": col2im,
    "NonMaxSuppression": suppression,
    "HannWindow": window,
    "MelWeightMatrix": mel,
    "DFT": dft,
    "STFT": stft,
}
