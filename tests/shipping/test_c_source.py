"""Models and functions exported as C: the same bits as LLVM's code, with vectors and without."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper
from xdsl.utils.exceptions import VerifyException

import whence
from whence import te
from whence.executables.exporting import export_artifact
from whence.lowering.llvm_to_native.target import Target
from whence.planning.c_kernels import function_text
from whence.provenance.span import layer_location
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime.program.program import Site
from whence.runtime.values.tensors import aligned_empty
from whence.support.errors import WhenceError

Array = NDArray[Any]
FLAGS = ("-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Werror", "-shared", "-fPIC")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="needs a compiler of C")


def compiled(source: Path, *flags: str, compiler: str = "cc") -> ctypes.CDLL:
    """The library that a compiler makes of a source without a warning."""
    out = source.with_suffix(f".{compiler}{'_'.join(flags).replace('-', '')}.so")
    command = [compiler, *FLAGS, *flags, "-o", out.name, source.name, "-lm"]
    done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(out))


def pointers(arrays: list[Array]) -> Any:
    return (ctypes.c_void_p * max(len(arrays), 1))(*[array.ctypes.data for array in arrays])


def outputs_of(
    library: ctypes.CDLL,
    executable: Any,
    inputs: dict[str, Array],
    sizes: list[int] | None = None,
    pool: ctypes.c_void_p | None = None,
) -> Any:
    """The outputs of a run; sizes: of the symbols of a model of open sizes. pool: the threads to use."""
    expected = executable.run(inputs)
    outputs = [aligned_empty(expected[spec.name].shape, expected[spec.name].dtype) for spec in executable.outputs]
    nbytes = ctypes.c_int64.in_dll(library, "whence_arena_bytes").value
    arrays = [np.ascontiguousarray(inputs[spec.name]) for spec in executable.inputs]
    arguments = [pointers(arrays), pointers(outputs)]
    if sizes is None:
        arena = aligned_empty((nbytes,), np.dtype(np.uint8))
        library.whence_run(*arguments, ctypes.c_void_p(arena.ctypes.data), pool)
    else:
        values = np.zeros(ctypes.c_int32.in_dll(library, "whence_num_values").value, np.int64)
        values[: len(sizes)] = sizes
        library.whence_sizes(ctypes.c_void_p(values.ctypes.data))
        place = ctypes.c_int32.in_dll(library, "whence_arena_value").value
        arena = aligned_empty((max(int(values[place]), 1),), np.dtype(np.uint8))
        more = (ctypes.c_void_p(arena.ctypes.data), pool, ctypes.c_void_p(values.ctypes.data))
        library.whence_run_sized(*arguments, *more)
    return dict(zip((spec.name for spec in executable.outputs), outputs, strict=True))


def check(
    library: ctypes.CDLL,
    executable: Any,
    inputs: dict[str, Array],
    sizes: list[int] | None = None,
    pool: ctypes.c_void_p | None = None,
) -> None:
    expected = executable.run(inputs)
    for name, output in outputs_of(library, executable, inputs, sizes, pool).items():
        assert output.tobytes() == np.asarray(expected[name]).tobytes(), name


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_model_has_the_bits_of_our_own_run(model: onnx.ModelProto, image: Array, tmp_path: Path, compiler: str):
    executable = whence.compile(model, threads=2)
    executable.export_library(tmp_path / "net.c")
    check(compiled(tmp_path / "net.c", compiler=compiler), executable, {"x": image})


@needs_compiler
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a machine of x86-64 to gcc")
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_products_that_may_be_tiles(tmp_path: Path, dtype: str):
    """The host's kernels have tiles where it has them; code for a machine without them has vectors in their place."""
    rng = np.random.default_rng(0)
    if dtype == "uint8":
        model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (uint8[64, 256] x) => (int32[64, 128] y) { [product] y = MatMulInteger (x, w) }""")
        weight = rng.integers(-128, 128, (256, 128), np.int8)
        x = rng.integers(0, 256, (64, 256), np.uint8)
    else:
        model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (float[64, 256] x) => (float[64, 128] y) {
            [left] a = Cast <to = 16> (x) [right] b = Cast <to = 16> (w) [product] c = MatMul (a, b)
            [back] y = Cast <to = 1> (c)
        }""")
        weight = rng.standard_normal((256, 128), np.float32)
        x = rng.standard_normal((64, 256), np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    executable = whence.compile(model, threads=1)
    executable.export_library(tmp_path / "net.c")
    library = compiled(tmp_path / "net.c")
    tiles = bool(ctypes.c_int32.in_dll(library, "whence_uses_tiles").value)
    assert tiles == executable.artifact.program.tiles
    assert ("_tile_" in (tmp_path / "net.c").read_text()) == tiles
    check(library, executable, {"x": x})
    for flags in (("-DWHENCE_SCALAR",), ("-march=x86-64-v3",)):
        other = compiled(tmp_path / "net.c", *flags)
        assert not ctypes.c_int32.in_dll(other, "whence_uses_tiles").value
        (found,) = outputs_of(other, executable, {"x": x}).values()
        expected = np.asarray(executable.run({"x": x})["y"])
        np.testing.assert_allclose(
            found, expected, rtol=0 if dtype == "uint8" else 2e-2, atol=0 if dtype == "uint8" else 0.1
        )


def pool_of(library: ctypes.CDLL, threads: int) -> ctypes.c_void_p:
    """A pool of a library, which the caller destroys."""
    library.whence_pool_create.restype = ctypes.c_void_p
    pool = library.whence_pool_create(threads)
    assert pool
    return ctypes.c_void_p(pool)


@needs_compiler
@pytest.mark.parametrize("flag", ["-Wall", "-DWHENCE_SCALAR"])
def test_threads_give_the_same_bits(model: onnx.ModelProto, image: Array, tmp_path: Path, flag: str):
    """Loops run on the threads of OpenMP, those of objects on our own; several callers share a pool."""
    executable = whence.compile(model, threads=2)
    executable.export_library(tmp_path / "net.c")
    executable.export_library(tmp_path / "net.so")
    check(compiled(tmp_path / "net.c", flag), executable, {"x": image})
    for library in (compiled(tmp_path / "net.c", flag, "-fopenmp"), ctypes.CDLL(str(tmp_path / "net.so"))):
        expected = outputs_of(library, executable, {"x": image})
        for threads in (2, 3):
            pool = pool_of(library, threads)
            for _ in range(20):
                check(library, executable, {"x": image}, pool=pool)
            with ThreadPoolExecutor(4) as callers:
                runs = [callers.submit(outputs_of, library, executable, {"x": image}, None, pool) for _ in range(40)]
            for run in runs:
                for name, output in run.result().items():
                    np.testing.assert_array_equal(output, expected[name])
            library.whence_pool_destroy(pool)


@needs_compiler
def test_loops_reach_the_threads_of_the_pool(model: onnx.ModelProto, image: Array, tmp_path: Path):
    executable = whence.compile(model, threads=2)
    executable.export_library(tmp_path / "net.c")
    library = compiled(tmp_path / "net.c", "-fopenmp")
    pool = pool_of(library, 3)

    def new_threads() -> int:
        before = set(os.listdir("/proc/self/task"))
        outputs_of(library, executable, {"x": image}, pool=pool)
        return len(set(os.listdir("/proc/self/task")) - before)

    # OpenMP has a team for each caller, which it keeps for the next call.
    with ThreadPoolExecutor(1) as caller:
        assert caller.submit(new_threads).result() == 2
    library.whence_pool_destroy(pool)


@needs_compiler
def test_the_zip_is_a_project_with_a_makefile(tmp_path: Path):
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[4, 200] x) => (float[4, 150] y) { [dense] d = MatMul (x, w) [act] y = Tanh (d) }""")
    model.graph.initializer.append(numpy_helper.from_array(rng.standard_normal((200, 150), np.float32), "w"))
    executable = whence.compile(model, threads=1)
    executable.export_library(tmp_path / "net.zip")
    with zipfile.ZipFile(tmp_path / "net.zip") as archive:
        assert sorted(archive.namelist()) == ["Makefile", "net.c", "net.params", "whence.h"]
        archive.extractall(tmp_path / "net")
    assert (tmp_path / "net/Makefile").read_text().count("\n") == 5
    if shutil.which("make"):
        subprocess.run(["make", "-s"], cwd=tmp_path / "net", check=True)
        check(
            ctypes.CDLL(str(tmp_path / "net/libnet.so")), executable, {"x": rng.standard_normal((4, 200), np.float32)}
        )


@needs_compiler
def test_open_sizes_are_arguments(tmp_path: Path):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[n, m] x) => (float[n, k] y) {
        [soft] s = Softmax <axis = -1> (x) [twice] y = Concat <axis = 1> (s, x)
    }""")
    executable = whence.compile(model, threads=1)
    executable.export_library(tmp_path / "net.c")
    library = compiled(tmp_path / "net.c")
    rng = np.random.default_rng(0)
    for n, m in rng.integers(1, 60, (20, 2)):
        check(library, executable, {"x": rng.standard_normal((n, m), np.float32)}, [int(n), int(m)])


OPS = """
    e1 = Erf (x) e2 = Sigmoid (e1) elementary = Log (e2)
    r1 = Round (x) r2 = Floor (x) r3 = Mul (r1, r2) rounding = Sqrt (r3)
    s1 = ReduceMax <keepdims = 1> (x) s2 = ReduceMean <keepdims = 1> (x) s3 = Sub (s1, s2) reductions = Add (s3, x)
    t1 = ReduceMean <axes = [1], keepdims = 0> (wide) sums = Exp (t1)
    c1 = Greater (x, h) c2 = Not (c1) comparisons = Where (c2, x, h)
    h1 = Cast <to = 10> (x) h2 = Mul (h1, h1) halves = Cast <to = 1> (h2)
    b1 = Cast <to = 16> (x) bfloats = Cast <to = 1> (b1)
    i1 = Cast <to = 3> (x) i2 = Add (i1, i1) bytes = Cast <to = 1> (i2)
    d1 = Cast <to = 11> (x) d2 = Exp (d1) doubles = Cast <to = 1> (d2)
    g1 = Erf (wide) g2 = Mul (g1, wide) g3 = Greater (g2, wide) gelu = Where (g3, g2, wide)
    k1 = Cast <to = 7> (wide) k2 = Mul (k1, k1) k3 = Cast <to = 1> (k2) counts = Add (k3, wide)
"""
"""Each line has the name of its output last."""


def operators() -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of kernels of all kinds, and its inputs."""
    names = [re.findall(r"(\w+) = [A-Z]", line)[-1] for line in OPS.split("\n") if line.strip()]
    shapes = {"sums": "5", "gelu": "5, 128", "counts": "5, 128"}
    outputs = ", ".join(f"float[{shapes.get(name, '5, 37')}] {name}" for name in names)
    inputs = "float[5, 37] x, float[5, 37] h, float[5, 128] wide"
    text = f'<ir_version: 8, opset_import: ["": 17]> net ({inputs}) => ({outputs}) {{ {OPS} }}'
    rng = np.random.default_rng(0)
    shaped = {"x": (5, 37), "h": (5, 37), "wide": (5, 128)}
    values = {name: (20 * rng.standard_normal(shape)).astype(np.float32) for name, shape in shaped.items()}
    values["x"][0, :4] = values["wide"][0, 60:64] = np.nan, -0.0, 0.5, 2.5
    return onnx.parser.parse_model(text), values


def widest(source: Path) -> int:
    """The bits of the widest vector that a source computes with."""
    return 8 * max(int(size) for size in re.findall(r"vector_size\((\d+)\)\)\);", source.read_text()))


@needs_compiler
@pytest.mark.parametrize(("cpu", "flag"), [("", "-Wall"), ("", "-DWHENCE_SCALAR"), ("x86-64-v2", "-Wall")])
def test_ops_have_the_same_bits(tmp_path: Path, cpu: str, flag: str):
    """cpu: of the machine whose registers vectors are cut for; the code is made for this one."""
    model, inputs = operators()
    executable = whence.compile(model, threads=1)
    artifact = executable.artifact
    target = Target.parse(f"llvm -mcpu={cpu}") if cpu else artifact.target
    export_artifact(replace(artifact, target=target), None, None, tmp_path / "net.c")
    assert widest(tmp_path / "net.c") == target.vector_bits
    check(compiled(tmp_path / "net.c", flag), executable, inputs)


def test_the_text_of_a_kernel_names_its_layers():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    net (float[64] x, float[64] r) => (float[64] y) { [half] h = Mul (x, r) [out] y = Sub (h, x) }""")
    executable = whence.compile(model, target="llvm -mcpu=haswell", threads=1)
    text = executable.get_source(0, "c")
    lines = [line.strip() for line in text.splitlines()]
    assert "for (int64_t ax0_outer = 0; ax0_outer < 8; ax0_outer++) {" in lines or "const f32x8" in text
    assert any(line.startswith("/* half, ") for line in lines)
    assert any(line.startswith("/* out, ") for line in lines)
    product = next(number for number, line in enumerate(lines) if " * v" in line)
    assert any("/* half, " in line for line in lines[:product])
    assert "void *workspace, whence_pool *pool) {" in text


@needs_compiler
def test_lines_of_the_model_are_there_on_request(tmp_path: Path, model: onnx.ModelProto, monkeypatch: Any):
    monkeypatch.setenv("WHENCE_SOURCE_LINES", "1")
    executable = whence.compile(model, threads=1)
    executable.export_library(tmp_path / "net.c")
    assert '\n#line 1 "' in (tmp_path / "net.c").read_text()
    compiled(tmp_path / "net.c")
    monkeypatch.setenv("WHENCE_SOURCE_LINES", "")
    executable.export_library(tmp_path / "net.c")
    assert "#line" not in (tmp_path / "net.c").read_text()


@needs_compiler
def test_a_function_of_a_schedule(tmp_path: Path):
    a, b = te.placeholder((33, 20), "int8", "a"), te.placeholder((20,), "int8", "b")
    c = te.compute((33, 20), lambda i, j: a[i, j] * b[j] + a[i, 19 - j], name="c")
    function = whence.build(te.create_schedule(c.op), [a, b, c], target="c", name="mix")
    assert function.type_key == "c"
    assert "void mix(const int8_t *restrict a" in function.get_source()
    assert "void mix(" not in function.get_source("ll")
    function.export_library(tmp_path / "mix.c")
    rng = np.random.default_rng(0)
    x, y = rng.integers(-128, 128, (33, 20), np.int8), rng.integers(-128, 128, 20, np.int8)
    result = np.zeros((33, 20), np.int8)
    library = compiled(tmp_path / "mix.c")
    library.mix(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y, result)), None, None)
    np.testing.assert_array_equal(result, x * y + x[:, ::-1])


@needs_compiler
@pytest.mark.parametrize("register_bits", [128, 512])
@pytest.mark.parametrize("stride", [0, 1, 4, 8])
def test_words_of_bytes(tmp_path: Path, stride: int, register_bits: int):
    """Lanes are words of the four bytes from each point on."""
    tir = f"""tir.prim_func @f(%a: !tir.buffer<64xui8>, %b: !tir.buffer<8xi32>) outputs 1 {{
  %0 = tir.load %a[0] stride {stride} : !tir.buffer<64xui8> -> vector<8xi32>
  tir.store %0, %b[0] : vector<8xi32>, !tir.buffer<8xi32>
}}"""
    target = Target.parse("llvm -mcpu=x86-64-v2") if register_bits == 128 else Target.native()
    source = tmp_path / "f.c"
    source.write_text(function_text(tir, "f", [], target))
    given, found = np.random.default_rng(0).integers(0, 256, 64, np.uint8), np.zeros(8, np.int32)
    compiled(source).f(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(found.ctypes.data), None, None)
    np.testing.assert_array_equal(found, [given[stride * k :][:4].copy().view(np.int32)[0] for k in range(8)])


def test_the_kinds_of_targets():
    assert whence.target.Target.list_kinds() == ["c", "llvm"]
    assert str(whence.target.Target("c").kind) == "c"


def test_an_instruction_without_c_is_refused_by_layer():
    tir = """tir.prim_func @f(%a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  %0 = tir.load %a[0] : !tir.buffer<8xf32> -> f32
  %1 = tir.call_extern "llvm.x86.sse.rsqrt"(%0) : (f32) -> f32
  tir.store %1, %b[0] : f32, !tir.buffer<8xf32>
}"""
    behind = [[], [], [layer_location("norm", "net.onnx", 3)]]
    expected = r"llvm\.x86\.sse\.rsqrt \(layer 'norm', net\.onnx node 3\)"
    with pytest.raises(VerifyException, match=expected):
        function_text(tir, "f", behind, Target.native())


def test_a_kernel_that_tests_its_accesses_is_refused(model: onnx.ModelProto, tmp_path: Path):
    executable = whence.compile(model)
    checked = replace(executable.artifact.program.kernels[0], sites=(Site("x", (0,)),))
    program = replace(executable.artifact.program, kernels=(checked,))
    with pytest.raises(WhenceError, match="a model without bound checkers"):
        export_artifact(replace(executable.artifact, program=program), None, None, tmp_path / "net.c")
    assert not list(tmp_path.iterdir())


def test_the_factory_exports_c(lib: GraphExecutorFactoryModule, tmp_path: Path):
    lib.export_library(tmp_path / "net.c")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.c", "whence.h"]
    lib.remove_params().export_library(tmp_path / "bare.c")
    assert "void whence_run(" not in (tmp_path / "bare.c").read_text()
