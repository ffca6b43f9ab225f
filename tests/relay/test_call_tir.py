"""Kernels of tir that relay programs call."""
# pyright: reportUnknownLambdaType=false

from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.printer import Printer

import whence
from whence import WhenceError, relay, te
from whence.contrib import graph_executor
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.call_tir import CallTirOp, calls_of
from whence.dialects.relay.traits import OpPattern
from whence.dialects.te import FuncOp
from whence.dialects.tir import PrimFuncOp
from whence.executables.executable import Executable
from whence.kernels import create_prim_func
from whence.lowering.kernel.record import Kernel
from whence.lowering.tir_to_te import fusion
from whence.lowering.tir_to_te.fusion import op_pattern
from whence.lowering.tir_to_te.raising import raised
from whence.provenance.span import leaves
from whence.reading.textio import context
from whence.script import from_source
from whence.tir.function import PrimFunc

TEXT = """
@T.prim_func
def mm(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((16, 24), "float32")):
    for i, j, k in T.grid(16, 24, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def rows(a: T.handle, c: T.Buffer((8,), "float32"), b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (2 * n, 8), "float32")
    for i, j in T.grid(n, 8):
        B[i, j] = A[i, j] * T.float32(3) + c[j]
        B[i + n, j] = A[i, j]


@T.prim_func
def affine(a: T.handle, c: T.Buffer((8,), "float32"), b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for i, j in T.grid(n, 8):
        B[i, j] = A[i, j] * T.float32(3) + c[j]


@T.prim_func
def two(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "int32")):
    for i in range(16):
        B[i] = A[i] + T.float32(1)
        C[i] = T.Cast("int32", A[i])


@T.prim_func
def accumulate(X: T.Buffer((4,), "float32"), A: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] + X[i]
        D[i] = A[i] * T.float32(2)


@T.prim_func
def scan(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    B[0] = A[0]
    for i in range(15):
        B[i + 1] = B[i] + A[i + 1]
"""


def kernel(name: str) -> PrimFunc:
    start = TEXT.index(f"def {name}(")
    line = TEXT.count("\n", 0, start)
    text = "@T.prim_func\n" + TEXT[start:].partition("\n\n\n")[0]
    return from_source("\n" * (line - 1) + text, file="kernels.py")


def module_of(args: list[Any], body: Any, *names: str) -> Any:
    return whence.IRModule({"main": relay.Function(args, body), **{name: kernel(name) for name in names}})


@contextmanager
def refused(*parts: str) -> Generator[None]:
    with pytest.raises(WhenceError) as caught:
        yield
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def only_kernel(exe: Executable) -> Kernel:
    (only,) = exe.artifact.kernels
    assert isinstance(only, Kernel)
    return only


def random(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("float32")


def scanned() -> Any:
    x = relay.var("x", shape=(16,))
    return module_of([x], relay.nn.relu(relay.call_tir("scan", [relay.exp(x)])), "scan")


def of_scan(x: Any) -> Any:
    return np.maximum(np.cumsum(np.exp(x)), 0)


def test_a_product_is_one_kernel_with_what_follows_it():
    x, w, b = relay.var("x", shape=(16, 32)), relay.var("w", shape=(32, 24)), relay.var("b", shape=(24,))
    exe = whence.compile(module_of([x, w, b], relay.nn.relu(relay.call_tir("mm", [x, w]) + b), "mm"))
    a, c, d = random(16, 32), random(32, 24), random(24)
    np.testing.assert_allclose(exe(a, c, d), np.maximum(a @ c + d, 0), rtol=1e-4, atol=1e-5)
    only = only_kernel(exe)
    assert 'C = "dense"' in only.schedule


@pytest.mark.parametrize("kind", ["graph", "aot", "vm", "debug"])
def test_executors_run_kernels(kind: str):
    x = random(16)
    got = relay.create_executor(kind, scanned()).evaluate()(x)
    np.testing.assert_allclose(got.numpy(), of_scan(x), rtol=1e-5)


def test_a_graph_runs_a_kernel():
    module = graph_executor.GraphModule(relay.build(scanned(), target="llvm")["default"](whence.cpu()))
    x = random(16)
    module.set_input("x", x)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), of_scan(x), rtol=1e-5)


def test_one_program_for_all_sizes():
    x, c = relay.var("x", shape=("m", 8)), relay.var("c", shape=(8,))
    for name in ("affine", "rows"):
        exe = whence.compile(module_of([x, c], relay.nn.relu(relay.call_tir(name, [x, c])), name))
        for n in (1, 2, 17):
            a, b = random(n, 8), random(8)
            wanted = a * 3 + b if name == "affine" else np.concatenate([a * 3 + b, a])
            np.testing.assert_allclose(exe(a, b), np.maximum(wanted, 0), rtol=1e-6, atol=1e-6)
        assert exe.choice.kind == "sized"
        assert f"[{'m' if name == 'affine' else '2*m'}, 8]" in str(exe.outputs[0])


def test_open_sizes_meet_numbers():
    x, c = relay.var("x", shape=(5, 8)), relay.var("c", shape=(8,))
    exe = whence.compile(module_of([x, c], relay.call_tir("rows", [x, c]), "rows"))
    a, b = random(5, 8), random(8)
    np.testing.assert_allclose(exe(a, b), np.concatenate([a * 3 + b, a]), rtol=1e-6, atol=1e-6)


def test_several_results():
    x = relay.var("x", shape=(16,))
    first, second = relay.call_tir("two", [x], [None, None])
    exe = whence.compile(module_of([x], relay.Tuple([relay.nn.relu(first), second]), "two"))
    a = random(16) * 5
    got = exe(a)
    np.testing.assert_array_equal(got[0], np.maximum(a + 1, 0))
    np.testing.assert_array_equal(got[1], a.astype("int32"))


def test_in_place_leaves_the_callers_tensor():
    x, a = relay.var("x", shape=(4,)), relay.var("a", shape=(4,))
    total, double = relay.call_tir_inplace("accumulate", [x, a], [1, -1])
    exe = whence.compile(module_of([x, a], relay.Tuple([total, double, a]), "accumulate"))
    left, right = random(4), random(4) + 1
    got = exe(left, right)
    for index, wanted in enumerate((left + right, 2 * (left + right), right)):
        np.testing.assert_array_equal(got[index], wanted)


def test_text_round_trip():
    module = scanned()
    text = module.astext()
    assert 'call_tir(%1, callee="scan")' in text
    again = relay.parse(text, init_module=whence.IRModule({"scan": kernel("scan")}))
    assert 'call_tir(%1, callee="scan")' in again.astext()
    x = random(16)
    np.testing.assert_array_equal(whence.compile(again)(x), whence.compile(module)(x))


@pytest.mark.parametrize("generic", [False, True])
def test_ops_round_trip(generic: bool):
    module = scanned()
    exe = whence.compile(module)
    for stage in (module.module, exe.artifact.snapshots[-1].module):
        texts: list[str] = []
        for _ in range(2):
            stream = StringIO()
            Printer(stream, print_debuginfo=True, print_generic_format=generic).print_op(stage)
            texts.append(stream.getvalue())
            stage = LocatedParser(context(), texts[-1], "again.mlir").parse_module()
            stage.verify()
        assert texts[0] == texts[1]
    assert "#relay.kernel<" in texts[0]


def test_a_fused_function_of_text_is_compiled():
    exe = whence.compile(scanned())
    again = whence.compile(exe.artifact.snapshots[-1].module, pipeline="relay-share-kernels")
    x = random(16)
    np.testing.assert_array_equal(again(x), exe(x))


def test_why_shows_the_layer_of_the_call_and_the_line_of_the_kernel():
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(16), float32]) {
  %0 = (%x,);
  call_tir(%0, callee="scan")
}
"""
    module = relay.parse(text, "net.relay", init_module=whence.IRModule({"scan": kernel("scan")}))
    exe = whence.compile(module, audit=True)
    only = only_kernel(exe)
    line = TEXT.count("\n", 0, TEXT.index("B[i + 1]")) + 1
    number, own = next((n, own) for n, places in only.places for own in places if f"kernels.py:{line}:" in own)
    assert own.startswith("scan (kernels.py")
    shown = str(exe.why(only.symbol, number))
    assert "net.relay:4" in shown
    assert f"kernels.py:{line}:" in shown


@pytest.mark.parametrize(("name", "shapes"), [("scan", [(16,)]), ("mm", [(16, 32), (32, 24)])])
def test_each_line_of_a_kernel_has_the_layer_of_the_call(name: str, shapes: list[tuple[int, ...]]):
    args = [relay.var(f"x{k}", shape=shape) for k, shape in enumerate(shapes)]
    exe = whence.compile(module_of(args, relay.call_tir(name, args), name), audit=True)
    only = only_kernel(exe)
    assert len(only.places) > 3
    assert all(0 in only.lines[number - 1] for number, _ in only.places)
    assert all("#" not in place for _, own in only.places for place in own)
    assert f"in fused_{name}\n" in str(exe.where("call_tir_0"))


def test_calls_of_a_module_share_its_kernel():
    x = relay.var("x", shape=(16,))
    exe = whence.compile(module_of([x], relay.call_tir("scan", relay.call_tir("scan", x)), "scan"))
    a = random(16)
    np.testing.assert_allclose(exe(a), np.cumsum(np.cumsum(a)), rtol=1e-4, atol=1e-5)
    assert len(exe.artifact.kernels) == 1


def test_kernels_of_the_same_name_in_two_modules_are_told_apart():
    x = relay.var("x", shape=(16,))
    other = kernel("scan").script().replace("B[i] +", "B[i] -")
    module = whence.IRModule(
        {"main": relay.Function([x], relay.call_tir("scan", x)), "scan": from_source(other, file="other.py")}
    )
    a = random(16)
    wanted = a[0] - np.cumsum(a) + a[0]
    np.testing.assert_allclose(whence.compile(module)(a), wanted, rtol=1e-4, atol=1e-5)
    same = whence.IRModule({"main": relay.Function([x], relay.call_tir("scan", x)), "scan": kernel("scan")})
    np.testing.assert_allclose(whence.compile(same)(a), np.cumsum(a), rtol=1e-4, atol=1e-5)


def test_a_scheduled_kernel_stays_as_it_is():
    schedule = whence.tir.Schedule(kernel("mm"))
    loops = schedule.get_loops(schedule.get_block("C"))
    schedule.reorder(loops[2], loops[0])
    x, w = relay.var("x", shape=(16, 32)), relay.var("w", shape=(32, 24))
    module = whence.IRModule(
        {"main": relay.Function([x, w], relay.call_tir("mm", [x, w])), "mm": next(iter(schedule.mod.kernels.values()))}
    )
    exe = whence.compile(module)
    assert "te.hybrid" in only_kernel(exe).te
    a, b = random(16, 32), random(32, 24)
    np.testing.assert_allclose(exe(a, b), a @ b, rtol=1e-4, atol=1e-5)


def _wrong(name: str, *types: tuple[tuple[int, ...], str]) -> Any:
    args = [relay.var(f"x{k}", shape=shape, dtype=dtype) for k, (shape, dtype) in enumerate(types)]
    return module_of(args, relay.call_tir(name, args), "mm", "rows")


@pytest.mark.parametrize(
    ("module", "parts"),
    [
        (_wrong("mm", ((16, 32), "float32")), ["2 operands", "'mm'", "kernels.py", "got 1"]),
        (_wrong("mm", *[((16, 32), "float32")] * 3), ["2 operands", "got 3"]),
        (_wrong("mm", ((16, 32), "float32"), ((32, 25), "float32")), ["operand 1 of float32[32, 24]", "32x25"]),
        (_wrong("mm", ((16, 32), "float64"), ((32, 24), "float32")), ["operand 0 of float32[16, 32]", "f64"]),
        (_wrong("mm", ((16,), "float32"), ((32, 24), "float32")), ["operand 0 of float32[16, 32]", "tensor<16xf32>"]),
        (_wrong("rows", ((3, 9), "float32"), ((8,), "float32")), ["operand 0 of float32[s0, 8]", "3x9"]),
        (_wrong("nn"), ["a kernel among mm, rows", "got nn"]),
    ],
)
def test_bad_calls(module: Any, parts: list[str]):
    with refused(*parts):
        whence.compile(module)


@pytest.mark.parametrize(
    ("name", "shape", "out_ty", "parts"),
    [
        ("affine", (5, 8), relay.TensorType((5, 9)), ["out_ty float32[5, 8] of result 0", "got float32[5, 9]"]),
        ("affine", (5, 8), relay.TensorType((5, 8), "int32"), ["out_ty float32[5, 8]", "got int32[5, 8]"]),
        ("affine", ("m", 8), relay.TensorType(("m", 9)), ["out_ty float32[m, 8]", "got float32[m, 9]"]),
        ("rows", ("m", 8), relay.TensorType(("2 * m + 1", 8)), ["out_ty float32[2*m, 8]", "got float32[2*m + 1, 8]"]),
        ("rows", (5, 8), relay.TensorType((10,)), ["out_ty float32[10, 8]", "got float32[10]"]),
        ("rows", (5, 8), [relay.TensorType((10, 8)), None], ["out_ty of 1 results", "got 2"]),
        ("rows", (5, 8), "float32", ["expected types as out_ty, got str"]),
    ],
)
def test_an_out_ty_that_contradicts_the_kernel(name: str, shape: tuple[Any, ...], out_ty: Any, parts: list[str]):
    x, c = relay.var("x", shape=shape), relay.var("c", shape=(8,))
    places = [f"kernel '{name}' (layer '{name}', kernels.py line", "'here'"] if not isinstance(out_ty, str) else []
    with refused(*parts, *places):
        call = relay.call_tir(name, [x, c], out_ty)
        call = call.astuple() if isinstance(call, relay.TupleWrapper) else call
        whence.compile(module_of([x, c], relay.set_span(call, "here"), name))


@pytest.mark.parametrize("out_ty", [None, [None], relay.TensorType(("2 * m", 8)), relay.TensorType((relay.Any(), 8))])
def test_an_out_ty_that_the_kernel_agrees_with(out_ty: Any):
    x, c = relay.var("x", shape=("m", 8)), relay.var("c", shape=(8,))
    exe = whence.compile(module_of([x, c], relay.call_tir("rows", [x, c], out_ty), "rows"))
    a, b = random(3, 8), random(8)
    np.testing.assert_allclose(exe(a, b), np.concatenate([a * 3 + b, a]), rtol=1e-6, atol=1e-6)


def test_results_in_place_are_stated_in_order():
    x, a = relay.var("x", shape=(4,)), relay.var("a", shape=(4,))
    types = [relay.TensorType((4,)), relay.TensorType((4,), "int32")]
    with refused("out_ty float32[4] of result 1", "got int32[4]"):
        call = relay.call_tir_inplace("accumulate", [x, a], [1, -1], types)
        whence.compile(module_of([x, a], call.astuple(), "accumulate"))


def test_a_call_of_a_kernel_that_is_missing_in_text():
    text = "builtin.module { relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {\n"
    text += "  %0 = relay.call_tir @gone(%x) : (tensor<4xf32>) -> tensor<4xf32>\n  relay.return %0 : tensor<4xf32>\n}}"
    with refused("tir.prim_func named @gone", "net.mlir:2:3"):
        whence.compile(LocatedParser(context(), text, "net.mlir").parse_module())


def test_inplace_indices_that_the_kernel_does_not_write():
    x, a = relay.var("x", shape=(4,)), relay.var("a", shape=(4,))
    with refused("inplace_indices that name the arguments 1, 2", "[0, -1]", "kernels.py"):
        whence.compile(
            module_of([x, a], relay.Tuple([*relay.call_tir_inplace("accumulate", [x, a], [0, -1])]), "accumulate")
        )


PATTERNS: dict[str, tuple[Callable[[Any], Any], OpPattern, Callable[[Any], Any]]] = {
    "double": (lambda a: te.compute(a.shape, lambda i, j: a[i, j] * 2.0), OpPattern.ELEMWISE, lambda a: a * 2),
    "row": (
        lambda a: te.compute((4, 6, 8), lambda k, i, j: a[i, j]),
        OpPattern.BROADCAST,
        lambda a: a + np.zeros((4, 1, 1)),
    ),
    "turn": (lambda a: te.compute((8, 6), lambda i, j: a[j, i]), OpPattern.INJECTIVE, lambda a: a.T),
    "pair": (
        lambda a: te.compute((6, 7), lambda i, j: a[i, j] + a[i, j + 1]),
        OpPattern.OPAQUE,
        lambda a: a[:, :-1] + a[:, 1:],
    ),
}


def _total(a: Any) -> Any:
    k = te.reduce_axis((0, 8))
    return te.compute((6,), lambda i: te.sum(a[i, k], axis=k))


def _square(a: Any) -> Any:
    k = te.reduce_axis((0, 8))
    return te.compute((6, 6), lambda i, j: te.sum(a[i, k] * a[j, k], axis=k))


PATTERNS["total"] = (_total, OpPattern.COMM_REDUCE, lambda a: a.sum(1))
PATTERNS["other"] = (_square, OpPattern.OPAQUE, lambda a: a @ a.T)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_and_fusion(name: str):
    make, pattern, meaning = PATTERNS[name]
    a = te.placeholder((6, 8), name="a")
    func = create_prim_func([a, make(a)], name)
    assert op_pattern(func) is pattern
    x = relay.var("x", shape=(6, 8))
    call = relay.call_tir(name, relay.exp(x))
    exe = whence.compile(whence.IRModule({"main": relay.Function([x], relay.tanh(call)), name: PrimFunc.of(func)}))
    data = random(6, 8)
    np.testing.assert_allclose(exe(data), np.tanh(meaning(np.exp(data))), rtol=1e-4, atol=1e-5)
    count = {OpPattern.OPAQUE: 3, OpPattern.COMM_REDUCE: 2}.get(pattern, 1)
    assert len(exe.artifact.kernels) == count


def test_patterns_of_axes_of_one_element_and_of_indices_that_are_data():
    a, at = te.placeholder((1, 8), name="a"), te.placeholder((4,), "int32", name="at")
    same = te.compute((1, 8), lambda i, j: a[0, j] * 2.0)
    assert op_pattern(create_prim_func([a, same], "same")) is OpPattern.ELEMWISE
    rows = te.compute((6, 8), lambda i, j: a[0, j])
    assert op_pattern(create_prim_func([a, rows], "rows")) is OpPattern.BROADCAST
    taken = te.compute((4,), lambda i: a[0, at[i]])
    assert op_pattern(create_prim_func([a, at, taken], "taken")) is OpPattern.INJECTIVE


def test_a_kernel_is_raised_once_for_how_it_fuses_and_for_its_code(monkeypatch: pytest.MonkeyPatch):
    kernels: list[PrimFuncOp] = []

    def counted(func: PrimFuncOp) -> FuncOp:
        kernels.append(func)
        return raised(func)

    monkeypatch.setattr(fusion, "raised", counted)
    a = te.placeholder((6, 8), name="a")
    func = create_prim_func([a, _square(a)], "square")
    x = relay.var("x", shape=(6, 8))
    call = relay.tanh(relay.call_tir("square", relay.exp(x)))
    whence.compile(whence.IRModule({"main": relay.Function([x], call), "square": PrimFunc.of(func)}))
    assert len(kernels) == 1


def _stage(a: Any, kind: int) -> Any:
    rows, columns = a.shape
    k = te.reduce_axis((0, columns))
    match kind:
        case 0:
            return te.compute((rows, columns), lambda i, j: te.max(a[i, j], 0.25))
        case 1:
            return te.compute((columns, rows), lambda i, j: a[j, i] + 1.0)
        case 2:
            return te.compute((rows, columns), lambda i, j: a[i, j] - a[0, j])
        case 3:
            return te.compute((rows, 3), lambda i, j: te.max(a[i, k] * (j + 1.0), axis=k))
        case _:
            return te.compute((rows, rows), lambda i, j: te.sum(a[i, k] * a[j, k], axis=k))


MEANINGS: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.maximum(x, 0.25),
    lambda x: x.T + 1,
    lambda x: x - x[:1],
    lambda x: np.stack([(x * (j + 1)).max(1) for j in range(3)], 1),
    lambda x: x @ x.T,
)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_in_graphs(seed: int):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 20, 2))
    functions: dict[str, Any] = {}
    x = relay.var("x", shape=shape)
    data = rng.standard_normal(shape).astype("float32")
    expr, value = x, data
    for step in range(int(rng.integers(2, 5))):
        kind, name = int(rng.integers(len(MEANINGS))), f"k{step}"
        a = te.placeholder(value.shape, name="a")
        functions[name] = PrimFunc.of(create_prim_func([a, _stage(a, kind)], name))
        expr, value = relay.call_tir(name, expr), MEANINGS[kind](value)
        if rng.integers(2):
            expr, value = relay.tanh(expr), np.tanh(value)
    exe = whence.compile(whence.IRModule({"main": relay.Function([x], expr), **functions}), audit=True)
    np.testing.assert_allclose(exe(data), value, rtol=1e-3, atol=1e-4)


def test_calls_hold_what_they_call():
    module = scanned().module
    (call,) = calls_of(module)
    assert isinstance(call, CallTirOp)
    located = {leaf for op in call.kernel.data.walk() for leaf in leaves(op.location)}
    assert all("kernels.py" in str(leaf) for leaf in located)
