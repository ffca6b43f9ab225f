"""Kernels as C: conversions, leading lanes and products of tiles, by instructions of several machines and without."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whence.lowering.llvm_to_native.target import Target
from whence.planning.c_kernels import function_text
from whence.runtime.program.tiles import tiles_allowed

Array = NDArray[Any]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
X86 = platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not COMPILERS, reason="needs a compiler of C")
MACHINES = ("x86-64-v2", "x86-64-v3", "native") if X86 else ("native",)
FLAGS = ("-O2", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Werror")


def called(tir: str, folder: Path, machine: str, compiler: str, arrays: list[Array], *more: str) -> None:
    """Run a kernel, cut for the machine's registers, that a compiler makes for it."""
    source, out = folder / "f.c", folder / f"{compiler}-{machine}.so"
    bits = Target.native() if machine == "native" else Target.parse(f"llvm -mcpu={machine}")
    permitted = "int32_t whence_tiles_allowed(void) { return 1; }\n"
    source.write_text(function_text(tir, "f", [], bits) + permitted)
    command = [compiler, *FLAGS, f"-march={machine}", *more, "-shared", "-fPIC", "-o", str(out), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ctypes.CDLL(str(out)).f(*(ctypes.c_void_p(array.ctypes.data) for array in arrays), None, None)


def integers(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """Numbers over the whole range of a dtype."""
    info = np.iinfo(dtype)
    return np.random.default_rng(0).integers(info.min, info.max, shape, dtype, endpoint=True)


WIDTHS = (8, 16, 32, 64)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_conversions_between_integers(tmp_path: Path, machine: str, compiler: str):
    """All pairs of widths, in all lengths: wider with the sign and without, and narrower."""
    cases: list[tuple[str, int, int, int]] = []
    for lanes in (2, 4, 8, 16, 32):
        for source in WIDTHS:
            for target in WIDTHS:
                if source != target:
                    kinds = ("extsi", "extui") if source < target else ("trunci",)
                    cases += [(kind, source, target, lanes) for kind in kinds]
    buffers: list[str] = []
    body: list[str] = []
    given: list[Array] = []
    found: list[Array] = []
    for number, (kind, source, target, lanes) in enumerate(cases):
        buffers.append(f"%a{number}: !tir.buffer<{lanes}xi{source}>")
        body += [
            f"  %x{number} = tir.load %a{number}[0] : !tir.buffer<{lanes}xi{source}> -> vector<{lanes}xi{source}>",
            f"  %y{number} = tir.cast {kind} %x{number} : vector<{lanes}xi{source}> to vector<{lanes}xi{target}>",
            f"  tir.store %y{number}, %b{number}[0] : vector<{lanes}xi{target}>, !tir.buffer<{lanes}xi{target}>",
        ]
        given.append(integers(lanes, f"int{source}"))
        found.append(np.zeros(lanes, f"int{target}"))
    buffers += [f"%b{number}: !tir.buffer<{lanes}xi{target}>" for number, (_, _, target, lanes) in enumerate(cases)]
    tir = "\n".join([f"tir.prim_func @f({', '.join(buffers)}) outputs {len(cases)} {{", *body, "}"])
    called(tir, tmp_path, machine, compiler, [*given, *found])
    for (kind, source, target, lanes), x, y in zip(cases, given, found, strict=True):
        expected = (x.view(f"uint{source}") if kind == "extui" else x).astype(f"int{target}")
        np.testing.assert_array_equal(y, expected, err_msg=f"{kind} {source} {target} {lanes}")


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_leading_lanes(tmp_path: Path, machine: str, compiler: str):
    """Lanes 0 to n - 1 are read and written, for n from below 0 to beyond the vector; nothing else is touched."""
    cases = [(width, lanes) for width in WIDTHS for lanes in (4, 8, 16)]
    inputs: list[str] = []
    outputs: list[str] = []
    body: list[str] = []
    given: list[Array] = []
    found: list[Array] = []
    for number, (width, lanes) in enumerate(cases):
        inputs.append(f"%a{number}: !tir.buffer<400xi{width}>")
        outputs.append(f"%b{number}: !tir.buffer<400xi{width}>")
        vector = f"vector<{lanes}xi{width}>"
        body += [
            f"  %m{number} = tir.mask [%i - 2] steps [-1] >= 0 : vector<{lanes}xi1>",
            f"  %x{number} = tir.masked_load %m{number}, %a{number}[%i * 16] else dense<7> : {vector} : "
            f"!tir.buffer<400xi{width}> -> {vector}",
            f"  %y{number} = arith.addi %x{number}, %x{number} : {vector}",
            f"  tir.masked_store %y{number}, %m{number}, %b{number}[%i * 16] : {vector}, !tir.buffer<400xi{width}>",
        ]
        given.append(integers(400, f"int{width}"))
        found.append(np.full(400, 5, f"int{width}"))
    head = f"tir.prim_func @f({', '.join([*inputs, *outputs])}) outputs {len(cases)} {{\n  tir.for %i in 20 {{"
    called("\n".join([head, *body, "  }", "}"]), tmp_path, machine, compiler, [*given, *found])
    for (width, lanes), x, y in zip(cases, given, found, strict=True):
        expected = np.full(400, 5, f"int{width}")
        for i in range(20):
            count = min(max(i - 1, 0), lanes)
            expected[16 * i :][:count] = x[16 * i :][:count] + x[16 * i :][:count]
        np.testing.assert_array_equal(y, expected, err_msg=f"{width} {lanes}")


BUFFERS = "%a: !tir.buffer<16x64xi8>, %b: !tir.buffer<16x16xi32>, %c: !tir.buffer<64x16xi32>"
TILES = f"""tir.prim_func @f({BUFFERS}) outputs 1 {{
  tir.for parallel %i in 4 {{
    tir.tile_config rows [16, 16, 16, 0, 0, 0, 0, 0] words [16, 16, 16, 0, 0, 0, 0, 0]
    tir.tile_zero 0 as [16, 16]
    tir.tile_load 1, %a[0, 0] step 64 as [16, 16] : !tir.buffer<16x64xi8>
    tir.tile_load 2, %b[0, 0] step 16 as [16, 16] : !tir.buffer<16x16xi32>
    tir.for %k in 3 {{
      tir.tile_dot "u8s8" 0, 1, 2 as [16, 16, 16]
    }}
    tir.tile_store 0, %c[%i * 16, 0] step 16 as [16, 16] : !tir.buffer<64x16xi32>
  }}
}}"""
"""Three times the product of a matrix of unsigned bytes and one of signed bytes, four to a word."""
SERIAL = """
void whence_parallel_for(whence_pool *pool, void (*body)(void *, int64_t, int64_t), void *context, int64_t n) {
  (void)pool;
  for (int64_t at = 0; at < n; at++) body(context, at, at + 1);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_products_of_tiles(tmp_path: Path, machine: str, compiler: str):
    """Vectors stand for tiles where the compiler makes code for a machine without; sums of bytes are the same."""
    if machine == "native" and not tiles_allowed():
        pytest.skip("no permission to use tiles")
    (tmp_path / "serial.c").write_text(f"#include <stdint.h>\ntypedef struct whence_pool whence_pool;\n{SERIAL}")
    a, b, c = integers((16, 64), "uint8"), integers((16, 16, 4), "int8"), np.zeros((64, 16), np.int32)
    called(TILES, tmp_path, machine, compiler, [a, b, c], str(tmp_path / "serial.c"))
    product = 3 * (a.astype(np.int64).reshape(16, 64) @ b.astype(np.int64).transpose(0, 2, 1).reshape(64, 16))
    np.testing.assert_array_equal(c, np.tile(product.astype(np.int32), (4, 1)))


@pytest.mark.skipif(not X86 or "gcc" not in COMPILERS, reason="reads gcc's code for x86-64")
def test_gcc_converts_and_masks_by_instructions(tmp_path: Path):
    tir = """tir.prim_func @f(%a: !tir.buffer<99xi8>, %b: !tir.buffer<99xf32>) outputs 1 {
  tir.for %i in 6 {
    %m = tir.mask [90 - %i * 16] steps [-1] >= 0 : vector<16xi1>
    %0 = tir.masked_load %m, %a[%i * 16] else dense<0> : vector<16xi8> : !tir.buffer<99xi8> -> vector<16xi8>
    %1 = tir.cast uitofp %0 : vector<16xi8> to vector<16xf32>
    tir.masked_store %1, %m, %b[%i * 16] : vector<16xf32>, !tir.buffer<99xf32>
  }
}"""
    (tmp_path / "f.c").write_text(function_text(tir, "f", [], Target.parse("llvm -mcpu=x86-64-v4")))
    command = ["gcc", "-O2", "-march=x86-64-v4", "-S", "-o", "-", str(tmp_path / "f.c")]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "vpmovzxbd" in code
    assert "{%k" in code
    assert not any(word in code for word in ("cvtsi2ss", "pinsr", "memcpy"))
