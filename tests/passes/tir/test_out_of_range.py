"""Accesses that leave their buffer: an error before any code runs, and no other kernel is refused."""
# pyright: reportUndefinedVariable=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# ruff: noqa: F821

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from test_further_passes import kernel as parsed

import whence
from whence import te
from whence.dialects import tir
from whence.kernels import lower
from whence.passes.tir.analysis.out_of_range import errors_of
from whence.passes.tir.pipeline import run_tir_passes
from whence.support.errors import ScheduleError


def test_a_computation_beyond_its_input_is_refused():
    a = te.placeholder((8,), dtype="float32", name="A")
    schedule = te.create_schedule(te.compute((12,), lambda i: a[i], name="C").op)
    expected = r"tir.load: expected an index in \[0, 8\) of dimension 0 of %A, got 0 to 11 \(layer 'C', .*py line \d+\)"
    with pytest.raises(ScheduleError, match=expected):
        lower(schedule)
    with pytest.raises(ScheduleError, match=expected):
        whence.build_schedule(schedule)


@te.hybrid.script
def _shifted(a: Any) -> Any:
    b = output_tensor(a.shape, "float32")
    for i in range(a.shape[0]):
        if i > 1:
            b[i] = a[i + 1]
        else:
            b[i] = a[i]
    return b


def test_a_script_beyond_its_input_is_refused():
    b = _shifted(te.placeholder((8,), dtype="float32", name="A"))
    with pytest.raises(ScheduleError, match=r"of %A, got 3 to 8"):
        lower(te.create_schedule(b.op))


@pytest.mark.parametrize("factor", [5, 8])
def test_a_guard_of_an_uneven_split_does_not_hide_it(factor: int):
    a = te.placeholder((8,), dtype="float32", name="A")
    c = te.compute((12,), lambda i: a[i], name="C")
    schedule = te.create_schedule(c.op)
    schedule[c].split(c.op.axis[0], factor)
    with pytest.raises(ScheduleError, match=r"of %A, got 0 to 11"):
        lower(schedule)


@pytest.mark.parametrize(
    ("index", "found"),
    [
        (lambda i: te.min(i, 9), "0 to 9"),
        (lambda i: te.max(i - 3, -1), "-1 to 8"),
        (lambda i: te.min(te.max(i - 2, 1), 15), "1 to 9"),
        (lambda i: te.max(te.min(i, 7), i - 4), None),
        (lambda i: te.min(i, 11 - i) + 2, None),
    ],
)
def test_sides_of_a_minimum_are_where_they_are_least(index: Callable[[te.Expr], te.Expr], found: str | None):
    a = te.placeholder((8,), dtype="float32", name="A")
    schedule = te.create_schedule(te.compute((12,), lambda i: a[index(i)], name="C").op)
    if found is None:
        lower(schedule)
    else:
        with pytest.raises(ScheduleError, match=f"of %A, got {found} "):
            lower(schedule)


def test_what_a_condition_keeps_inside_is_right():
    a = te.placeholder((8,), dtype="float32", name="A")
    c = te.compute((12,), lambda i: te.if_then_else(i < 8, a[i], 0.0), name="C")
    schedule = te.create_schedule(c.op)
    schedule[c].split(c.op.axis[0], 5)
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(whence.build_schedule(schedule)(x), np.pad(x, (0, 4)))


def kernel(body: str) -> tir.PrimFuncOp:
    return parsed(f"""
    tir.prim_func @f(%b: !tir.buffer<6xi32>) outputs 1 {{
      %0 = arith.constant 1 : i32
      tir.for %i in 4 {{ tir.for %j in 5 {{ {body} }} }}
    }}""")


INDICES: dict[str, Callable[[int, int], int]] = {
    "%i + %j": lambda i, j: i + j,
    "%i * 2 - %j": lambda i, j: i * 2 - j,
    "%j - 1": lambda i, j: j - 1,
    "(%i * 3 + %j) floordiv 2": lambda i, j: (i * 3 + j) // 2,
    "(%i + %j * 3) mod 7": lambda i, j: (i + j * 3) % 7,
    "5 - %i": lambda i, j: 5 - i,
    "%i + 6": lambda i, j: i + 6,
}
GUARDS: dict[str, Callable[[int, int], list[int]]] = {
    "[]": lambda i, j: [],
    "[5 - %i - %j]": lambda i, j: [5 - i - j],
    "[%i - %j]": lambda i, j: [i - j],
    "[%i * 2 - %j, 5 - %i * 2 + %j]": lambda i, j: [i * 2 - j, 5 - i * 2 + j],
    "[%j - 1]": lambda i, j: [j - 1],
    "[%i - 1, 2 - %i, %j - 2]": lambda i, j: [i - 1, 2 - i, j - 2],
    "[(%i + %j) mod 3 - 2]": lambda i, j: [(i + j) % 3 - 2],
    "[-1 - %i]": lambda i, j: [-1 - i],
}


@pytest.mark.parametrize("where", ["if", "else", "load"])
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("index", INDICES)
def test_all_iterations_of_a_small_space(index: str, guard: str, where: str):
    """The answer is that of trying every iteration."""
    store = f"tir.store %0, %b[{index}] : i32, !tir.buffer<6xi32>"
    body = {
        "if": f"tir.if {guard} >= 0 {{ {store} }}",
        "else": f"tir.if {guard} >= 0 {{ }} else {{ {store} }}",
        "load": f"%1 = tir.load %b[{index}] if {guard} >= 0 else 0 : i32 : !tir.buffer<6xi32> -> i32",
    }[where]
    taken = [
        INDICES[index](i, j)
        for i, j in product(range(4), range(5))
        if all(value >= 0 for value in GUARDS[guard](i, j)) == (where != "else")
    ]
    found = errors_of(kernel(body))
    if not taken or 0 <= min(taken) <= max(taken) < 6:
        assert found == []
    else:
        ends = str(min(taken)) if min(taken) == max(taken) else f"{min(taken)} to {max(taken)}"
        (error,) = found
        assert error.endswith(f"expected an index in [0, 6) of dimension 0 of %b, got {ends}")


def test_what_data_decides_is_left_open():
    func = parsed("""
    tir.prim_func @f(%n: !tir.buffer<4xi32>, %b: !tir.buffer<6xi32>) outputs 1 {
      tir.for %i in 4 {
        %0 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
        %at = arith.index_cast %0 : i32 to index
        tir.store %0, %b[%at] : i32, !tir.buffer<6xi32>
        tir.if [%at - 9] >= 0 {
          tir.store %0, %b[%i + 5] : i32, !tir.buffer<6xi32>
        }
      }
    }""")
    assert errors_of(func) == []


def test_checkers_take_the_place_of_the_error():
    store = "tir.store %0, %b[%i + %j] : i32, !tir.buffer<6xi32>"
    with whence.PassContext(config={"tir.instrument_bound_checkers": True}):
        run_tir_passes(kernel(store))
    with pytest.raises(ScheduleError, match=r"of %b, got 0 to 7"):
        run_tir_passes(kernel(store))
