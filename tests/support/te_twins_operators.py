"""Twins of the files that show operators: a computation, and the schedule that a kernel engineer would give it."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from text_twins import layer, twin

from whence import te
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule


def _matmul(m: int, n: int, depth: int) -> tuple[Tensor, Tensor, Tensor]:
    a, b = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    k = te.reduce_axis((0, depth), name="k")
    return a, b, te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")


@twin
def gemm_naive() -> Schedule:
    return te.create_schedule(_matmul(16, 12, 26)[2], name="gemm")


@twin
def gemm_tiled() -> Schedule:
    c = _matmul(64, 64, 32)[2]
    s = te.create_schedule(c, name="gemm")
    i_outer, j_outer, i_inner, j_inner = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 16)
    k_outer, k_inner = s[c].split(c.op.reduce_axis[0], 4)
    s[c].reorder(i_outer, j_outer, k_outer, i_inner, k_inner, j_inner)
    s[c].vectorize(j_inner)
    s[c].parallel(i_outer)
    return s


@twin
def gemm_cache_write() -> Schedule:
    with layer("weights", 0):
        b = te.placeholder((26, 64), name="B")
    with layer("data", 1):
        a = te.placeholder((16, 26), name="A")
    k = te.reduce_axis((0, 26), name="k")
    with layer("fc", 2):
        c = te.compute((16, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    with layer("relu", 3):
        d = te.compute((16, 64), lambda i, j: te.maximum(c[i, j], 0.0), name="D")
    s = te.create_schedule(d, [a, b], name="gemm")
    acc = s.cache_write(c, "local")
    s[c].compute_inline()
    outer, inner = s[d].split(d.op.axis[1], 16)
    s[d].vectorize(inner)
    acc.compute_at(s[d], outer)
    i, j = acc.op.axis
    acc.reorder(acc.op.reduce_axis[0], i, j)
    acc.vectorize(j)
    return s


@twin
def gemm_cache_read() -> Schedule:
    _, b, c = _matmul(32, 48, 20)
    s = te.create_schedule(c, name="gemm")
    panel = s.cache_read(b, "local", c)
    j_outer, j_inner = s[c].split(c.op.axis[1], 16)
    s[c].reorder(j_outer, c.op.axis[0], c.op.reduce_axis[0], j_inner)
    s[c].vectorize(j_inner)
    panel.compute_at(s[c], j_outer)
    panel.vectorize(panel.op.axis[1])
    return s


@twin
def gemm_rfactor() -> Schedule:
    c = _matmul(4, 6, 32)[2]
    s = te.create_schedule(c, name="gemm")
    outer, _ = s[c].split(c.op.reduce_axis[0], 8)
    partial = s.rfactor(c, outer)
    partial.parallel(partial.op.axis[0])
    partial.vectorize(partial.op.axis[2])
    return s


@twin
def gemm_tensorize() -> Schedule:
    """The intrinsic computes eight elements of a column, its loops turned so that the sum is outside."""

    def dot(x: Tensor, y: Tensor) -> Tensor:
        k = te.reduce_axis((0, 13), name="k")
        return te.compute((8,), lambda i: te.sum(x[i, k] * y[k], axis=k), name="c")

    def body(ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Schedule:
        del outs
        schedule = te.create_schedule(dot(*ins), list(ins), name="body")
        stage = schedule["c"]
        stage.reorder(stage.reduce_axes[0], stage.axes[0])
        return schedule

    a, b = te.placeholder((16, 26), name="A"), te.placeholder((26, 12), name="B")
    k = te.reduce_axis((0, 26), name="k")
    c = te.compute((16, 12), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    x, y = te.placeholder((8, 13), name="x"), te.placeholder((13,), name="y")
    gemv = te.decl_tensor_intrin(dot(x, y), body, name="gemv")
    s = te.create_schedule(c, name="gemm")
    i_outer, i_inner = s[c].split(c.op.axis[0], 8)
    k_outer, k_inner = s[c].split(k, 13)
    s[c].reorder(i_outer, c.op.axis[1], k_outer, i_inner, k_inner)
    s[c].tensorize(i_inner, gemv)
    return s


@twin
def tensorize_call() -> Schedule:
    a, b = te.placeholder((4, 16), name="a"), te.placeholder((4, 16), name="b")
    c = te.compute((4, 16), lambda i, j: a[i, j] + b[i, j], name="c")
    x, y = te.placeholder((16,), name="x"), te.placeholder((16,), name="y")
    z = te.compute((16,), lambda i: x[i] + y[i], name="z")

    def call(ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Any:
        return te.call_extern("void", "vadd16", ins[0], ins[1], outs[0])

    s = te.create_schedule(c, name="rows")
    s[c].tensorize(c.op.axis[1], te.decl_tensor_intrin(z, call, name="vadd"))
    return s


@twin
def gemm_int8() -> Schedule:
    a, b = te.placeholder((8, 32), "int8", name="A"), te.placeholder((16, 32), "int8", name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((8, 16), lambda i, j: te.sum(a[i, k].astype("int32") * b[j, k].astype("int32"), axis=k), name="C")
    d = te.compute((8, 16), lambda i, j: (c[i, j] + 8 >> 4).astype("int8"), name="D")
    s = te.create_schedule(d, name="quantized")
    s[d].vectorize(d.op.axis[1])
    s[c].compute_at(s[d], d.op.axis[0])
    return s


@twin
def conv2d_padded() -> Schedule:
    with layer("conv1", 0):
        x = te.placeholder((1, 3, 14, 14), name="x")
        w = te.placeholder((8, 3, 3, 3), name="w")
        pad = te.compute(
            (1, 3, 16, 16),
            lambda n, c, y, x_: te.if_then_else(te.all(y >= 1, y < 15, x_ >= 1, x_ < 15), x[n, c, y - 1, x_ - 1], 0.0),
            name="pad",
        )
        c, dy, dx = (
            te.reduce_axis((0, 3), name="c"),
            te.reduce_axis((0, 3), name="dy"),
            te.reduce_axis((0, 3), name="dx"),
        )
        conv = te.compute(
            (1, 8, 14, 14),
            lambda n, f, y, x_: te.sum(pad[n, c, y + dy, x_ + dx] * w[f, c, dy, dx], axis=[c, dy, dx]),
            name="conv",
        )
    with layer("relu1", 1):
        relu = te.compute((1, 8, 14, 14), lambda n, f, y, x_: te.maximum(conv[n, f, y, x_], 0.0), name="relu")
    s = te.create_schedule(relu, name="conv2d")
    s[pad].compute_inline()
    n, f, y, _ = relu.op.axis
    rows = s[relu].fuse(n, f)
    s[relu].parallel(rows)
    s[conv].compute_at(s[relu], y)
    return s


@twin
def depthwise_conv2d() -> Schedule:
    x, w = te.placeholder((18, 18, 32), name="x"), te.placeholder((3, 3, 32), name="w")
    dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")
    out = te.compute(
        (8, 8, 32),
        lambda y, x_, c: te.sum(x[y * 2 + dy, x_ * 2 + dx, c] * w[dy, dx, c], axis=[dy, dx]),
        name="depthwise",
    )
    s = te.create_schedule(out, name="depthwise_conv2d")
    y, x_, c = out.op.axis
    c_outer, c_inner = s[out].split(c, 16)
    s[out].reorder(c_outer, y, x_, dy, dx, c_inner)
    s[out].vectorize(c_inner)
    s[out].unroll(dx)
    return s


@twin
def max_pool_padded() -> Schedule:
    x = te.placeholder((4, 13, 13), name="x")
    low = te.min_value("float32")
    dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")

    def window(c: Any, y: Any, x_: Any) -> Any:
        inside = te.all(y * 2 + dy >= 1, y * 2 + dy < 14, x_ * 2 + dx >= 1, x_ * 2 + dx < 14)
        return te.max(te.if_then_else(inside, x[c, y * 2 + dy - 1, x_ * 2 + dx - 1], low), axis=[dy, dx])

    pool = te.compute((4, 7, 7), window, name="pool")
    return te.create_schedule(pool, name="max_pool")


@twin
def global_avg_pool() -> Schedule:
    x = te.placeholder((16, 7, 7), name="x")
    h, w = te.reduce_axis((0, 7), name="h"), te.reduce_axis((0, 7), name="w")
    total = te.compute((16,), lambda c: te.sum(x[c, h, w], axis=[h, w]), name="total")
    mean = te.compute((16,), lambda c: total[c] * (1 / 49), name="mean")
    s = te.create_schedule(mean, name="avg_pool")
    s[total].fuse(*total.op.reduce_axis)
    s[total].compute_at(s[mean], mean.op.axis[0])
    return s


@twin
def softmax() -> Schedule:
    with layer("prob", 7):
        x = te.placeholder((8, 100), name="x")
        k = te.reduce_axis((0, 100), name="k")
        top = te.compute((8,), lambda i: te.max(x[i, k], axis=k), name="top")
        exp = te.compute((8, 100), lambda i, j: te.exp(x[i, j] - top[i]), name="exp")
        k = te.reduce_axis((0, 100), name="k")
        total = te.compute((8,), lambda i: te.sum(exp[i, k], axis=k), name="total")
        norm = te.compute((8, 100), lambda i, j: exp[i, j] / total[i], name="norm")
    s = te.create_schedule(norm, name="softmax")
    row = norm.op.axis[0]
    s[norm].parallel(row)
    for tensor in (top, exp, total):
        s[tensor].compute_at(s[norm], row)
    return s


@twin
def layernorm() -> Schedule:
    with layer("norm", 4):
        x = te.placeholder((4, 64), name="x")
        gamma, beta = te.placeholder((64,), name="gamma"), te.placeholder((64,), name="beta")
        k = te.reduce_axis((0, 64), name="k")
        both = te.comm_reducer(
            lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda t0, t1: (te.const(0, t0), te.const(0, t1)), name="sums"
        )
        total, squares = te.compute((4,), lambda i: both((x[i, k], x[i, k] * x[i, k]), axis=k), name="moments")
        mean = te.compute((4,), lambda i: total[i] * (1 / 64), name="mean")
        var = te.compute((4,), lambda i: squares[i] * (1 / 64) - mean[i] * mean[i], name="var")
    with layer("scale", 5):
        y = te.compute(
            (4, 64),
            lambda i, j: (x[i, j] - mean[i]) * te.rsqrt(var[i] + 1e-5) * gamma[j] + beta[j],
            name="y",
        )
    s = te.create_schedule(y, [x, gamma, beta], name="layernorm")
    s[mean].compute_inline()
    s[var].compute_inline()
    i, j = y.op.axis
    s[y].parallel(i)
    s[total].compute_at(s[y], i)
    s[y].vectorize(s[y].split(j, 16)[1])
    return s


@twin
def batch_norm_inlined() -> Schedule:
    with layer("bn", 3):
        x = te.placeholder((4, 6, 32), name="x")
        scale, shift = te.placeholder((4,), name="scale"), te.placeholder((4,), name="shift")
        scaled = te.compute((4, 6, 32), lambda c, y, x_: x[c, y, x_] * scale[c], name="scaled", tag="broadcast")
        shifted = te.compute((4, 6, 32), lambda c, y, x_: scaled[c, y, x_] + shift[c], name="shifted", tag="broadcast")
    with layer("act", 4):
        act = te.compute(
            (4, 6, 32),
            lambda c, y, x_: te.minimum(te.maximum(shifted[c, y, x_], 0.0), 6.0),
            name="act",
            tag="elemwise",
        )
    s = te.create_schedule(act, name="batch_norm")
    s[scaled].compute_inline()
    s[shifted].compute_inline()
    s[act].vectorize(s[act].split(act.op.axis[2], 8)[1])
    return s


@twin
def argmax() -> Schedule:
    x = te.placeholder((4, 50), name="x")
    k = te.reduce_axis((0, 50), name="k")
    reducer = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    at, best = te.compute((4,), lambda i: reducer((k, x[i, k]), axis=k), name="best")
    return te.create_schedule([at, best], name="argmax")


@twin
def reducers() -> list[Any]:
    x = te.placeholder((6, 10), name="x")
    found: list[Any] = []
    for name, reduce in (("prod", te.prod), ("max", te.max), ("min", te.min)):
        k = te.reduce_axis((0, 10), name="k")
        found.append(te.create_schedule(te.compute((6,), _row(reduce, x, k), name="y"), name=name))
    return found


def _row(reduce: Any, x: Tensor, k: Any) -> Any:
    def row(i: Any) -> Any:
        return reduce(x[i, k], axis=k)

    return row


@twin
def reduce_where() -> Schedule:
    x = te.placeholder((6, 10), name="x")
    k = te.reduce_axis((0, 10), name="k")
    upper = te.compute((6,), lambda i: te.sum(x[i, k], axis=k, where=k >= i), name="upper")
    return te.create_schedule(upper, name="triangle")


@twin
def gather() -> Schedule:
    table, ids = te.placeholder((1000, 64), name="table"), te.placeholder((8,), "int32", name="ids")
    rows = te.compute((8, 64), lambda i, j: table[ids[i], j], name="rows")
    s = te.create_schedule(rows, name="embedding")
    s[rows].vectorize(s[rows].split(rows.op.axis[1], 16)[1])
    return s


@twin
def conditional_reads() -> Schedule:
    a, b = te.placeholder((8, 10), name="a"), te.placeholder((8, 6), name="b")
    joined = te.compute((8, 16), lambda i, j: te.if_then_else(j < 10, a[i, j], b[i, j - 10]), name="joined")
    lower = te.compute((8, 16), lambda i, j: te.select(j <= i, joined[i, j], 0.0), name="lower")
    s = te.create_schedule(lower, name="concat_tril")
    s[joined].compute_inline()
    return s


@twin
def reshape_transpose() -> Schedule:
    x = te.placeholder((6, 8), name="x")
    flat = te.compute((48,), lambda i: x[i // 8, i % 8], name="flat")
    turned = te.compute((8, 6), lambda i, j: flat[j * 8 + i], name="turned")
    s = te.create_schedule(turned, name="transpose")
    s[flat].compute_inline()
    return s


@twin
def resize_nearest() -> Schedule:
    x = te.placeholder((3, 4, 4), "uint8", name="x")
    y = te.compute(
        (3, 8, 8), lambda c, i, j: x[c, i // 2, j // 2].astype("float16") * te.const(0.5, "float16"), name="y"
    )
    return te.create_schedule(y, name="resize")


@twin
def one_hot() -> Schedule:
    ids = te.placeholder((8,), "int64", name="ids")
    hot = te.compute(
        (8, 10),
        lambda i, j: te.select(ids[i] == j.astype("int64"), te.const(1, "int8"), te.const(0, "int8")),
        name="hot",
    )
    return te.create_schedule(hot, name="one_hot")


@twin
def scan_cumsum() -> Schedule:
    x, state = te.placeholder((12, 8), name="x"), te.placeholder((12, 8), name="state")
    init = te.compute((1, 8), lambda _, i: x[0, i], name="init")
    update = te.compute((12, 8), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    total = te.scan(init, update, state, inputs=[x], name="total")
    s = te.create_schedule(total, name="cumsum")
    s[update].vectorize(update.op.axis[1])
    return s


@twin
def extern_call() -> Schedule:
    a = te.placeholder((4, 8), name="a")
    b = te.compute((4, 8), lambda i, j: a[i, j] * 2.0, name="b")
    c = te.extern(
        (4, 8),
        [b],
        lambda ins, outs: te.call_extern("handle", "memcpy", outs[0], ins[0], te.const(128, "int64")),
        name="c",
    )
    d = te.compute((4, 8), lambda i, j: c[i, j] + 1.0, name="d")
    s = te.create_schedule(d, name="copied")
    s[d].vectorize(d.op.axis[1])
    return s


@te.hybrid.script
def _outer(a: Any, b: Any) -> Any:
    c = output_tensor((4, 8), "float32")
    for i in range(4):
        for j in parallel(8):
            c[i, j] = 0.0
            if j > i:
                c[i, j] = a[i] * b[j]
    return c


@twin
def hybrid_outer() -> Schedule:
    a, b = te.placeholder((4,), name="a"), te.placeholder((8,), name="b")
    c = _outer(a, b)
    d = te.compute((4, 8), lambda i, j: c[i, j] - 1.0, name="d")
    return te.create_schedule(d, name="outer")


@twin
def padding_else() -> Schedule:
    x = te.placeholder((16,), name="x")
    k = te.reduce_axis((0, 3), name="k")
    y = te.compute((16,), lambda i: te.max(x(i + k - 1, otherwise=-1.0), axis=k), name="y")
    s = te.create_schedule(y, name="window")
    s[y].unroll(k)
    return s
