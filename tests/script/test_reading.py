"""TVMScript read: texts, decorated functions, modules, places, and mistakes."""

# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import arith

import whence
from whence.dialects.tir import StoreOp
from whence.dialects.tir.block import BlockOp
from whence.kernels import build_prim_func
from whence.provenance.span import layer_location
from whence.script import from_source
from whence.script import ir as I
from whence.script import tir as T
from whence.support.errors import FrontendError, ScheduleError, TextError
from whence.tir.function import PrimFunc

RNG = np.random.default_rng(42)
N = 16

MATMUL = """
@T.prim_func(s_tir=True)
def mm(A: T.Buffer((8, 6), "float32"), B: T.Buffer((6, 4), "float32"), E: T.Buffer((8, 4), "float32")):
    C = T.sblock_alloc_buffer((8, 4))
    for i_0, i_1, j, k in T.grid(3, 3, 4, 6):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i_0 * 3 + i_1)
            vj, vk = T.axis.remap("SR", [j, k])
            T.where(i_0 * 3 + i_1 < 8)
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            T.sblock_attr({"note": [1, 2], "why": "a test"})
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 4):
        with T.sblock("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.max(C[vi, vj], T.float32(0.0))
"""


def integers(*shape: int) -> Any:
    return RNG.integers(-3, 4, shape).astype(np.float32)


def older(text: str) -> str:
    """The same text in the spelling of TVM 0.14."""
    return text.replace("sblock_alloc_buffer", "alloc_buffer").replace("sblock", "block").replace("(s_tir=True)", "")


def reread(func: whence.tir.PrimFunc) -> whence.tir.PrimFunc:
    """The function of its own text, which prints the same again, in both spellings."""
    for version in ("0.27", "0.14"):
        text = func.script(version)
        again = from_source(text)
        assert isinstance(again, whence.tir.PrimFunc)
        assert again.script(version) == text
    return from_source(func.script())


def test_blocks_of_both_spellings() -> None:
    a, b = integers(8, 6), integers(6, 4)
    for text in (MATMUL, older(MATMUL)):
        func = from_source(text)
        for one in (func, reread(func)):
            np.testing.assert_array_equal(build_prim_func(one.op)(a, b), np.maximum(a @ b, 0))
        block = next(op for op in func.op.walk() if isinstance(op, BlockOp))
        assert set(block.attributes) == {"note", "why"}


def test_letters_of_axes() -> None:
    text = MATMUL.replace("T.axis.spatial(8, ", "T.axis.S(8, ")
    assert text != MATMUL
    assert from_source(text).op.is_structurally_equivalent(from_source(MATMUL).op)


def test_open_sizes_and_views() -> None:
    func = from_source(
        """
@T.prim_func
def rows(x: T.handle, s: T.handle):
    m = T.int32()
    X = T.match_buffer(x, (m, 16))
    S = T.match_buffer(s, [m], "float32")
    for i, k in T.grid(m, 16):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            row = T.match_buffer(X[vi, 0:16], (16,), strides=("s0",), offset_factor=1)
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + row[vk]
"""
    )
    for one in (func, reread(func)):
        x = integers(7, 16)
        np.testing.assert_array_equal(build_prim_func(one.op)(x), x.sum(1))


def test_statements_of_all_kinds() -> None:
    func = from_source(
        """
from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    "A docstring."
    assert True, "never"
    steps = T.alloc_buffer((1,), "int32", scope="local")
    steps[0] = 0
    while steps[0] < 12:
        i: T.int32 = steps[0]
        x = A[i] * 2.0 - (1 + 1)
        if 2 <= i < 5 or not i != 7:
            B[i] = T.if_then_else(i > 3, T.exp(x), -x)
        elif i == 11:
            B[i] = T.Cast("float32", i // 2 + i % 5)
        else:
            B[i] = T.Select(x > T.float32("-inf"), T.max(x, T.float32(0)), T.float32(1))
        steps[0] += 1
    with T.LetStmt(A[0]) as first:
        B[0] = first
    for j in T.serial(1, 3, annotations={"note": 1}):
        B[j] = B[j] + 1.0
"""
    )
    a = RNG.standard_normal(12).astype(np.float32)
    wanted = np.maximum(a * 2 - 2, 0)
    x = a * 2 - 2
    wanted[[2, 3, 7]] = -x[[2, 3, 7]]
    wanted[[4, 7]] = np.exp(x[[4, 7]])
    wanted[11] = 5 + 1
    wanted[0] = a[0]
    wanted[1:3] += 1
    for one in (func, reread(func)):
        np.testing.assert_allclose(build_prim_func(one.op)(a), wanted, rtol=1e-6)


def scaled(rows: int) -> Any:
    """A function with constants of what is around it."""

    @T.prim_func
    def scale(A: T.Buffer((rows, N), "float32"), B: T.Buffer((rows, N), "float32")):
        for i, j in T.grid(rows, N):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(rows)

    return scale


def test_a_decorated_function_sees_constants_and_its_instructions_know_their_columns() -> None:
    func = scaled(5)
    a = integers(5, N)
    np.testing.assert_array_equal(build_prim_func(func.op)(a), a * 5)
    source = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "A[vi, vj] * T.float32(rows)" in text)
    column = source[line - 1].index("A[vi, vj] *") + 1
    (product,) = (op for op in func.op.walk() if isinstance(op, arith.MulfOp))
    assert product.location == layer_location("B", "test_reading.py", line, column)
    (store,) = (op for op in func.op.walk() if isinstance(op, StoreOp))
    assert store.location == layer_location("B", "test_reading.py", line, source[line - 1].index("B[vi") + 1)
    assert not [op.name for op in func.op.walk() if "test_reading.py" not in str(op.location)]


def test_places_reach_machine_code() -> None:
    function: Any = whence.build(from_source(MATMUL, file="mm.py"))
    lines = {int(line) for line in re.findall(r"\.loc\s1 (\d+)", function.get_source("asm"))}
    places = {str(place) for line in lines - {0} for place in function.locations[line - 1]}
    assert any('"mm.py":15:37' in place for place in places), places


@I.ir_module
class Module:
    """Two functions."""

    @T.prim_func
    def double(a: T.handle, b: T.handle):
        T.func_attr({"global_symbol": "double", "tir.noalias": True})
        n = T.int32()
        A = T.match_buffer(a, [n], "float32")
        B = T.match_buffer(b, [n], "float32")
        for i in T.parallel(n):
            B[i] = A[i] + A[i]

    @T.prim_func
    def triple(A: T.Buffer(4, "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = A[i] * 3


def test_a_module_of_functions() -> None:
    a = integers(9)
    np.testing.assert_array_equal(build_prim_func(Module["double"].op)(a), a * 2)
    number = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(build_prim_func(Module["triple"].op)(number), number * 3)


MISTAKES = {
    ("vk] * B", "vkk] * B"): "15:43: expected a name that is defined, got vkk (did you mean vk?)",
    ("B[vk, vj]\n    for", "B[vk]\n    for"): "15:50: expected 2 indices of B, got 1",
    ("for i, j in T.grid(8, 4)", "for i, j in T.gird(8, 4)"): "16:17: expected a word of T, got T.gird",
    ("T.max(", "T.mxa("): "19:25: expected a word of T, got T.mxa",
    ("T.axis.spatial(8, i_0 * 3 + i_1)", "T.axis.spatial(i_0)"): "7:18: expected T.axis.spatial(extent, value), got 1",
    ("T.where(i_0 * 3", "T.where(A * 3"): "9:21: expected a number, got the buffer A",
    ('{"note": [1, 2]', '{"note": [vj, 2]'): "12:27: expected a dictionary of numbers, strings and lists",
    ("C = T.sblock_alloc_buffer((8, 4))", 'C = T.sblock_alloc_buffer((8, 4), "flaot32")'): "4:",
}


def test_all_mistakes_are_told_in_one_run() -> None:
    text = MATMUL
    for old, new in MISTAKES:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(TextError) as caught:
        from_source(text, file="mm.py")
    told = [line for line in str(caught.value).splitlines() if line.startswith("mm.py:")]
    for wanted in MISTAKES.values():
        assert any(line.startswith(f"mm.py:{wanted}") for line in told), (wanted, told)
    assert len(told) == len(MISTAKES)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("T.sblock(", "T.blok(", r"6:14: expected a word of T, got T\.blok \(did you mean block"),
        (
            "for i, j in T.grid(8, 4)",
            'for i in T.thread_binding(8, thread="threadIdx.x")',
            "16:14: expected a kernel of a CPU",
        ),
        ("T.max(C[vi, vj], T.float32(0.0))", "sum([1, 2])", r"19:25: expected a function of T, got sum\(\.\.\)"),
        ("T.max(C[vi, vj], T.float32(0.0))", "[C[x, 0] for x in range(3)]", "19:25: .* got Python's list comp"),
        (
            "T.max(C[vi, vj], T.float32(0.0))",
            "T.exp(C[vi, vj], 1)",
            r"19:25: expected the arguments that T\.exp takes, got 2",
        ),
        ("T.float32(0.0)\n            C", "1 << 100\n            C", "arithmetic of numbers of at most 64 bits"),
        ("T.float32(0.0)\n            C", "1 // 0\n            C", "14:29: expected arithmetic that has a result"),
        ('"float32"), E', '"float32", strides=(1, 6)), E', "close together, got strides"),
        ("def mm(", "def mm(q, ", "3:8: expected a type of the parameter q"),
        ("vi, vj = T.axis.remap(", "vi, vj, vk = T.axis.remap(", "expected a letter and a loop for each of 3 names"),
        ("E[vi, vj] = ", "E[vi, vj] == ", "19:13: expected a statement, got a value that nothing uses"),
        ("in T.grid(8, 4)", "in T.grid(8, 4", r"16:28: expected Python's syntax, got invalid syntax"),
        ('        with T.sblock("E"):', "        return 1", "Python's"),
        ("with T.init()", "with T.reads()", "expected T.sblock"),
    ],
)
def test_a_mistake_is_told_with_its_place(old: str, new: str, wanted: str) -> None:
    assert old in MATMUL
    with pytest.raises(TextError, match=wanted):
        from_source(MATMUL.replace(old, new), file="mm.py")


def test_only_plain_constants_come_from_outside() -> None:
    hidden = object()
    text = MATMUL.replace("T.float32(0.0)", "factor")
    assert isinstance(from_source(text, {"factor": 2.0}), whence.tir.PrimFunc)
    with pytest.raises(TextError, match="expected a plain constant from outside, got factor, a object"):
        from_source(text, {"factor": hidden})
    with pytest.raises(TextError, match="expected a name that is defined, got factor"):
        from_source(text)


@pytest.mark.parametrize("call", ["", "(hygienic=False)"])
def test_macros_are_refused_at_their_place(call: str) -> None:
    macro = f"@T.macro{call}\ndef zeroed(A, i):\n    A[i] = T.float32(0)\n\n\n"
    with pytest.raises(TextError, match=r"^mm.py:1:2: expected the statements of a macro .* got T.macro"):
        from_source(macro + MATMUL.lstrip(), file="mm.py")
    inner = f"@S.ir_module\nclass M:\n    @S.macro{call}\n    def zeroed(A, i):\n        A[i] = S.float32(0)\n"
    with pytest.raises(TextError, match=r"^mm.py:4:6: expected the statements of a macro"):
        from_source("from tvm.script import tir as S\n" + inner, file="mm.py")

    def zeroed(A: Any, i: Any) -> None:
        A[i] = T.float32(0)

    with pytest.raises(TextError, match=r"test_reading.py:\d+:\d+: expected the statements of a macro"):
        (T.macro(hygienic=False) if call else T.macro)(zeroed)


def test_what_has_no_text_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def f(): pass", scope)
    with pytest.raises(FrontendError, match="expected a function in a file, got f"):
        from_source(scope["f"])
    with pytest.raises(FrontendError, match="expected a function in a file, got int"):
        from_source(3)


@pytest.mark.parametrize("text", ["", "x = 1", "import os", "\x00", "def f(): pass\ndef g(): pass", "1" + "+1" * 5000])
def test_texts_without_a_function(text: str) -> None:
    with pytest.raises(TextError):
        from_source(text)


def test_a_buffer_by_another_shape() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((2, 6), "float32"), B: T.Buffer((3, 4), "float32")):
    rows = A.view(3, 4)
    for i, j in T.grid(3, 4):
        B[i, j] = rows[i, j]
"""
    a = integers(2, 6)
    assert (np.asarray(build_prim_func(from_source(text).op)(a)) == a.reshape(3, 4)).all()
    assert reread(from_source(text)).script() == from_source(text).script()
    with pytest.raises(TextError, match=r"<text>:4:12: expected extents of 12 elements in all, got 15"):
        from_source(text.replace("view(3, 4)", "view(3, 5)"))
    with pytest.raises(TextError, match=r"<text>:4:12: expected the extents of a view of A"):
        from_source(text.replace("view(3, 4)", 'view("int32")').replace('"int32"', "-1"))


def test_annotations_hold_lists_of_lists_and_of_several_kinds() -> None:
    text = MATMUL.replace('"note": [1, 2]', '"note": [1, 2], "align": [[0, 1, 8, 4]], "mixed": ["a", 1, 2.5]')
    func = from_source(text)
    assert "'align': [[0, 1, 8, 4]], 'mixed': ['a', 1, 2.5]" in func.script()
    again = PrimFunc.of(func.op.clone())
    assert "'align': [[0, 1, 8, 4]], 'mixed': ['a', 1, 2.5]" in again.script()
    assert reread(func).script() == func.script()


def test_conversions_of_lanes_print_the_same_again() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    wide = T.Cast("int64x16", T.Ramp(3, 1, 16))
    few = T.Cast("uint64x16", wide) < T.Cast("uint64x16", T.Broadcast(T.int64(9), 16))
    B[T.Ramp(0, 1, 16)] = T.Select(few, A[T.Ramp(0, 1, 16)], T.Broadcast(T.float32(0), 16))
"""
    func = from_source(text)
    a = integers(16)
    assert (np.asarray(build_prim_func(func.op)(a)) == np.where(np.arange(16) + 3 < 9, a, 0)).all()
    assert reread(func).script() == func.script()


def test_lanes_of_other_floats() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float16")):
    B[T.Ramp(0, 1, 16)] = T.Cast("float32x16", A[T.Ramp(0, 1, 16)])
    C[T.Ramp(0, 1, 16)] = T.Cast("float16x16", B[T.Ramp(0, 1, 16)] * T.Broadcast(T.float32(0.1), 16))
"""
    a = np.arange(16).astype("float16")
    b, c = build_prim_func(from_source(text).op)(a)
    assert (np.asarray(b) == a).all()
    assert (np.asarray(c) == (a.astype("float32") * np.float32(0.1)).astype("float16")).all()


def test_two_blocks_of_one_name_are_told_with_their_places() -> None:
    text = MATMUL.replace('T.sblock("E")', 'T.sblock("C")')
    s = whence.tir.Schedule(from_source(text, file="mm.py"))
    with pytest.raises(ScheduleError, match="expected one block of name 'C', got 2 of it") as caught:
        s.get_sblock("C")
    _, first, second, remedy = str(caught.value).splitlines()
    assert "mm.py line 6" in first
    assert "mm.py line 17" in second
    assert remedy.strip() == 'would work: s.get_child_blocks("root")[1]'
    s.parallel(s.get_loops(s.get_child_blocks("root")[1])[0])
    assert "T.parallel(8)" in s.mod["main"].script()
