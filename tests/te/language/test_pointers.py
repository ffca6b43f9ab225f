"""Pointers into buffers, `access_ptr(.., offset=..)`: what C functions get, between pages that nobody may touch."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from fenced_pages import Pages

import whence
from whence import te, tir
from whence.script import from_source
from whence.support.errors import ScheduleError, WhenceError
from whence.te.schedule.intrin import Tile

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)

C_SOURCE = """
void pointers_dot(const float *a, const float *b, float *c, int n) {
  *c = 0; for (int k = 0; k < n; k++) *c += a[k] * b[k];
}
void pointers_add(const float *a, const float *b, float *c, int n) { for (int k = 0; k < n; k++) *c += a[k] * b[k]; }
void pointers_double(const float *a, float *c, int n) { for (int k = 0; k < n; k++) c[k] = 2 * a[k]; }
"""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions that are called below, in this process."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("pointers")
    (folder / "lib.c").write_text(C_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "lib.c", "-o", "lib.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "lib.so"), mode=ctypes.RTLD_GLOBAL)


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype("float32")


def fenced(schedule: Any, tensors: list[Any] | None, *arrays: Array) -> Any:
    """The result of a kernel whose buffers end at, and then begin at, a page that crashes."""
    found: list[Array] = []
    for pages in (Pages("end"), Pages("begin")):
        with pages.everywhere():
            function = whence.build(schedule, tensors)
            found.append(np.array(function(*map(pages.copy, arrays))))
            pages.check()
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]


def rows(parallel: bool, size: Any) -> tuple[Any, list[Any]]:
    """Every second row of a matrix, doubled and in reverse order, by a call for each."""
    a = te.placeholder((size, 5), name="a")

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        with ib.for_range(0, size // 2, "i", kind="parallel" if parallel else "serial") as i:
            to, read = (
                outs[0].access_ptr("w", offset=(size // 2 - 1 - i) * 5),
                ins[0].access_ptr("r", offset=i * 10 + 5),
            )
            ib.emit(tir.call_extern("int32", "pointers_double", read, to, 5))
        return ib.get()

    c = te.extern((size // 2, 5), [a], body, name="c")
    return te.create_schedule(c.op), [a, c]


@pytest.mark.parametrize("parallel", [False, True])
def test_offsets_of_loops(parallel: bool):
    x = floats(8, 5)
    np.testing.assert_array_equal(fenced(*rows(parallel, 8), x), x[1::2][::-1] * 2)


def test_offsets_of_sizes():
    schedule, tensors = rows(False, te.size_var("n"))
    for count in (2, 6, 8):
        x = floats(count, 5)
        np.testing.assert_array_equal(fenced(schedule, tensors, x), x[1::2][::-1] * 2)


def test_offsets_that_data_says():
    a, at = te.placeholder((30,), name="a"), te.placeholder((4,), "int32", name="at")

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        with ib.for_range(0, 4, "i") as i:
            begin = ins[1][i] * 3 + tir.floormod(i, 2)
            ib.emit(
                tir.call_extern(
                    "int32",
                    "pointers_double",
                    ins[0].access_ptr("r", offset=begin),
                    outs[0].access_ptr(2, offset=i * 3),
                    3,
                )
            )
        return ib.get()

    c = te.extern((4, 3), [a, at], body, name="c", dtype="float32")
    x, places = floats(30), np.array([7, 0, 3, 8], np.int32)
    wanted = np.stack([x[p * 3 + i % 2 :][:3] for i, p in enumerate(places)]) * 2
    np.testing.assert_array_equal(fenced(te.create_schedule(c.op), [a, at, c], x, places), wanted)


def test_statements_of_an_ir_builder_are_where_they_were_written():
    c = tir.decl_buffer((4, 4), name="c")
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4, "i") as i:
        ib.emit(tir.call_extern("int32", "memset", c.access_ptr("w", offset=i * 4), 0, 16))
        ib.buffer_ptr(c)[i, 0] = 1.0
    lines = {op.name: str(op.location) for op in tir.PrimFunc([c], ib.get()).op.walk()}
    first = int(lines["tir.for"].split(":")[1])
    assert all('"test_pointers.py"' in place for place in lines.values())
    assert [int(lines[name].split(":")[1]) - first for name in ("tir.call_extern", "tir.store")] == [1, 2]


def test_one_call_with_an_offset():
    a = te.placeholder((4, 8), name="a")
    c = te.extern(
        (8,),
        [a],
        lambda ins, outs: tir.call_extern("int32", "pointers_double", ins[0].access_ptr("r", offset=16), outs[0], 8),
    )
    x = floats(4, 8)
    np.testing.assert_array_equal(fenced(te.create_schedule(c.op), [a, c], x), x[2] * 2)


def test_a_kernel_of_an_ir_builder():
    a, c = (tir.decl_buffer((6, 4), name=name) for name in "ac")
    ib = tir.ir_builder.create()
    with ib.for_range(0, 6, "i") as i:
        ib.emit(
            tir.call_extern(
                "int32", "pointers_double", a.access_ptr("r", offset=i * 4), c.access_ptr("w", offset=(5 - i) * 4), 4
            )
        )
    x = floats(6, 4)
    np.testing.assert_array_equal(fenced(tir.PrimFunc([a, c], ib.get()), None, x), x[::-1] * 2)


@pytest.mark.parametrize(("length", "with_update"), [(32, False), (32, True), (8, True)])
def test_a_tile_by_calls_for_its_parts(length: int, with_update: bool):
    """Rows of a tile; where the tile's elements do not lie close together, of its copy."""
    a, b = te.placeholder((8, length), name="a"), te.placeholder((length,), name="b")
    k = te.reduce_axis((0, length), name="k")
    tile = te.compute((8,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="tile")

    def replacement(ins: list[Tile], outs: list[Tile]) -> Any:
        def calls(function: str) -> Any:
            ib = tir.ir_builder.create()
            with ib.for_range(0, 8, "row") as row:
                ib.emit(
                    te.call_extern(
                        "int32",
                        function,
                        ins[0].access_ptr("r", offset=row * length),
                        ins[1],
                        outs[0].access_ptr("rw", offset=row),
                        length,
                    )
                )
            return ib.get()

        return (calls("pointers_dot"), None, calls("pointers_add")) if with_update else calls("pointers_dot")

    A, B = te.placeholder((16, 32), name="A"), te.placeholder((32, 3), name="B")
    kk = te.reduce_axis((0, 32), name="k")
    C = te.compute((16, 3), lambda i, j: te.sum(A[i, kk] * B[kk, j], axis=kk), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], 8)
    k_outer, k_inner = s[C].split(kk, length)
    order = [outer, C.op.axis[1], k_outer, inner, k_inner] if with_update else [outer, C.op.axis[1], inner]
    s[C].reorder(*order)
    s[C].tensorize(inner, te.decl_tensor_intrin(tile, replacement, name="rows"))
    # The copy of a tile, of which a call writes one element, starts as the tile.
    assert "tir.load %C[" in str(whence.lower(s, [A, B, C], simple_mode=True))
    x, y = floats(16, 32), floats(32, 3)
    np.testing.assert_allclose(fenced(s, [A, B, C], x, y), x @ y, rtol=1e-4, atol=1e-4)


def test_a_script_says_offsets():
    text = """
@T.prim_func
def main(a: T.Buffer((4, 5), "float32"), c: T.Buffer((4, 5), "float32")):
    for i in range(4):
        T.evaluate(T.call_extern(
            "int32", "pointers_double", a.access_ptr("r", offset=i * 5), c.access_ptr("w", offset=15 - i * 5), 5
        ))
"""
    x = floats(4, 5)
    np.testing.assert_array_equal(fenced(from_source(text), None, x), x[::-1] * 2)


def test_a_script_names_the_place_of_a_wrong_pointer():
    text = """
@T.prim_func
def main(a: T.Buffer((4,), "float32"), c: T.Buffer((4,), "float32")):
    T.evaluate(T.call_extern("int32", "f", a.access_ptr(GIVEN), c.access_ptr("w"), 1))
"""
    for given, wrong in {
        '"r", place=1': "mask, offset=elements",
        '"x"': "a mask of r and w",
        '"r", offset=0.5': "whole",
    }.items():
        with pytest.raises(WhenceError, match=rf":4:44: .*expected .*{wrong}"):
            from_source(text.replace("GIVEN", given))


def test_what_cannot_be():
    a = te.placeholder((4,), name="a")
    whole = tir.decl_buffer((4,), name="whole")
    with pytest.raises(ScheduleError, match="access_ptr: expected a mask of r and w, got 'x'"):
        whole.access_ptr("x")
    with pytest.raises(ScheduleError, match="expected a whole number as offset, got float32"):
        whole.access_ptr("r", offset=1.5)
    with pytest.raises(ScheduleError, match=r"call_packed: expected whole buffers, .* got 'a' at an offset"):
        te.extern((4,), [a], lambda ins, outs: te.call_packed("f", ins[0].access_ptr("r", offset=1), outs[0]))

    def schedule(offset: Any, mask: str = "r") -> Any:
        c = te.extern(
            (4,),
            [a],
            lambda ins, outs: te.call_extern("int32", "f", ins[0].access_ptr(mask, offset=offset), outs[0]),
            name="c",
        )
        return te.create_schedule(c.op)

    for outside in (-1, 5):
        with pytest.raises(ScheduleError, match=rf"expected an offset in the 4 elements of 'a', got {outside}"):
            schedule(outside)
    with pytest.raises(WhenceError, match="expected statements that read their inputs, got stores to a"):
        schedule(1, "rw")
    schedule(4)
    other = tir.decl_buffer((4,), name="other")
    with pytest.raises(ScheduleError, match="expected the buffers of inputs and outputs as arguments"):
        te.extern((4,), [a], lambda _, outs: te.call_extern("int32", "f", other.access_ptr("r", offset=1), outs[0]))
