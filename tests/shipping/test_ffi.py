"""Exported libraries, called by the package tvm-ffi; and functions registered with it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnx.parser
import pytest
import tvm_ffi
from numpy.typing import NDArray
from zoo import SMALL

import whence
from whence import te
from whence._ffi.registry import remove_global_func
from whence.relay.build_module import GraphExecutorFactoryModule

Array = NDArray[Any]


def called(function: Callable[..., Any], inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """The outputs that a call writes over numbers that no result has."""
    for output in outputs:
        output.fill(77)
    assert function(*inputs, *outputs) is None
    return outputs


def loaded(path: Path, name: str = "main") -> Callable[..., Any]:
    module: Any = cast(Any, tvm_ffi).load_module(str(path))
    return module[name]


@pytest.fixture(scope="module")
def library(files: dict[str, Path]) -> Callable[..., Any]:
    return loaded(files["so"])


def fresh() -> tuple[Array, Array]:
    return np.zeros((1, 5), np.float32), np.zeros((1, 8, 32, 32), np.float32)


@pytest.mark.parametrize("name", ["squeezenet", "recommender", "mixer", "lstm", "resnet_qdq", "bert_f16"])
def test_a_network_gives_the_bits_of_our_own_run(name: str, tmp_path: Path):
    model, inputs = SMALL[name]()
    executable = whence.compile(model, threads=2)
    executable.export_library(tmp_path / "net.so")
    expected = executable.run(inputs)
    arguments = [np.array(inputs[spec.name]) for spec in executable.inputs]
    outputs = [np.empty_like(expected[spec.name]) for spec in executable.outputs]
    found = called(loaded(tmp_path / "net.so"), arguments, outputs)
    for spec, array in zip(executable.outputs, found, strict=True):
        np.testing.assert_array_equal(array, expected[spec.name])


DTYPES = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_function_of_each_dtype(dtype: str, tmp_path: Path):
    a, b = (te.placeholder((3, 5), dtype, name) for name in "ab")
    c = te.compute((5, 3), lambda i, j: te.if_then_else(i > 1, a[j, i], b[j, i]), name="c")
    for order, name in (([b, c, a], "choose"), ([a, b, c], "plain")):
        whence.build(te.create_schedule(c.op), order, name=name).export_library(tmp_path / f"{name}.so")
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0, 2 if dtype == "bool" else 100, (3, 5)).astype(dtype) for _ in range(2))
    z, w = np.zeros((5, 3), dtype), np.zeros((5, 3), dtype)
    loaded(tmp_path / "choose.so", "choose")(y, z, x)
    loaded(tmp_path / "plain.so", "plain")(x, y, w)
    for found in (z, w):
        np.testing.assert_array_equal(found, np.where(np.arange(5)[:, None] > 1, x.T, y.T))


def test_objects_that_are_tensors(library: Callable[..., Any], image: Array, reference: dict[str, Array]):
    y, a = fresh()
    library(tvm_ffi.from_dlpack(image), tvm_ffi.from_dlpack(y), tvm_ffi.from_dlpack(a))
    np.testing.assert_allclose(y, reference["y"], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(a, reference["a"], rtol=1e-4, atol=1e-4)


def test_memory_that_is_aligned_to_elements_only(library: Callable[..., Any], image: Array):
    y, a = fresh()
    library(image, y, a)
    for shift in (1, 7, 15):
        rooms = [np.full(array.size + 32, 5, np.float32) for array in (image, y, a)]
        x, z, b = (
            room[shift : shift + array.size].reshape(array.shape)
            for room, array in zip(rooms, (image, y, a), strict=True)
        )
        x[...] = image
        library(x, z, b)
        np.testing.assert_array_equal(z, y)
        np.testing.assert_array_equal(b, a)
        assert all((room[:shift] == 5).all() for room in rooms)
        assert all((room[shift + array.size :] == 5).all() for room, array in zip(rooms, (x, z, b), strict=True))


# The part of the message behind "argument", or all of it.
BAD: dict[str, tuple[Callable[[Array, Array, Array], tuple[Any, ...]], type[Exception], str]] = {
    "count": (lambda x, y, a: (x, y), TypeError, "expected 3 tensors, inputs and outputs, got 2 arguments"),
    "none": (lambda x, y, a: (), TypeError, "expected 3 tensors, inputs and outputs, got 0 arguments"),
    "number": (
        lambda x, y, a: (x, 3, a),
        TypeError,
        "1 ('y'): expected a tensor, got a value of type index 1",
    ),
    "text": (lambda x, y, a: ("image", y, a), TypeError, "0 ('x'): expected a tensor"),
    "null": (
        lambda x, y, a: (None, y, a),
        TypeError,
        "0 ('x'): expected a tensor, got a value of type index 0",
    ),
    "wider": (
        lambda x, y, a: (x.astype("float64"), y, a),
        TypeError,
        "0 ('x'): expected float32, got float64",
    ),
    "kind": (lambda x, y, a: (x.astype("int32"), y, a), TypeError, "0 ('x'): expected float32, got int32"),
    "bool": (lambda x, y, a: (x > 0, y, a), TypeError, "0 ('x'): expected float32, got bool8"),
    "rank": (lambda x, y, a: (x[0], y, a), ValueError, "0 ('x'): expected 4 dimensions, got 3"),
    "extent": (lambda x, y, a: (x, y[:, :4], a), ValueError, "1 ('y'): expected dimension 1 of 5, got 4"),
    "order": (
        lambda x, y, a: (np.asfortranarray(x), y, a),
        ValueError,
        "0 ('x'): expected C order with stride 1 in dimension 3, got 96",
    ),
    "reversed": (
        lambda x, y, a: (x, y, a[:, :, ::-1]),
        ValueError,
        "2 ('a'): expected C order with stride 32",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_argument_is_refused_by_its_name(library: Callable[..., Any], image: Array, case: str):
    change, kind, text = BAD[case]
    y, a = fresh()
    with pytest.raises(kind) as caught:
        library(*change(image, y, a))
    assert f"main: {'argument ' if text[0].isdigit() else ''}{text}" in str(caught.value)
    assert not y.any()
    assert not a.any()


def test_many_threads_and_a_forked_process(library: Callable[..., Any], image: Array):
    y, a = fresh()
    library(image, y, a)
    same: list[bool] = []

    def work() -> None:
        for _ in range(50):
            z, b = fresh()
            library(image, z, b)
            same.append(np.array_equal(z, y) and np.array_equal(b, a))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 200
    # The threads of the parent are not in the child.
    if (child := os.fork()) == 0:
        z, b = fresh()
        library(image, z, b)
        os._exit(int(not np.array_equal(z, y)))
    assert os.waitpid(child, 0)[1] == 0


SIZED = """<ir_version: 8, opset_import: ["": 18]>
graph (float[rows, cols] x, int64[count] k) => (float[cols, double] y, int64[count] k2) {
    t = Transpose <perm = [1, 0]> (x)
    s = Softmax <axis = 1> (t)
    y = Concat <axis = 1> (s, t)
    k2 = Add (k, k)
}"""


def test_sizes_are_read_off_the_shapes(tmp_path: Path):
    executable = whence.compile(onnx.parser.parse_model(SIZED), tier="symbolic", threads=1)
    executable.export_library(tmp_path / "net.so")
    function = loaded(tmp_path / "net.so")
    rng = np.random.default_rng(5)
    for rows, cols, count in ((3, 5, 2), (1, 1, 0), (7, 9, 4), (64, 33, 1)):
        x, k = rng.standard_normal((rows, cols)).astype(np.float32), rng.integers(0, 99, count)
        y, k2 = called(function, [x, k], [np.zeros((cols, 2 * rows), np.float32), np.zeros(count, np.int64)])
        powers = np.exp(x.T - x.T.max(1, keepdims=True))
        np.testing.assert_allclose(y, np.hstack([powers / powers.sum(1, keepdims=True), x.T]), atol=1e-6)
        np.testing.assert_array_equal(k2, k + k)
    for bad, text in (
        ((x, k, y[:, :3].copy(), k2), "2 ('y'): expected dimension 1 of 128, got 3"),
        ((x, k, y, np.zeros(3, np.int64)), "3 ('k2'): expected dimension 0 of 1, got 3"),
    ):
        with pytest.raises(ValueError, match="main: ") as caught:
            function(*bad)
        assert f"argument {text}" in str(caught.value)


def test_views_of_memory(tmp_path: Path):
    """No elements, and elements that begin anywhere, have the strides that numpy gives them; read-only ones stay so."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
    graph (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }""")
    whence.compile(model, tier="symbolic", threads=1).export_library(tmp_path / "net.so")
    function = loaded(tmp_path / "net.so")
    nothing = np.zeros((0, 3), np.float32)
    for x in (nothing, nothing.T.copy().T, np.zeros((4, 3), np.float32)[4:]):
        function(x, np.zeros_like(x))
    with pytest.raises(ValueError, match=r"argument 1 \('y'\): expected dimension 0 of 0, got 1"):
        function(nothing, np.zeros((1, 3), np.float32))
    memory = np.arange(40, dtype=np.float32) - 20
    for first in range(4):
        x, y = memory[first:][:30].reshape(10, 3), np.zeros((10, 3), np.float32)
        function(tvm_ffi.from_dlpack(x), y)
        np.testing.assert_array_equal(y, np.maximum(x, 0))
    for view in (memory[:36].reshape(12, 3)[::-1], memory[:36].reshape(6, 6)[:, ::2], memory[:36].reshape(3, 12).T):
        for pair in ((view, np.zeros(view.shape, np.float32)), (np.zeros(view.shape, np.float32), view)):
            with pytest.raises(ValueError, match="expected C order with stride"):
                function(*pair)
    fixed = np.zeros((2, 3), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(BufferError, match="readonly"):
        function(np.ones((2, 3), np.float32), fixed)
    assert not fixed.any()
    np.testing.assert_array_equal(memory, np.arange(40) - 20)


RELU = """<ir_version: 8, opset_import: ["": 18]>
graph (float[n] x) => (float[n] y) {
    y = Relu (x)
}"""


@pytest.mark.parametrize(
    ("extent", "good", "bad"), [("4<=n<=12", (4, 12), (0, 3, 13)), ("3*n+2", (2, 5, 302), (0, 1, 3, 4))]
)
def test_an_extent_that_its_size_cannot_have_is_refused(
    tmp_path: Path, extent: str, good: tuple[int, ...], bad: tuple[int, ...]
):
    model = onnx.parser.parse_model(RELU)
    executable = whence.compile(model, input_shapes=f"x:[{extent}]", tier="symbolic", threads=1)
    executable.export_library(tmp_path / "net.so")
    function = loaded(tmp_path / "net.so")
    for n in good:
        x = np.arange(n, dtype=np.float32) - 2
        (y,) = called(function, [x], [np.zeros(n, np.float32)])
        np.testing.assert_array_equal(y, np.maximum(x, 0))
    for n in bad:
        with pytest.raises(ValueError, match=rf"main: argument 0 \('x'\): expected dimension 0 as .*, got {n}$"):
            function(np.zeros(n, np.float32), np.zeros(n, np.float32))


def test_only_a_library_with_parameters_has_the_function(
    files: dict[str, Path], lib: GraphExecutorFactoryModule, tmp_path: Path
):
    bare = Path(lib.remove_params().export_library(tmp_path / "bare.so"))
    for path, has in ((files["so"], True), (bare, False)):
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
        assert ("__tvm_ffi_main" in listed.stdout) == has


def test_without_the_package_an_error_is_a_code(files: dict[str, Path]):
    """Whoever loads the library by dlopen alone gets -1 and no text."""
    code = (
        "import ctypes, sys\n"
        "call = ctypes.CDLL(sys.argv[1]).__tvm_ffi_main\n"
        "print(call(None, None, 0, (ctypes.c_byte * 16)()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, files["so"]], capture_output=True, text=True, check=True)
    assert done.stdout == "-1\n"


def test_a_library_is_unloaded_with_its_threads(files: dict[str, Path], image: Array):
    code = (
        "import gc, sys, numpy as np, tvm_ffi\n"
        "for _ in range(3):\n"
        "    main = tvm_ffi.load_module(sys.argv[1])['main']\n"
        "    y, a = np.zeros((1, 5), 'f4'), np.zeros((1, 8, 32, 32), 'f4')\n"
        "    main(np.ones((1, 3, 32, 32), 'f4'), y, a)\n"
        "    del main\n"
        "    gc.collect()\n"
        "print(y.any())\n"
    )
    environment = os.environ | {"WHENCE_NUM_THREADS": "4"}
    command = [sys.executable, "-c", code, files["so"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "True\n"


def test_registered_functions_are_found_on_both_sides():
    @whence.register_func("tests.ffi.double")
    def double(x: Array, y: Array) -> Array:
        y[...] = 2 * x
        return x

    theirs = tvm_ffi.get_global_func("tests.ffi.double")
    x, y = np.arange(4.0), np.zeros(4)
    np.testing.assert_array_equal(np.from_dlpack(theirs(x, y)), x)
    np.testing.assert_array_equal(y, [0, 2, 4, 6])

    @tvm_ffi.register_global_func("tests.ffi.shifted")
    def shifted(x: Any, by: int) -> Any:
        array: Array = np.from_dlpack(x)
        array += by
        return x

    ours = whence.get_global_func("tests.ffi.shifted")
    assert ours is not None
    back = ours(whence.nd.array(x), 3)
    assert isinstance(back, whence.nd.NDArray)
    np.testing.assert_array_equal(back, [3, 4, 5, 6])
    with pytest.raises(whence.FrontendError, match="expected a name that is free, got tests"):
        whence.register_func("tests.ffi.shifted", double)
    remove_global_func("tests.ffi.double")
    assert tvm_ffi.get_global_func("tests.ffi.double", True) is None
