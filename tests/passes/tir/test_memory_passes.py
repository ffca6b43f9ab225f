"""Shared storage, double buffers, and what the check of memory accepts and reports."""

from __future__ import annotations

import re
from typing import cast

import numpy as np
import pytest
from test_further_passes import Machine, count, kernel
from xdsl.utils.exceptions import VerifyException

from whence.dialects import tir
from whence.passes.tir import inject_double_buffer, storage_rewrite, verify_memory
from whence.passes.tir.analysis.touches import unwritten


def storage(body: str) -> int:
    """How many buffers a kernel has after storage rewrite."""
    func = kernel(f"tir.prim_func @f(%x: !tir.buffer<8x8xf32>, %y: !tir.buffer<8x8xf32>) outputs 1 {{ {body} }}")
    x = np.arange(64, dtype=np.float32)
    before = Machine(func, x, np.zeros(64, np.float32)).arrays[1]
    storage_rewrite.run(func)
    func.verify()
    np.testing.assert_array_equal(Machine(func, x, np.zeros(64, np.float32)).arrays[1], before)
    return count(func, tir.AllocOp)


def copy(source: str, at: str, target: str, to: str, buffers: str = "!tir.buffer<8x8xf32>") -> str:
    """A loop nest over %i and %j."""
    s = "!tir.buffer<8x8xf32>" if source in "%x%y" else buffers
    t = "!tir.buffer<8x8xf32>" if target in "%x%y" else buffers
    return f"""
    tir.for %i in 8 {{ tir.for %j in 8 {{
      %v = tir.load {source}[{at}] : {s} -> f32
      tir.store %v, {target}[{to}] : f32, {t}
    }} }}"""


ALLOCS = "%t = tir.alloc : !tir.buffer<8x8xf32>\n%u = tir.alloc : !tir.buffer<8x8xf32>"
BOTH = f"{copy('%x', '%i, %j', '%t', '%i, %j')}"


def test_in_place_needs_the_same_element():
    end = copy("%u", "%i, %j", "%y", "%i, %j")
    assert storage(ALLOCS + BOTH + copy("%t", "%i, %j", "%u", "%i, %j") + end) == 1
    assert storage(ALLOCS + BOTH + copy("%t", "%j, %i", "%u", "%i, %j") + end) == 2


def test_in_place_needs_another_element_in_each_pass():
    """Row 0 is read eight times."""
    end = copy("%u", "%i, %j", "%y", "%i, %j")
    again = copy("%t", "0, %j", "%u", "0, %j") + copy("%x", "%i, %j", "%u", "%i, %j")
    assert storage(ALLOCS + BOTH + again + end) == 2


def test_a_buffer_that_is_read_later_is_not_taken_over():
    end = copy("%u", "%i, %j", "%y", "%i, %j") + copy("%t", "%i, %j", "%y", "%j, %i")
    assert storage(ALLOCS + BOTH + copy("%t", "%i, %j", "%u", "%i, %j") + end) == 2


def test_nested_buffers_share_with_outer_ones():
    inner = """
    tir.for %k in 8 {
      %u = tir.alloc : !tir.buffer<8x8xf32, local>
      tir.for %j in 8 {
        %v = tir.load %x[%k, %j] : !tir.buffer<8x8xf32> -> f32
        tir.store %v, %u[%k, %j] : f32, !tir.buffer<8x8xf32, local>
        %w = tir.load %u[%k, %j] : !tir.buffer<8x8xf32, local> -> f32
        tir.store %w, %y[%j, %k] : f32, !tir.buffer<8x8xf32>
      }
    }"""
    local = "!tir.buffer<8x8xf32, local>"
    first = copy("%x", "%i, %j", "%t", "%i, %j", local) + copy("%t", "%i, %j", "%y", "%i, %j", local)
    alloc = f"%t = tir.alloc : {local}"
    assert storage(alloc + first + inner) == 1
    assert storage(alloc + first + inner.replace("tir.for %k", "tir.for parallel %k")) == 2
    late = copy("%t", "%i, %j", "%y", "%i, %j", local)
    assert storage(alloc + first + inner + late) == 2


DOUBLE = """
tir.prim_func @f(%x: !tir.buffer<4x8xf32>, %y: !tir.buffer<4x8xf32>) outputs 1 {
  tir.for %i in 4 {
    %t = tir.alloc {double_buffer} : !tir.buffer<8xf32, local>
    tir.for %j in 8 {
      %0 = tir.load %x[%i, %j] : !tir.buffer<4x8xf32> -> f32
      tir.store %0, %t[%j] : f32, !tir.buffer<8xf32, local>
    }
    tir.for %k in 8 {
      %1 = tir.load %t[7 - %k] : !tir.buffer<8xf32, local> -> f32
      tir.store %1, %y[%i, %k] : f32, !tir.buffer<4x8xf32>
    }
  }
}
"""


def test_double_buffer_reads_one_pass_ahead():
    func = kernel(DOUBLE)
    inject_double_buffer.run(func)
    func.verify()
    loops = [op for op in func.block.ops if isinstance(op, tir.ForOp)]
    assert [loop.trip_count for loop in loops] == [1, 3, 1]
    first, second = (op for op in loops[1].block.ops)
    load = next(op for op in first.walk() if isinstance(op, tir.LoadOp))
    store = next(op for op in second.walk() if isinstance(op, tir.StoreOp))
    assert str(load.map.data.results[0]) == "(d0 + 1)"
    assert str(store.map.data.results[0]) == "d0"
    x = np.arange(32, dtype=np.float32)
    found = Machine(func, x, np.zeros(32, np.float32)).arrays[1].reshape(4, 8)
    np.testing.assert_array_equal(found, x.reshape(4, 8)[:, ::-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tir.for %i in 4", "tir.for parallel %i in 4"),
        ("%0 = tir.load %x[%i, %j]", "%0 = tir.load %y[%i, %j]"),
        ("tir.for %k in 8 {", "tir.for %k in 8 {\ntir.store %c, %t[%k] : f32, !tir.buffer<8xf32, local>"),
        ("tir.for %k in 8 {", 'tir.for %k in 8 {\ntir.call_extern "f"(%t) : (!tir.buffer<8xf32, local>) -> ()'),
        ("tir.for %j in 8 {", "tir.for %j in 8 {\ntir.store %c, %y[%i, %j] : f32, !tir.buffer<4x8xf32>"),
    ],
)
def test_double_buffer_stays_single(old: str, new: str):
    text = DOUBLE.replace(old, new).replace("outputs 1 {", "outputs 1 {\n%c = arith.constant 1.0 : f32")
    func = kernel(text)
    inject_double_buffer.run(func)
    assert str(func) == str(kernel(text.replace(" {double_buffer}", "")))


def errors(body: str) -> list[str]:
    text = f"""
    tir.prim_func @f(%a: !tir.buffer<64xf32>, %b: !tir.buffer<64xf32>) outputs 1 {{
      %c = arith.constant 1.0 : f32
      {body}
    }}"""
    return verify_memory.errors_of(kernel(text))


def parallel(index: str, extent: int = 4, inner: int = 4) -> str:
    return f"""
    tir.for parallel %i in {extent} {{ tir.for %j in {inner} {{
      tir.store %c, %b[{index}] : f32, !tir.buffer<64xf32>
    }} }}"""


@pytest.mark.parametrize(
    "index", ["%i * 4 + %j", "%j * 4 + %i", "%i * 5 + %j", "%i * 16 + %j * 5", "%i * -4 + %j + 12"]
)
def test_passes_apart(index: str):
    assert errors(parallel(index)) == []


@pytest.mark.parametrize("index", ["%j", "%i * 3 + %j", "%i * 6 + %j * 4", "%i + %j", "0", "(%j + 3) floordiv 2"])
def test_passes_that_meet(index: str):
    (error,) = errors(parallel(index))
    assert "over %i" in error
    assert re.search(r"got iterations i=\d, j=\d and i=\d, j=\d write %b\[\d+\]", error)


@pytest.mark.parametrize(
    ("index", "met"),
    [
        ("%i floordiv 2", "i=0, j=0 and i=1, j=0 write %b[0]"),
        ("%i mod 8", "i=0, j=0 and i=8, j=0 write %b[0]"),
        ("%i mod 8 + %j", "i=0, j=1 and i=1, j=0 write %b[1]"),
        ("(%i * 4 + %j) mod 24", "i=0, j=0 and i=6, j=0 write %b[0]"),
        ("0", "i=0, j=0 and i=1, j=0 write %b[0]"),
    ],
)
def test_the_iterations_that_meet_are_told(index: str, met: str):
    (error,) = errors(parallel(index, 16))
    assert error.endswith(f"got iterations {met}")


@pytest.mark.parametrize(
    "index", ["(%i mod 4) * 16 + (%i floordiv 4) * 4 + %j", "(%i floordiv 4) * 16 + %j * 4 + %i mod 4"]
)
def test_quotients_and_remainders_that_keep_apart(index: str):
    assert errors(parallel(index, 16)) == []


def test_a_loop_around_is_in_the_same_iteration():
    body = "tir.for %k in 2 {{ tir.for parallel %i in 8 {{ tir.store %c, %b[{}] : f32, !tir.buffer<64xf32> }} }}"
    assert errors(body.format("%i + %k")) == []
    (error,) = errors(body.format("(%i + %k) floordiv 2"))
    assert "got iterations" in error


def missing(body: str, shape: str = "4x6") -> list[str]:
    text = f"""
    tir.prim_func @f(%n: !tir.buffer<4xi32>, %b: !tir.buffer<{shape}xf32>) outputs 1 {{
      %c = arith.constant 1.0 : f32
      %v = arith.constant dense<1.0> : vector<3xf32>
      {body}
    }}"""
    return unwritten(kernel(text.replace("BUFFER", f"!tir.buffer<{shape}xf32>")))


@pytest.mark.parametrize(
    ("body", "element"),
    [
        ("", "[0, 0]"),
        ("tir.for %i in 4 { tir.for %j in 5 { tir.store %c, %b[%i, %j] : f32, BUFFER } }", "[0, 5]"),
        ("tir.for %i in 4 { tir.for %j in 3 { tir.store %c, %b[%i, %j * 2] : f32, BUFFER } }", "[0, 1]"),
        ("tir.for %i in 24 { tir.store %c, %b[%i mod 4, %i mod 6] : f32, BUFFER }", "[0, 1]"),
        ("tir.for %i in 4 { tir.store %v, %b[%i, 0] : vector<3xf32>, BUFFER }", "[0, 3]"),
        (
            "tir.for %i in 24 { tir.if [20 - %i] >= 0 { tir.store %c, %b[%i floordiv 6, %i mod 6] : f32, BUFFER } }",
            "[3, 3]",
        ),
        (
            """tir.for %i in 4 { tir.for %j in 6 { tir.if [%i - 1, %j - 2] >= 0 { } else {
              tir.store %c, %b[%i, %j] : f32, BUFFER } } }""",
            "[1, 2]",
        ),
        (
            """tir.for %i in 12 { tir.block "b" (%k : spatial 12) at [%i] {
              tir.store %c, %b[%k floordiv 6, %k mod 6] : f32, BUFFER } }""",
            "[2, 0]",
        ),
    ],
)
def test_an_element_that_nobody_writes(body: str, element: str):
    (error,) = missing(body)
    assert error == f"tir.prim_func: expected a store to every element of %b, got none to {element}"


@pytest.mark.parametrize(
    "body",
    [
        "tir.for %i in 24 { tir.store %c, %b[%i floordiv 6, %i mod 6] : f32, BUFFER }",
        "tir.for %i in 4 { tir.for %j in 2 { tir.store %v, %b[%i, %j * 3] : vector<3xf32>, BUFFER } }",
        """tir.for %i in 4 { tir.for %j in 6 { tir.if [%j - 2] >= 0 { tir.store %c, %b[%i, %j] : f32, BUFFER } else {
          tir.store %c, %b[3 - %i, %j] : f32, BUFFER } } }""",
        # Data decides where, or a function does.
        """%k = tir.load %n[0] : !tir.buffer<4xi32> -> i32
        %l = arith.index_cast %k : i32 to index
        tir.store %c, %b[%l, 0] : f32, BUFFER""",
        'tir.call_extern "fill"(%b) : (BUFFER) -> ()',
    ],
)
def test_all_elements_are_written_or_taken_to_be(body: str):
    assert missing(body) == []


def test_a_large_result_is_told_by_its_dimensions():
    body = "tir.for %i in {} {{ tir.for %j in 3000 {{ tir.store %c, %b[%i, %j] : f32, BUFFER }} }}"
    assert missing(body.format(3000), "3000x3000") == []
    (error,) = missing(body.format(2999), "3000x3000")
    assert "got none to [2999, 0]" in error


def test_what_a_guard_decides_is_looked_at():
    assert (
        errors("""
    tir.for parallel %i in 4 {
      tir.if [0 - %i] >= 0 {
        tir.store %c, %b[0] : f32, !tir.buffer<64xf32>
      }
    }""")
        == []
    )


def test_a_pass_reads_what_another_writes():
    (error,) = errors("""
    tir.for parallel %i in 4 {
      %0 = tir.load %b[%i + 1] : !tir.buffer<64xf32> -> f32
      tir.store %0, %b[%i] : f32, !tir.buffer<64xf32>
    }""")
    assert error.endswith("got iteration i=0 reads %b[1] that i=1 writes")


def test_vectors_meet_by_their_lanes():
    body = """
    %v = arith.constant dense<1.0> : vector<8xf32>
    tir.for parallel %i in 4 {{
      tir.store %v, %b[%i * {step}] : vector<8xf32>, !tir.buffer<64xf32>
    }}"""
    assert errors(body.format(step=8)) == []
    assert len(errors(body.format(step=7))) == 1


def test_a_pass_may_read_what_an_earlier_one_wrote():
    assert (
        errors("""
    %t = tir.alloc : !tir.buffer<8xf32>
    tir.for %i in 8 {
      tir.if [%i - 1] >= 0 {
        %0 = tir.load %t[%i - 1] : !tir.buffer<8xf32> -> f32
        tir.store %0, %b[%i] : f32, !tir.buffer<64xf32>
      }
      tir.store %c, %t[%i] : f32, !tir.buffer<8xf32>
    }""")
        == []
    )


def test_a_function_may_write_what_it_is_given():
    assert (
        errors("""
    %t = tir.alloc : !tir.buffer<8xf32>
    tir.call_extern "fill"(%t) : (!tir.buffer<8xf32>) -> ()
    %0 = tir.load %t[0] : !tir.buffer<8xf32> -> f32
    tir.store %0, %b[0] : f32, !tir.buffer<64xf32>""")
        == []
    )


def test_last_lane_outside():
    (error,) = errors("""
    tir.for %i in 8 {
      %0 = tir.load %a[%i * 8 + 1] : !tir.buffer<64xf32> -> vector<8xf32>
      tir.store %0, %b[%i * 8] : vector<8xf32>, !tir.buffer<64xf32>
    }""")
    assert error == "tir.load: expected all 8 lanes inside the 64 elements of %a, got the last lane at element 64"


def test_all_errors_are_told_at_once():
    func = kernel("""
    tir.prim_func @f(%b: !tir.buffer<4xf32>) outputs 1 {
      %c = arith.constant 1.0 : f32
      %t = tir.alloc : !tir.buffer<4xf32>
      tir.for %i in 4 {
        %0 = tir.load %t[%i] : !tir.buffer<4xf32> -> f32 loc("early")
        tir.store %0, %b[%i + 1] : f32, !tir.buffer<4xf32> loc("late")
      }
    }""")
    with pytest.raises(VerifyException) as caught:
        verify_memory.run(func)
    lines = cast(str, caught.value.args[0]).splitlines()
    assert lines == [
        "Memory verification failed with the following errors:",
        "  tir.load: expected a store to %t before it is read, got none (layer 'early')",
        "  tir.store: expected an index in [0, 4) of dimension 0 of %b, got 1 to 4 (layer 'late')",
        "  tir.prim_func: expected a store to every element of %b, got none to [0] (layer 'late')",
    ]


def test_in_place_needs_what_is_read_before_what_is_written():
    """In each pass the old element is read after the new one is there."""
    end = copy("%u", "%i, %j", "%y", "%i, %j")
    late = """
    tir.for %i in 8 { tir.for %j in 8 {
      %v = tir.load %x[%j, %i] : !tir.buffer<8x8xf32> -> f32
      tir.store %v, %u[%i, %j] : f32, !tir.buffer<8x8xf32>
      %w = tir.load %t[%i, %j] : !tir.buffer<8x8xf32> -> f32
      tir.store %w, %y[%j, %i] : f32, !tir.buffer<8x8xf32>
    } }"""
    assert storage(ALLOCS + BOTH + late + end) == 2


def test_buffers_of_other_scopes_share_nothing():
    """Neither one after the other nor in place."""
    local = "!tir.buffer<8x8xf32, local>"
    body = f"""%t = tir.alloc : !tir.buffer<8x8xf32>
    %u = tir.alloc : {local}
    {BOTH}
    tir.for %i in 8 {{ tir.for %j in 8 {{
      %v = tir.load %t[%i, %j] : !tir.buffer<8x8xf32> -> f32
      tir.store %v, %u[%i, %j] : f32, {local}
    }} }}
    tir.for %i in 8 {{ tir.for %j in 8 {{
      %v = tir.load %u[%i, %j] : {local} -> f32
      tir.store %v, %y[%i, %j] : f32, !tir.buffer<8x8xf32>
    }} }}"""
    assert storage(body) == 2
    apart = body.replace("tir.load %t[%i, %j] :", "tir.load %x[%i, %j] :")
    assert storage(apart) == 2


def test_a_call_of_two_buffers_gives_neither_to_the_other():
    """One op is the last that uses the one and the first that uses the other."""
    func = kernel(f"""tir.prim_func @f(%x: !tir.buffer<8x8xf32>, %y: !tir.buffer<8x8xf32>) outputs 1 {{
    {ALLOCS}
    {BOTH}
    tir.call_extern "turned"(%t, %u) : (!tir.buffer<8x8xf32>, !tir.buffer<8x8xf32>) -> ()
    {copy("%u", "%i, %j", "%y", "%i, %j")}
    }}""")
    storage_rewrite.run(func)
    assert count(func, tir.AllocOp) == 2
