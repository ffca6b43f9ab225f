"""One program for all sizes, from ONNX to machine code, against onnxruntime; and the programs for certain sizes."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

import whence
from whence.executables.dynamic import DynamicExecutable
from whence.executables.sized import SizedExecutable
from whence.planning.build import compile_kernels
from whence.reading.input_shapes import given_shapes
from whence.runtime import load_module
from whence.support.errors import FrontendError, PipelineError

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")
RNG = np.random.default_rng(5)
LANES = (0, 1, 7, 8, 13, 200)
"""Nothing, one, and around the lanes of a vector."""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def agree(executable: whence.Executable, model: onnx.ModelProto, inputs: dict[str, Array]) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for (name, mine), theirs in zip(executable.run(inputs).items(), session.run(None, inputs), strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def compiled(model: onnx.ModelProto, **options: Any) -> SizedExecutable:
    executable = whence.compile(model, audit=True, **options)
    assert isinstance(executable, SizedExecutable)
    return executable


ACT = parsed("""graph (float[N] x, float[N] y) => (float[N] z) {
    [sum] a = Add (x, y)
    [act] z = Tanh (a)
}""")

MLP = parsed("""graph (float[batch, 6] x, float[6, 20] w, float[20] c, float[20, 3] v) => (float[batch, 3] y) {
    [first] a = MatMul (x, w)
    [bias] b = Add (a, c)
    [relu] r = Relu (b)
    [second] d = MatMul (r, v)
    [odds] y = Softmax <axis = -1> (d)
}""")

SHAPES = parsed("""graph (float[batch, seq, 12] x) => (float[batch, h, seq, f] y, int64[seq] p, float[k, m] last) {
    [shape] s = Shape (x)
    [at0] zero = Constant <value_int = 0> ()
    [at1] one = Constant <value_int = 1> ()
    [batch] b = Gather (s, zero)
    [length] n = Gather (s, one)
    [axis] a = Constant <value_ints = [0]> ()
    [b1] b1 = Unsqueeze (b, a)
    [n1] n1 = Unsqueeze (n, a)
    [rest] r = Constant <value_ints = [3, 4]> ()
    [wanted] w = Concat <axis = 0> (b1, n1, r)
    [heads] h = Reshape (x, w)
    [turned] y = Transpose <perm = [0, 2, 1, 3]> (h)
    [places] p = Range (zero, n, one)
    [end] e = Constant <value_int = -1> ()
    [last] last = Gather <axis = 1> (x, e)
}""")


def test_elementwise_at_any_length():
    executable = compiled(ACT)
    assert [str(spec) for spec in executable.inputs] == ["float32[N] 'x'", "float32[N] 'y'"]
    for n in LANES:
        agree(executable, ACT, {"x": floats(n), "y": floats(n)})
    assert executable.specializations == ()
    assert executable.coverage()["relay"] == executable.coverage()["llvm"] == 1.0
    assert "act" in str(executable.why(executable.kernels[0]))


def test_one_compilation_serves_every_batch(monkeypatch: pytest.MonkeyPatch):
    weights = {"w": floats(6, 20), "c": floats(20), "v": floats(20, 3)}
    made: list[int] = []

    def counted(*args: Any, **options: Any) -> Any:
        made.append(1)
        return compile_kernels(*args, **options)

    monkeypatch.setattr("whence.planning.build.compile_kernels", counted)
    executable = compiled(MLP, tier="symbolic")
    for batch in LANES:
        agree(executable, MLP, {"x": floats(batch, 6), **weights})
    assert len(made) == 1


def test_arithmetic_of_shapes_leaves_no_operator_but_what_is_data():
    executable = compiled(SHAPES)
    for batch, seq in ((1, 1), (2, 7), (3, 8), (1, 33)):
        agree(executable, SHAPES, {"x": floats(batch, seq, 12)})
    assert len(executable.kernels) == 3


def test_errors_name_input_dimension_and_both_values():
    executable = compiled(ACT, input_shapes="x:[n] 2<=n<=64")
    with pytest.raises(FrontendError, match=r"dimension 0 of float32\[n\] 'y': expected n = 4 for n = 4, got 5"):
        executable(floats(4), floats(5))
    with pytest.raises(FrontendError, match=r"dimension 0 of float32\[n\] 'x': expected 2 <= n <= 64, got n = 65"):
        executable(floats(65), floats(65))
    with pytest.raises(FrontendError, match=r"expected float32\[n\] 'x', got float32\[2, 2\]"):
        executable(floats(2, 2), floats(2))
    with pytest.raises(FrontendError, match=r"expected float32\[n\] 'x', got int32\[4\]"):
        executable(floats(4).astype(np.int32), floats(4))
    with pytest.raises(FrontendError, match="expected 2 "):
        executable(floats(4))


def test_symbols_of_the_user_are_solved_for():
    executable = compiled(ACT, input_shapes="x:[2*n + 1] y:[2*n + 1]")
    agree(executable, ACT, {"x": floats(9), "y": floats(9)})
    with pytest.raises(FrontendError, match=r"dimension 0 of .*: expected a value of 2\*n \+ 1, got 4"):
        executable(floats(4), floats(4))
    with pytest.raises(PipelineError, match="inputs whose shapes tell"):
        whence.compile(ACT, input_shapes="x:[n*m] y:[n*m]")


@pytest.mark.parametrize("level", [0, 3])
def test_indices_from_the_end_of_any_size(level: int):
    model = parsed("graph (float[a, b, 9] x, int64 k) => (float[c, d] y) { y = Gather <axis = 1> (x, k) }")
    executable = compiled(model, opt_level=level)
    for b, k in ((5, 2), (5, -1), (200, -200), (1, 0)):
        agree(executable, model, {"x": floats(2, b, 9), "k": np.array(k)})


def test_slices_to_any_end_are_as_long_as_what_they_slice():
    largest, far = (1 << 63) - 1, 1 << 62
    cases = [(-largest - 1, largest, 1), (far, -far, -2), (-3, -(1 << 31) + 1, -1), (2, (1 << 31) - 1, 1)]
    slices = "".join(f"p{k} = Slice (x, b{k}, e{k}, z, s{k}) " for k in range(len(cases)))
    numbers = ", ".join(
        f"int64[1] b{k} = {{{b}}}, int64[1] e{k} = {{{e}}}, int64[1] s{k} = {{{s}}}"
        for k, (b, e, s) in enumerate(cases)
    )
    model = parsed(
        f"graph (float[m] x, float[1] one) => (float[k] y) <int64[1] z = {{0}}, {numbers}>"
        f"{{ {slices} h = Shape (p1) w = Expand (one, h) sum = Add (w, p1) y = Concat <axis = 0> (p0, sum, p2, p3) }}"
    )
    executable = compiled(model, tier="symbolic")
    for m in (0, 1, 2, 3, 33):
        agree(executable, model, {"x": floats(m), "one": floats(1)})


def test_what_takes_some_sizes_only_is_specialised():
    model = parsed("graph (float[1, 7, n] x) => (float[a, b, c] y) <int64[3] s = {-1, 7, 5}> { y = Reshape (x, s) }")
    executable = whence.compile(model, audit=True)
    assert isinstance(executable, DynamicExecutable)
    agree(cast(whence.Executable, executable), model, {"x": floats(1, 7, 10)})
    with pytest.raises(FrontendError, match="one program is for all sizes, got: "):
        whence.compile(model, tier="symbolic")


@pytest.mark.parametrize("scales", ["1.0, 1.0, 1.0", "1.0, 1.0, 1.5"])
def test_images_whose_batch_stays(scales: str):
    model = parsed(
        "graph (float[n, 3, 5] x) => (float[n, c, w] y)"
        f"<float[0] r = {{}}, float[3] s = {{{scales}}}> {{ y = Resize (x, r, s) }}"
    )
    for n in (1, 2, 9):
        agree(compiled(model), model, {"x": floats(n, 3, 5)})


@pytest.mark.parametrize(
    ("outputs", "attributes"),
    [
        (1, "strides = [2, 2]"),
        (3, "strides = [2, 2], pads = [1, 0, 1, 1], output_padding = [1, 1]"),
        (2, "strides = [3, 2], pads = [0, 1, 0, 1], dilations = [1, 2]"),
    ],
)
def test_transposed_convolutions_of_any_size_are_convolutions(outputs: int, attributes: str):
    size = 2 if outputs == 1 else 3
    model = parsed(
        f"graph (float[n, 4, h, w] x) => (float[n, {outputs}, p, q] y) <float[4, {outputs}, {size}, {size}] f = {{}}>"
        f"{{ y = ConvTranspose <{attributes}> (x, f) }}"
    )
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(floats(4, outputs, size, size), "f"))
    executable = compiled(model)
    assert not [name for name in executable.kernels if "conv2d_transpose" in name]
    for n, h, w in ((1, 5, 7), (2, 16, 9)):
        agree(executable, model, {"x": floats(n, 4, h, w)})


@pytest.mark.parametrize(
    ("how", "given"),
    [
        ('mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', "scales"),
        ('mode = "nearest", coordinate_transformation_mode = "pytorch_half_pixel", nearest_mode = "ceil"', "sizes"),
        ('mode = "linear"', "scales"),
        ('mode = "linear"', "sizes"),
        ('mode = "linear", coordinate_transformation_mode = "align_corners"', "scales"),
        ('mode = "cubic", coordinate_transformation_mode = "half_pixel_symmetric"', "sizes"),
    ],
)
def test_images_of_any_size(how: str, given: str):
    asked = "r, s" if given == "scales" else "r, r, wanted"
    model = parsed(
        "graph (float[n, 2, a, b] x, float[n, 2, c, d] like) => (float[n, 2, p, q] y)"
        "<float[0] r = {}, float[4] s = {1.0, 1.0, 2.0, 0.7}>"
        f"{{ wanted = Shape (like) y = Resize <{how}> (x, {asked}) }}"
    )
    executable, reference = compiled(model), cast(Any, ReferenceEvaluator(model))
    for n, a, b, c, d in ((1, 4, 5, 8, 3), (2, 1, 17, 13, 2)):
        inputs = {"x": floats(n, 2, a, b), "like": floats(n, 2, c, d)}
        (expected,) = reference.run(None, inputs)
        np.testing.assert_allclose(executable.run(inputs)["y"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operator", ["Add (x, y)", "Expand (x, s)", "MatMul (x, y)"])
def test_sizes_of_two_names_that_broadcast_take_a_program_for_each_way(operator: str):
    model = parsed(
        f"graph (float[a, 3, 3] x, float[b, 3, 3] y) => (float[d, 3, 3] z) {{ s = Shape (y) z = {operator} }}"
    )
    executable = whence.compile(model, audit=True)
    assert isinstance(executable, DynamicExecutable)
    ways = (((2, 2), 1), ((5, 5), 1), ((1, 4), 2), ((1, 7), 2), ((3, 1), 3), ((6, 1), 3), ((0, 0), 3), ((1, 1), 3))
    for (a, b), programs in ways:
        agree(executable, model, {"x": floats(a, 3, 3), "y": floats(b, 3, 3)})
        assert len(executable.specializations) == programs
    with pytest.raises(FrontendError, match=r"'x' of shape \[2, 3, 3\]; .* 'y' of shape \[3, 3, 3\]"):
        executable.run({"x": floats(2, 3, 3), "y": floats(3, 3, 3)})


@pytest.mark.parametrize(
    "operator", ["Where (c, k, x)", "Add (k, x)", "Max (x, k)", "MatMul (k, x)", "Concat <axis = 0> (k, x)"]
)
def test_what_may_broadcast_is_right_for_each_size(operator: str):
    model = parsed(
        f"graph (float[a] x, bool[b] c) => (float[d] y) <float[7] k = {{1, 2, 3, 4, 5, 6, 7}}> {{ y = {operator} }}"
    )
    executable = whence.compile(model, audit=True)
    for a, b in ((7, 7), (1, 7), (7, 1), (1, 1)):
        if a == 7 or "MatMul" not in operator:
            inputs = {"x": floats(a), "c": RNG.random(b) < 0.5}
            agree(executable, model, inputs)


def test_texts_of_shapes_and_bounds():
    given = given_shapes("ids:[batch,seq<=512] mask:[batch,past+seq] 1<=batch past>=2")
    assert {name: tuple(map(str, shape)) for name, shape in given.shapes.items()} == {
        "ids": ("batch", "seq"),
        "mask": ("batch", "past + seq"),
    }
    assert given.ranges == {"seq": (0, 512), "batch": (1, None), "past": (2, None)}
    assert given_shapes({"ids": ["batch", "1<=seq<=8", 3]}).ranges == {"seq": (1, 8)}
    for text in ("a:[n] n<=3 n>=5", "a:[n < 3]", "a:[n <= m]", "a:[n-]", "n"):
        with pytest.raises(PipelineError, match="input shapes: expected"):
            given_shapes(text)


def test_tiers():
    static = whence.compile(ACT, tier="static")
    assert isinstance(static, DynamicExecutable)
    agree(static, ACT, {"x": floats(3), "y": floats(3)})
    with pytest.raises(PipelineError, match="tier: expected one of auto, symbolic, static, got 'both'"):
        whence.compile(ACT, tier=cast(Any, "both"))
    decided = parsed("graph (float[N] x) => (int64[1, K] y) { y = NonZero (x) }")
    assert isinstance(whence.compile(decided), DynamicExecutable)
    with pytest.raises(FrontendError, match='tier "symbolic": expected a model'):
        whence.compile(decided, tier="symbolic")


def test_sizes_that_are_asked_for_have_programs_of_their_own():
    executable = compiled(ACT, specialize={"N": [8, 16]}, tier="symbolic")
    assert [part.inputs[0].shape for part in executable.specializations] == [(8,), (16,)]
    agree(executable, ACT, {"x": floats(8), "y": floats(8)})
    assert executable.last is executable.specializations[-1]
    assert executable.report().splitlines()[-1] == "for N = 8: 1 kernels, 1 calls  <- last call"
    agree(executable, ACT, {"x": floats(9), "y": floats(9)})
    assert executable.last is executable
    assert executable.report().splitlines()[0] == "for every N: 1 kernels  <- last call"
    with pytest.raises(PipelineError, match="specialize: expected a number for each of N, got M: N is missing"):
        whence.compile(ACT, specialize={"M": 4})


def test_sizes_met_often_are_specialised_while_threads_go_on_calling(monkeypatch: pytest.MonkeyPatch):
    # As where no other process can be had.
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    interval = sys.getswitchinterval()
    executable = compiled(ACT, threads=1)
    executable._often, executable._limit = 5, 2  # pyright: ignore[reportPrivateUsage]
    wrong: list[int] = []

    def call(n: int) -> None:
        x, y = np.full(n, n / 100, np.float32), np.zeros(n, np.float32)
        wanted = np.tanh(x)
        for _ in range(40):
            if not np.allclose(cast(Array, executable(x, y)), wanted, atol=1e-6):
                wrong.append(n)

    threads = [threading.Thread(target=call, args=(n,)) for n in (5, 40, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert executable.wait(60)
    assert not wrong
    assert sys.getswitchinterval() == interval
    assert 1 <= len(executable.specializations) <= 2
    for part in executable.specializations:
        (n,) = part.inputs[0].shape
        executable(floats(n), floats(n))
        assert executable.last is part


def test_what_is_shipped_takes_any_sizes(tmp_path: Path):
    compiled(ACT, input_shapes="x:[n] n<=99").export_library(tmp_path / "act.tar")
    module = load_module(tmp_path / "act.tar")
    assert [str(spec) for spec in module.inputs] == ["float32[n] 'x'", "float32[n] 'y'"]
    for n in LANES[:5]:
        agree(cast(Any, module), ACT, {"x": floats(n), "y": floats(n)})
    with pytest.raises(FrontendError, match="expected 0 <= n <= 99, got n = 100"):
        module.run({"x": floats(100), "y": floats(100)})


def test_sums_into_no_columns_of_open_rows():
    model = parsed("""graph (float[a, b] x, float[1, 8, 0] parts) => (float[c, d, e, f] y)
    <int64[1] first = {0}, int64[1] last = {-1}, int64[1] axis = {1}, int64[2] block = {2, 2}> {
    flat = Flatten <axis = 2> (x)
    none = Slice (flat, first, last, axis, axis)
    image = Shape (none)
    [sums] y = Col2Im (parts, image, block)
}""")
    executable = compiled(model, tier="symbolic")
    for a in (0, 3):
        (y,) = executable.run({"x": floats(a, 2), "parts": np.zeros((1, 8, 0), np.float32)}).values()
        assert y.shape == (1, 2, 2 * a, 0)
