"""TVM's tutorials on tensor expressions, schedules and statements, told anew with numpy as the judge."""

# pyright: basic

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import te, topi
from whence.contrib import cblas, cc, tedd
from whence.support.errors import WhenceError

tvm: Any = whence
RNG = np.random.default_rng(41)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def test_vector_add(tmp_path: Path) -> None:
    n = te.var("n")
    A, B = (te.placeholder((n,), name=name) for name in "AB")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    add: Any = tvm.build(s, [A, B, C], tvm.target.Target("llvm"), name="myadd")
    for length in (1, 8, 1027):
        a, b = floats(length), floats(length)
        out = tvm.nd.array(np.zeros(length, np.float32), tvm.cpu())
        add(tvm.nd.array(a), tvm.nd.array(b), out)
        tvm.testing.assert_allclose(out.numpy(), a + b)
    evaluator = add.time_evaluator(add.entry_name, tvm.cpu(), number=3, repeat=2)
    assert evaluator(tvm.nd.array(a), tvm.nd.array(b), out).mean > 0

    add.specialized(n=1027).save(str(tmp_path / "myadd.o"))
    cc.create_shared(str(tmp_path / "myadd.so"), [str(tmp_path / "myadd.o")])
    again = tvm.runtime.load_module(str(tmp_path / "myadd.so"))
    again["myadd"](tvm.nd.array(b), tvm.nd.array(b), out)
    tvm.testing.assert_allclose(out.numpy(), b + b)


@pytest.mark.parametrize("steps", range(5))
def test_products_get_their_optimisations_one_by_one(steps: int) -> None:
    m, n, depth, block = 64, 96, 32, 16
    k = te.reduce_axis((0, depth), "k")
    A, B = te.placeholder((m, depth), name="A"), te.placeholder((depth, n), name="B")
    packed = te.compute(
        (n // block, depth, block), lambda bigN, k, littleN: B[k, bigN * block + littleN], name="packed"
    )
    C = te.compute(
        (m, n),
        lambda i, j: te.sum(A[i, k] * packed[j // block, k, tvm.tir.indexmod(j, block)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    if steps >= 1:
        target = s.cache_write(C, "global") if steps >= 4 else C
        mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], block, block)
        if steps >= 4:
            s[target].compute_at(s[C], no)
            mi, ni = s[target].op.axis
        (reduce,) = s[target].op.reduce_axis
        ko, ki = s[target].split(reduce, factor=4)
        if steps == 1:
            s[target].reorder(mo, no, ko, ki, mi, ni)
        elif steps >= 4:
            s[target].reorder(ko, mi, ki, ni)
            s[target].unroll(ki)
        else:
            s[target].reorder(mo, no, ko, mi, ki, ni)
        if steps >= 2:
            s[target].vectorize(ni)
        if steps >= 3:
            s[C].parallel(mo)
            bigN, _, littleN = packed.op.axis
            s[packed].vectorize(littleN)
            s[packed].parallel(bigN)
    product = tvm.build(s, [A, B, C], target="llvm", name="mmult")
    a, b = floats(m, depth), floats(depth, n)
    c = tvm.nd.empty((m, n))
    product(tvm.nd.array(a), tvm.nd.array(b), c)
    tvm.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5, atol=1e-5)
    text = str(tvm.lower(s, [A, B, C], simple_mode=True))
    assert ("vectorized" in text) == (steps >= 2)
    assert ("parallel" in text) == (steps >= 3)


def test_schedule_primitives() -> None:
    """Each primitive changes the loops, and none the values."""
    m, n = 36, 40
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((m, n), lambda i, j: B[i, j] + 1.0, name="C")
    a = floats(m, n)

    def loops(change: Any) -> str:
        s = te.create_schedule(C.op)
        change(s)
        np.testing.assert_allclose(tvm.build(s, [A, C])(a), a * 2 + 1, rtol=1e-6)
        return str(tvm.lower(s, [A, C], simple_mode=True))

    def fused(s: Any) -> None:
        xo, yo, xi, yi = s[C].tile(*C.op.axis, x_factor=9, y_factor=8)
        s[C].fuse(s[C].fuse(xo, yo), s[C].fuse(xi, yi))

    plain = loops(lambda s: None)
    assert (plain.count("tir.for"), plain.count("tir.alloc")) == (4, 1)
    assert "in 2 " in loops(lambda s: s[C].split(C.op.axis[0], factor=32))
    assert "in 32 " in loops(lambda s: s[C].split(C.op.axis[0], nparts=32))
    assert loops(fused).count("tir.for") == 3
    assert loops(lambda s: s[C].reorder(*reversed(C.op.axis))).split().count("40") == plain.split().count("40")
    assert "tir.buffer<1x40xf32>" in loops(lambda s: s[B].compute_at(s[C], C.op.axis[0]))
    assert "tir.buffer<1x1xf32>" in loops(lambda s: s[B].compute_at(s[C], C.op.axis[1]))
    inlined = loops(lambda s: s[B].compute_inline())
    assert (inlined.count("tir.for"), inlined.count("tir.alloc")) == (2, 0)

    def back(s: Any) -> None:
        s[B].compute_at(s[C], C.op.axis[0])
        s[B].compute_root()

    assert loops(back).replace("  attributes {tir.is_scheduled = true}{", " {") == plain


def test_reductions() -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(B.op.reduce_axis[0], factor=16)
    s[B].split(B.op.axis[0], factor=8)
    BF = s.rfactor(B, ki)
    s[BF.op].compute_at(s[B], s[B].op.reduce_axis[0])
    total = tvm.build(s, [A, B])
    for shape in ((3, 5), (16, 64), (9, 33)):
        a = floats(*shape)
        np.testing.assert_allclose(total(a), a.sum(1), rtol=1e-4, atol=1e-5)

    # A convolution is a reduction over several axes.
    data, weight = te.placeholder((10, 12), name="Input"), te.placeholder((3, 3), name="Filter")
    di, dj = te.reduce_axis((0, 3), name="di"), te.reduce_axis((0, 3), name="dj")
    window = te.compute(
        (8, 10), lambda i, j: te.sum(data[i + di, j + dj] * weight[di, dj], axis=[di, dj]), name="Output"
    )
    x, w = floats(10, 12), floats(3, 3)
    views = np.lib.stride_tricks.sliding_window_view(x, (3, 3))
    np.testing.assert_allclose(
        tvm.build(te.create_schedule(window.op), [data, weight, window])(x, w),
        np.einsum("ijkl,kl->ij", views, w),
        rtol=1e-4,
        atol=1e-5,
    )

    # A reduction of one's own.
    multiply = te.comm_reducer(lambda x, y: x * y, lambda t: tvm.tir.const(1, dtype=t), name="mul")
    k = te.reduce_axis((0, 7), name="k")
    P = te.placeholder((5, 7), name="P")
    Q = te.compute((5,), lambda i: multiply(P[i, k], axis=k), name="Q")
    p = floats(5, 7)
    np.testing.assert_allclose(tvm.build(te.create_schedule(Q.op), [P, Q])(p), p.prod(1), rtol=1e-5)


def test_scan() -> None:
    m, n = te.var("m"), te.var("n")
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i])
    s1 = te.compute((m, n), lambda t, i: state[t - 1, i] * 0.5, name="s1")
    update = te.compute((m, n), lambda t, i: s1[t, i] + X[t, i], name="s2")
    scan = te.scan(init, update, state, inputs=[X])
    s = te.create_schedule(scan.op)
    xo, _ = s[update].split(update.op.axis[1], factor=8)
    s[s1].compute_at(s[update], xo)
    x = floats(6, 21)
    expected = [x[0]]
    for row in x[1:]:
        expected.append(expected[-1] * np.float32(0.5) + row)
    np.testing.assert_allclose(tvm.build(s, [X, scan])(x), np.array(expected), rtol=1e-5, atol=1e-6)

    # Two states, that see each other.
    one, two = te.placeholder((5, 4)), te.placeholder((5, 4))
    Y = te.placeholder((1, 4), name="Y")
    first, second = te.scan(
        [te.compute((1, 4), lambda _, i: Y[0, i]), te.compute((1, 4), lambda _, i: 0.0)],
        [
            te.compute((5, 4), lambda t, i: one[t - 1, i] + 1.0),
            te.compute((5, 4), lambda t, i: two[t - 1, i] + one[t - 1, i]),
        ],
        [one, two],
        inputs=[Y],
    )
    y = floats(1, 4)
    a, b = tvm.build(te.create_schedule(first.op), [Y, first, second])(y)
    np.testing.assert_allclose(a, y + np.arange(5, dtype=np.float32)[:, None], rtol=1e-6)
    np.testing.assert_allclose(b, np.concatenate([y * 0, np.cumsum(a[:-1], axis=0)]), rtol=1e-5, atol=1e-5)


def test_tensorize() -> None:
    N, M, L, factor = 32, 16, 24, 16
    A, B = te.placeholder((N, L), name="A"), te.placeholder((M, L), name="B")
    k = te.reduce_axis((0, L), name="k")
    C = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")

    def intrin_gemv(m: int, length: int) -> Any:
        a, b = te.placeholder((length,), name="a"), te.placeholder((m, length), name="b")
        k = te.reduce_axis((0, length), name="k")
        c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
        Ab = tvm.tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
        Bb = tvm.tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1])
        Cb = tvm.tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

        def intrin(ins: Any, outs: Any) -> Any:
            return te.call_packed("tours.gemv", outs[0], ins[0], ins[1])

        return te.decl_tensor_intrin(c.op, intrin, binds={a: Ab, b: Bb, c: Cb})

    calls: list[tuple[int, ...]] = []

    @tvm.register_func("tours.gemv", override=True)
    def gemv(out: Any, vector: Any, matrix: Any) -> None:
        calls.append(np.asarray(matrix).shape)
        np.asarray(out)[...] = np.asarray(matrix) @ np.asarray(vector).ravel()

    s = te.create_schedule(C.op)
    x, y = C.op.axis
    yo, yi = s[C].split(y, factor=factor)
    s[C].reorder(x, yo, yi, s[C].op.reduce_axis[0])
    s[C].tensorize(yi, intrin_gemv(factor, L))
    a, b = floats(N, L), floats(M, L)
    np.testing.assert_allclose(tvm.build(s, [A, B, C])(a, b), a @ b.T, rtol=1e-4, atol=1e-5)
    assert len(calls) == N * M // factor


def test_external_functions() -> None:
    n, length, m = 24, 32, 20
    bias = te.var("bias", dtype="float32")
    A, B = te.placeholder((n, length), name="A"), te.placeholder((length, m), name="B")
    a, b = floats(n, length), floats(length, m)
    named = te.extern(
        (n, m),
        [A, B],
        lambda ins, outs: tvm.tir.call_packed("tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], False, False),
        name="C",
    )
    for C in (named, cblas.matmul(A, B)):
        D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")  # noqa: B023
        f = tvm.build(te.create_schedule(D.op), [A, B, D, bias], "llvm")
        d = tvm.nd.array(np.zeros((n, m), np.float32))
        f(tvm.nd.array(a), tvm.nd.array(b), d, 10.0)
        np.testing.assert_allclose(d.numpy(), a @ b + 10, rtol=1e-4, atol=1e-5)
    P, Q = te.placeholder((3, 5, 4), name="P"), te.placeholder((3, 6, 5), name="Q")
    R = cblas.batch_matmul(P, Q, transa=True, transb=True)
    p, q = floats(3, 5, 4), floats(3, 6, 5)
    np.testing.assert_allclose(
        tvm.build(te.create_schedule(R.op), [P, Q, R])(p, q), np.einsum("bki,bjk->bij", p, q), rtol=1e-4, atol=1e-5
    )
    with pytest.raises(WhenceError, match=r"cblas\.matmul: expected a second tensor of 32 rows, got 24"):
        cblas.matmul(A, A)

    @tvm.register_func("tours.addone", override=True)
    def addone(x: Any, y: Any) -> None:
        tvm.nd.array(x.numpy() + 1).copyto(y)

    X = te.placeholder((n,), name="X")
    Y = te.extern(X.shape, [X], lambda ins, outs: tvm.tir.call_packed("tours.addone", ins[0], outs[0]), name="Y")
    np.testing.assert_allclose(tvm.build(te.create_schedule(Y.op), [X, Y])(a[:, 0].copy()), a[:, 0] + 1)


def test_intrinsics_and_math_functions() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    a = floats(1000)
    for name in ("exp", "tanh", "asinh", "log1p", "floor"):
        function = getattr(tvm.tir, name)
        B = te.compute(A.shape, lambda i: function(A[i] * A[i]), name="B")  # noqa: B023
        np.testing.assert_allclose(
            tvm.build(te.create_schedule(B.op), [A, B])(a), getattr(np, name.replace("as", "arcs"))(a * a), rtol=3e-6
        )
    C = te.compute(A.shape, lambda i: tvm.tir.call_pure_extern("float32", "cosf", A[i]), name="C")
    np.testing.assert_allclose(tvm.build(te.create_schedule(C.op), [A, C])(a), np.cos(a), rtol=1e-5, atol=1e-6)


def test_tuple_inputs() -> None:
    m, n = te.var("m"), te.var("n")
    A0, A1 = te.placeholder((m, n), name="A0"), te.placeholder((m, n), name="A1")
    B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
    x, y = floats(3, 4), floats(3, 4)
    first, second = tvm.build(te.create_schedule(B0.op), [A0, A1, B0, B1])(x, y)
    np.testing.assert_allclose(first, x + 2, rtol=1e-6)
    np.testing.assert_allclose(second, y * 3, rtol=1e-6)

    def larger(x: Any, y: Any) -> Any:
        return te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])

    argmax = te.comm_reducer(larger, lambda t0, t1: (tvm.tir.const(-1, t0), te.min_value(t1)), name="argmax")
    index, value = te.placeholder((m, n), name="idx", dtype="int32"), te.placeholder((m, n), name="val")
    k = te.reduce_axis((0, n), "k")
    T0, T1 = te.compute((m,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    numbers = np.broadcast_to(np.arange(4, dtype=np.int32), (3, 4)).copy()
    where, most = tvm.build(te.create_schedule(T0.op), [index, value, T0, T1])(numbers, x)
    np.testing.assert_array_equal(where, x.argmax(1))
    np.testing.assert_array_equal(most, x.max(1))

    # A schedule takes all outputs of a stage to another.
    D = te.compute((m, n), lambda i, j: B0[i, j] + B1[i, j], name="D")
    s = te.create_schedule(D.op)
    s[B0].compute_at(s[D], D.op.axis[0])
    np.testing.assert_allclose(tvm.build(s, [A0, A1, D])(x, y), x + 2 + y * 3, rtol=1e-6)


def test_hybrid_script() -> None:
    @te.hybrid.script
    def outer_product(a, b):  # type: ignore[no-untyped-def]
        c = output_tensor((20, 9), a.dtype)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
        for i in range(20):
            for j in range(9):
                c[i, j] = a[i] * b[j]
        return c

    a, b = te.placeholder((20,), name="a"), te.placeholder((9,), name="b")
    c: Any = outer_product(a, b)
    s = te.create_schedule(c.op)
    s[c].parallel(c.op.axis[0])
    x, y = floats(20), floats(9)
    np.testing.assert_allclose(tvm.build(s, [a, b, c])(x, y), np.outer(x, y), rtol=1e-6)


def test_pictures_of_schedules(tmp_path: Path) -> None:
    A, W = te.placeholder((1, 8, 12, 12), name="A"), te.placeholder((4, 8, 3, 3), name="W")
    C = topi.nn.relu(topi.nn.conv2d(A, W, padding=(1, 1)))
    s = te.create_schedule(C.op)
    texts = {
        name: getattr(tedd, name)(s, dot_file_path=str(tmp_path / f"{name}.dot"), output_dot_string=True)
        for name in ("viz_dataflow_graph", "viz_schedule_tree", "viz_itervar_relationship_graph")
    }
    for name, text in texts.items():
        assert text.startswith("digraph")
        assert (tmp_path / f"{name}.dot").read_text().strip() == text.strip()
    assert "A" in texts["viz_dataflow_graph"]
    inlined = te.create_schedule(C.op)
    before = texts["viz_schedule_tree"]
    for stage in inlined.stages[1:-1]:
        if "pad" in stage.op.name:
            inlined[stage.op].compute_inline()
    after = tedd.viz_schedule_tree(inlined, dot_file_path="", output_dot_string=True)
    assert after != before


def test_operators_of_topi() -> None:
    A = te.placeholder((6, 10), name="A")
    a = floats(6, 10)

    def value(tensor: Any, *others: Any) -> Any:
        tensors = [A, *(other for other, _ in others), tensor]
        return tvm.build(te.create_schedule(tensor.op), tensors)(a, *(array for _, array in others))

    np.testing.assert_allclose(value(topi.sum(A, axis=1)), a.sum(1), rtol=1e-5, atol=1e-6)
    X, Y = te.placeholder((6, 10, 4), name="X"), te.placeholder((10, 4), name="Y")
    x, y = floats(6, 10, 4), floats(10, 4)
    total = topi.broadcast_add(X, Y) + topi.broadcast_mul(X, Y)
    np.testing.assert_allclose(
        tvm.build(te.create_schedule(total.op), [X, Y, total])(x, y), x + y + x * y, rtol=1e-5, atol=1e-6
    )
    e = np.exp(a - a.max(1, keepdims=True))
    np.testing.assert_allclose(value(topi.nn.softmax(A)), e / e.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(value(topi.nn.softmax(topi.tanh(A) * 2)).sum(1), np.ones(6), rtol=1e-5)


def test_rules_for_intrinsics() -> None:
    """Functions are lowered by rules of one's own: those that there are, and a new one."""
    A = te.placeholder((16,), name="A")
    a = np.abs(floats(16)) + 0.5

    def value(function: Any) -> Any:
        B = te.compute((16,), lambda i: function(A[i]), name="B")
        return tvm.build(te.create_schedule(B.op), [A, B])(a)

    def by_name(op: Any) -> Any:
        assert isinstance(op, tvm.tir.Call)
        if op.dtype == "float32":
            return tvm.tir.call_pure_extern("float32", f"{op.op.name[4:].replace('my', '')}f", op.args[0])
        return op

    np.testing.assert_allclose(value(lambda x: tvm.tir.call_intrin(x.dtype, "tir.exp", x)), np.exp(a), rtol=3e-6)
    doubled: list[Any] = []

    def twice(op: Any) -> Any:
        doubled.append(op.op.name)
        return tvm.tir.call_llvm_pure_intrin("float32", "llvm.sqrt", tvm.tir.const(1, "uint32"), op.args[0]) * 2.0

    tvm.ir.register_intrin_lowering("tir.exp", target="llvm", f=twice, level=99)
    tvm.ir.register_intrin_lowering("tir.exp", target="llvm", f=by_name, level=9)
    try:
        np.testing.assert_allclose(value(te.exp), np.sqrt(a) * 2, rtol=3e-6)
    finally:
        tvm.ir.remove_intrin_lowering("tir.exp")
    assert doubled == ["tir.exp"]
    np.testing.assert_allclose(value(te.exp), np.exp(a), rtol=3e-6)

    def mylog(x: Any) -> Any:
        return tvm.tir.call_intrin(x.dtype, "tir.mylog", x)

    tvm.ir.register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    with pytest.raises(WhenceError, match=r"tir\.mylog: expected a rule of register_intrin_lowering, got none"):
        value(mylog)
    tvm.ir.register_intrin_lowering("tir.mylog", target="llvm", f=by_name, level=99)
    try:
        np.testing.assert_allclose(value(mylog), np.log(a), rtol=3e-6)
        with pytest.raises(WhenceError, match=r"tir\.mylog: .* got one that returns the call"):
            value(lambda x: mylog(x.astype("float64")).astype("float32"))
    finally:
        tvm.ir.remove_intrin_lowering("tir.mylog")
    with pytest.raises(WhenceError, match="register_intrin_lowering: expected a target among llvm, cpu, default, got"):
        tvm.ir.register_intrin_lowering("tir.exp", target="cuda", f=by_name)
