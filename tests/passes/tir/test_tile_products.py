"""tir-tile-products and tir-lower-tiles: what becomes of nests, and the numbers that tiles give, against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from test_contracts import context, parse
from tiled import tiled
from xdsl.utils.exceptions import VerifyException

from whence.kernels import build_prim_func
from whence.passes.tir.lower_tiles import TirLowerTilesPass
from whence.passes.tir.tile_products import TirTileProductsPass
from whence.support.errors import ScheduleError

WORD = {"u8s8": 4, "bf16": 2}
LOADED = {
    "u8s8": """
      %1 = tir.load %a[{row}, %k * 4 + {first}] : !tir.buffer<{a}xui8> -> i8
      %2 = tir.load %a[{row}, %k * 4 + {first} + 1] : !tir.buffer<{a}xui8> -> i8
      %3 = tir.load %a[{row}, %k * 4 + {first} + 2] : !tir.buffer<{a}xui8> -> i8
      %4 = tir.load %a[{row}, %k * 4 + {first} + 3] : !tir.buffer<{a}xui8> -> i8
      %word = tir.join_bytes %1, %2, %3, %4 : i8 -> i32""",
    "bf16": """
      %1 = tir.load %a[{row}, %k * 2 + {first}] : !tir.buffer<{a}xbf16> -> bf16
      %2 = arith.bitcast %1 : bf16 to i16
      %3 = arith.extsi %2 : i16 to i32
      %4 = arith.constant 65535 : i32
      %5 = arith.andi %3, %4 : i32
      %6 = tir.load %a[{row}, %k * 2 + {first} + 1] : !tir.buffer<{a}xbf16> -> bf16
      %7 = arith.bitcast %6 : bf16 to i16
      %8 = arith.extsi %7 : i16 to i32
      %9 = arith.constant 16 : i32
      %10 = arith.shli %8, %9 : i32
      %word = arith.ori %5, %10 : i32""",
}
ADDED = {
    "u8s8": ("tir.dot4 %word, %w : i32", "arith.addi"),
    "bf16": ("tir.dot2_bf16 %word, %w : i32 -> f32", "arith.addf"),
}


def product(kind: str, rows: int, columns: int, words: int, *, blocks: int = 1, zeroed: bool = True) -> str:
    """The sums of blocks of words in a buffer that is the result, zeroed first or as it was."""
    number, zero = ("i32", "0") if kind == "u8s8" else ("f32", "0.0")
    shape = f"!tir.buffer<{rows}x{columns}x{number}>"
    a = f"{rows}x{blocks * words * WORD[kind]}"
    start = f"""
      tir.for %i in {rows} {{
        tir.for %j in {columns} {{
          %z = arith.constant {zero} : {number}
          tir.store %z, %out[%i, %j] : {number}, {shape}
        }}
      }}"""
    dot, add = ADDED[kind]
    loaded = LOADED[kind].format(row="%i", first=f"%b * {words * WORD[kind]}", a=a)
    return f"""
    tir.prim_func @f(%a: !tir.buffer<{a}x{"ui8" if kind == "u8s8" else "bf16"}>,
                     %w_in: !tir.buffer<{blocks}x{words}x{columns}xi32>, %out: {shape}) outputs 1 {{
      {start if zeroed else ""}
      tir.for %b in {blocks} {{ tir.for %i in {rows} {{ tir.for %j in {columns} {{
        tir.for %k in {words} attributes {{"pragma_tiles" = 1 : i64}} {{
          {loaded}
          %w = tir.load %w_in[%b, %k, %j] : !tir.buffer<{blocks}x{words}x{columns}xi32> -> i32
          %sum = tir.load %out[%i, %j] : {shape} -> {number}
          %dot = {dot}
          %new = {add} %sum, %dot : {number}
          tir.store %new, %out[%i, %j] : {number}, {shape}
        }}
      }} }} }}
    }}"""


def operands(kind: str, rows: int, columns: int, words: int, blocks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Data, weights in words, and the product of them in float64 or int32."""
    rng = np.random.default_rng(rows * 100 + columns)
    depth = blocks * words * WORD[kind]
    if kind == "u8s8":
        a, w = rng.integers(0, 256, (rows, depth)).astype(np.uint8), rng.integers(-128, 128, (depth, columns))
        w, exact = w.astype(np.int8), a.astype(np.int32) @ w.astype(np.int32)
    else:
        a, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((rows, depth), (depth, columns)))
        exact = a.astype(np.float64) @ w.astype(np.float64)
    packed = w.reshape(blocks * words, WORD[kind], columns).transpose(0, 2, 1)
    return a, np.ascontiguousarray(packed).view(np.int32).reshape(blocks, words, columns), exact


@pytest.mark.parametrize("kind", WORD)
@pytest.mark.parametrize(
    ("rows", "columns", "words", "blocks"),
    [(16, 16, 16, 1), (32, 32, 16, 2), (1, 16, 8, 3), (21, 32, 32, 1), (5, 48, 11, 2), (16, 64, 9, 1), (90, 7, 24, 1)],
)
def test_numbers(kind: str, rows: int, columns: int, words: int, blocks: int):
    a, w, exact = operands(kind, rows, columns, words, blocks)
    text = product(kind, rows, columns, words, blocks=blocks)
    module = parse(text)
    TirTileProductsPass().apply(context(), module)
    assert "tir.dot" not in str(module)
    with tiled() as target:
        found = build_prim_func(text, target=target)(a, w)
    if kind == "u8s8":
        np.testing.assert_array_equal(found, exact)
    else:
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-4)


def test_sums_that_are_there_are_loaded():
    text = product("u8s8", 8, 16, 8, zeroed=False)
    module = parse(text)
    TirTileProductsPass().apply(context(), module)
    assert "tir.tile_zero" not in str(module)
    assert str(module).index("tir.tile_load 0, %out") < str(module).index("tir.tile_dot")


def test_tails_have_a_configuration_of_their_own():
    nests = [product("u8s8", rows, 16, 8).split("outputs 1 {", 1) for rows in (16, 5)]
    first, second = (body.rsplit("}", 1)[0] for _, body in nests)
    header = nests[0][0]
    second = second.replace("%out", "%rest").replace("%a[", "%c[")
    header = header.replace("%out: ", "%c: !tir.buffer<5x32xui8>, %rest: !tir.buffer<5x16xi32>, %out: ")
    module = parse(f"{header} outputs 2 {{ tir.for parallel %n in 4 {{ {first} {second} }} }}")
    TirTileProductsPass().apply(context(), module)
    lines = [line.split()[0] for line in str(module).splitlines() if "tir.tile_" in line or "parallel" in line]
    whole = ["tir.tile_config", "tir.tile_zero", *["tir.tile_load"] * 2, "tir.tile_dot", "tir.tile_store"]
    assert lines == ["tir.for", *whole, *whole]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("tir.dot4 %word, %w", "arith.muli %word, %w", r"expected a sum of products of words, tir.dot4 or"),
        ("%w_in[%b, %k, %j]", "%w_in[%b, %j, %k]", r"expected rows of words side by side"),
        ("%k * 4 + %b * 64 + 2", "%k * 4 + %b * 64 + 3", r"expected a product of words that follow one another"),
        ("%i, %k * 4 + %b * 64]", "%i floordiv 2, %k * 4 + %b * 64]", r"expected a product of words|equally far apart"),
    ],
)
def test_what_is_no_product_of_tiles_is_an_error(before: str, after: str, expected: str):
    text = product("u8s8", 16, 16, 16)
    assert before in text
    with pytest.raises(ScheduleError, match=f"tir-tile-products: {expected}"):
        TirTileProductsPass().apply(context(), parse(text.replace(before, after)))


def test_too_many_tiles_are_an_error():
    with pytest.raises(ScheduleError, match="expected tiles for 8 registers, got 3 of rows times 2 of columns"):
        TirTileProductsPass().apply(context(), parse(product("u8s8", 48, 32, 16)))


def test_kinds_that_the_machine_lacks_stay_loops():
    module = parse(product("bf16", 16, 16, 16))
    TirTileProductsPass(kinds=("u8s8",)).apply(context(), module)
    assert "tir.tile" not in str(module)
    assert "pragma_tiles" not in str(module)


def test_a_register_without_a_configuration_is_an_error():
    text = """tir.prim_func @f(%a: !tir.buffer<4x16xi32>) outputs 1 {
      tir.tile_config rows [4, 0, 0, 0, 0, 0, 0, 0] words [8, 0, 0, 0, 0, 0, 0, 0]
      tir.tile_zero 0 as [4, 16]
    }"""
    with pytest.raises(VerifyException, match=r"gives register 0 the shape \(4, 16\), got one of \(4, 8\)"):
        TirLowerTilesPass().apply(context(), parse(text))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tir.tile_zero 8 as [4, 16]", "1 different registers below 8"),
        ("tir.tile_zero 0 as [17, 16]", "2 extents from 1 to 16"),
        ('tir.tile_dot "f64" 0, 1, 2 as [4, 4, 4]', "a product of bf16 or u8s8"),
        ('tir.tile_dot "bf16" 0, 1, 1 as [4, 4, 4]', "3 different registers"),
        ("tir.tile_load 0, %a[0] step 16 as [4, 16] : !tir.buffer<4x16xi32>", "2 indices"),
        ("tir.tile_config rows [4] words [4, 0, 0, 0, 0, 0, 0, 0]", "8 numbers of rows"),
    ],
)
def test_ops_are_verified(line: str, expected: str):
    module = parse(f"tir.prim_func @f(%a: !tir.buffer<4x16xi32>) outputs 1 {{ {line} }}")
    with pytest.raises(VerifyException, match=expected):
        module.verify()
