"""tir-transpose-loads: what it transposes, what it leaves over, and what it leaves alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from test_contracts import context, kernel, parse

from whence.dialects.tir import prim_funcs
from whence.passes.tir import transpose_loads
from whence.passes.tir.transpose_loads import TirTransposeLoadsPass
from whence.support.machine import WIDEST, Machine


def transposed(load: str, *, passes: int = 8, lanes: int = 8, element: str = "f32", out: str = "b") -> str:
    """What becomes of a loop of `load` into %0 and a store to %b, or to %a."""
    buffers = ", ".join(f"%{name}: !tir.buffer<4096x{element}>" for name in "ab")
    vector = f"vector<{lanes}x{element}>"
    body = f"""
      tir.for %i in {passes} {{
        {load} : !tir.buffer<4096x{element}> -> {vector}
        tir.store %0, %{out}[%i * {lanes}] : {vector}, !tir.buffer<4096x{element}>
      }}"""
    module = parse(kernel(body, buffers))
    TirTransposeLoadsPass().apply(context(), module)
    module.verify()
    return str(module)


@pytest.mark.parametrize(("lanes", "shuffles"), [(4, 8), (8, 12), (16, 20)])
@pytest.mark.parametrize("element", ["f32", "i32"])
def test_rows_are_loaded_for_four_passes(lanes: int, shuffles: int, element: str):
    text = transposed(f"%0 = tir.load %a[%i + 3] stride {lanes * 8}", lanes=lanes, element=element)
    assert "tir.for %i in 2 {" in text
    assert len(re.findall(r"vector\.shuffle", text)) == shuffles
    assert len(re.findall(rf"tir\.load %a.* -> vector<4x{element}>", text)) == lanes
    assert "tir.load %a[%i * 4 + 3]" in text
    assert f"tir.load %a[%i * 4 + {(lanes - 1) * lanes * 8 + 3}]" in text
    assert len(re.findall(r"tir\.store", text)) == 4


def test_passes_that_are_left_follow():
    text = transposed("%0 = tir.load %a[%i] stride 64", passes=7)
    assert "tir.for %i in 1 {" in text
    assert "tir.for %i_1 in 3 {" in text
    assert len(re.findall(r"tir\.load %a\[%i_1 \+ 4\] stride 64", text)) == 1
    assert "tir.store %" in text


def test_lanes_that_a_mask_leaves_out_are_not_read():
    mask = "%m = tir.mask [5] steps [-1] >= 0 : vector<8xi1>\n"
    text = transposed(f"{mask}%0 = tir.masked_load %m, %a[%i] else dense<2.0> : vector<8xf32> stride 64")
    assert len(re.findall(r"tir\.load %a.* -> vector<4xf32>", text)) == 6
    assert "masked_load" not in text
    assert len(re.findall(r"arith\.constant dense<2\.0", text)) == 2


@pytest.mark.parametrize(
    ("load", "options"),
    [
        ("%0 = tir.load %a[%i * 8]", {}),
        ("%0 = tir.load %a[%i * 2] stride 64", {}),
        ("%0 = tir.load %a[%i floordiv 2] stride 64", {}),
        ("%0 = tir.load %a[%i] stride 2", {}),
        ("%0 = tir.load %a[%i] stride 333", {}),
        ("%0 = tir.load %a[%i] stride 64", {"passes": 3}),
        ("%0 = tir.load %a[%i] stride 64", {"out": "a"}),
        ("%0 = tir.load %a[%i] stride 64", {"element": "f64"}),
        ("%0 = tir.load %a[%i] stride 64", {"lanes": 2}),
        ("%0 = tir.load %a[%i] if [%i - 1] >= 0 else dense<0.0> : vector<8xf32> stride 64", {}),
        ("%m = tir.mask [%i - 1] steps [1] >= 0 : vector<8xi1>\n"
         "%0 = tir.masked_load %m, %a[%i] else dense<0.0> : vector<8xf32> stride 64", {}),
    ],
)  # fmt: skip
def test_others_stay(load: str, options: dict[str, int | str]):
    text = transposed(load, **options)  # pyright: ignore[reportArgumentType]
    assert "vector.shuffle" not in text
    assert f"in {options.get('passes', 8)} {{" in text


@pytest.mark.parametrize(
    ("machine", "done"),
    [
        (WIDEST, True),
        (replace(WIDEST, cache_line=32), True),
        # More rows than a line has elements; parts of another size than the squares.
        (replace(WIDEST, cache_line=16), False),
        (replace(WIDEST, part=32), False),
    ],
)
def test_the_machine_says_what_pays(machine: Machine, done: bool):
    body = """
      tir.for %i in 8 {
        %0 = tir.load %a[%i] stride 64 : !tir.buffer<4096xf32> -> vector<8xf32>
        tir.store %0, %b[%i * 8] : vector<8xf32>, !tir.buffer<4096xf32>
      }"""
    module = parse(kernel(body, "%a: !tir.buffer<4096xf32>, %b: !tir.buffer<4096xf32>"))
    (func,) = prim_funcs(module)
    transpose_loads.run(func, machine)
    assert ("vector.shuffle" in str(module)) == done
