"""Kernels as loops and blocks become tensor expressions, where they are that, and compute what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from random_raised import check
from xdsl.dialects.builtin import StringAttr, UnknownLoc
from xdsl.ir import Operation

import whence
from whence import te
from whence.dialects.te import HybridOp
from whence.dialects.tir import StoreOp
from whence.kernels.building import build_prim_func, create_prim_func, parsed_prim_func, scheduled
from whence.kernels.functions import Function
from whence.lowering.tir_to_te.nests import NotRaised
from whence.lowering.tir_to_te.raising import raised
from whence.script import from_source

Array = NDArray[Any]
BUFFER = "!tir.buffer<8x8xf32>"
HEAD = f"tir.prim_func @f(%a: {BUFFER}, %b: {BUFFER}, %c: {BUFFER}) outputs 1"
BLOCKS = f"""{HEAD} {{
  %t = tir.alloc : {BUFFER}
  tir.for %i in 8 {{ tir.for %j in 8 {{ tir.for %k in 8 {{
    tir.block "product" (%vi : spatial 8, %vj : spatial 8, %vk : reduce 8) at [%i, %j, %k] {{
      tir.init {{
        %zero = arith.constant 0.0 : f32
        tir.store %zero, %t[%vi, %vj] : f32, {BUFFER}
      }}
      %0 = tir.load %t[%vi, %vj] : {BUFFER} -> f32
      %1 = tir.load %a[%vi, %vk] : {BUFFER} -> f32
      %2 = tir.load %b[%vj, %vk] : {BUFFER} -> f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 : f32
      tir.store %4, %t[%vi, %vj] : f32, {BUFFER}
    }}
  }} }} }}
  tir.for %i in 8 {{ tir.for %j in 8 {{
    tir.block "twice" (%vi : spatial 8, %vj : spatial 8) at [%i, %j] {{
      %0 = tir.load %t[%vi, %vj] : {BUFFER} -> f32
      %1 = arith.addf %0, %0 : f32
      tir.store %1, %c[%vi, %vj] : f32, {BUFFER}
    }}
  }} }}
}}"""


def loops(body: str, start: str = "0.0") -> str:
    """A kernel that starts `%c` and then runs `body` at each `%i, %j, %k`."""
    return f"""{HEAD} {{
      tir.for %i in 8 {{ tir.for %j in 8 {{
        %s = arith.constant {start} : f32
        tir.store %s, %c[%i, %j] : f32, {BUFFER}
        tir.for %k in 8 {{ {body} }}
      }} }}
    }}"""


def term(combine: str, point: str = "%i, %j", own: str = "%i, %j") -> str:
    return f"""
      %0 = tir.load %c[{own}] : {BUFFER} -> f32
      %1 = tir.load %a[%i, %k] : {BUFFER} -> f32
      %2 = {combine} %0, %1 : f32
      tir.store %2, %c[{point}] : f32, {BUFFER}"""


def arrays() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, (8, 8)).astype(np.float32) for _ in range(2)]


def test_blocks_become_computes_with_their_labels_and_locations() -> None:
    func = raised(parsed_prim_func(BLOCKS))
    assert [compute.label.data for compute in func.computes] == ["product", "twice"]
    assert func.computes[0].reducer is not None
    assert func.computes[0].reducer.data == "sum"
    assert not any(isinstance(op.location, UnknownLoc) for op in func.walk())
    lines = [str(compute.location).partition(":")[2] for compute in func.computes]
    assert len(set(lines)) == 2


def test_blocks_are_scheduled_by_structure() -> None:
    a, b = arrays()
    kernel = whence.build(BLOCKS)
    assert np.array_equal(kernel(a, b), 2 * (a @ b.T))
    assert '"dense"' in str(scheduled(parsed_prim_func(BLOCKS)).attributes["raised"])


@pytest.mark.parametrize(
    ("combine", "start", "reducer", "stages"),
    [
        ("arith.addf", "0.0", "sum", 1),
        ("arith.addf", "2.0", "sum", 3),
        ("arith.mulf", "1.0", "prod", 1),
        ("arith.maximumf", "0xFF800000", "max", 1),
        ("arith.maximumf", "0.0", "max", 3),
        ("arith.minimumf", "0x7F800000", "min", 1),
    ],
)
def test_loops_that_reduce_keep_what_they_start_from(combine: str, start: str, reducer: str, stages: int) -> None:
    text = loops(term(combine), start)
    func = raised(parsed_prim_func(text))
    assert len(func.computes) == stages
    assert [compute.reducer.data for compute in func.computes if compute.reducer] == [reducer]
    a, b = arrays()
    assert np.array_equal(whence.build(text)(a, b), build_prim_func(text)(a, b))


@pytest.mark.parametrize(
    "text",
    [
        loops(term("arith.subf")),
        loops(term("arith.addf", own="%j, %i")),
        loops(term("arith.addf", point="%j, %i", own="%j, %i")),
        loops(term("arith.addf", point="%i, %k", own="%i, %k")),
        loops(f"%0 = tir.load %a[%i, %k] : {BUFFER} -> f32 tir.store %0, %c[%i, %j] : f32, {BUFFER}"),
        loops(term("arith.addf")).replace("tir.for %j", "tir.for parallel %j"),
        loops(term("arith.addf")).replace("tir.for %k in 8", "tir.for unrolled %k in 8"),
        loops(term("arith.addf")).replace("tir.for %j in 8", "tir.for %j in 4"),
        loops(term("arith.addf")).replace(f"tir.store %s, %c[%i, %j] : f32, {BUFFER}", ""),
        BLOCKS.replace("at [%i, %j, %k]", "at [%j, %j, %k]"),
        BLOCKS.replace("at [%i, %j, %k]", "at [%j, %i, %k]"),
        BLOCKS.replace("tir.store %1, %c", "tir.store %1, %a"),
    ],
)
def test_other_loops_stay_as_they_are_written(text: str) -> None:
    func = parsed_prim_func(text)
    with pytest.raises(NotRaised):
        raised(func)
    assert scheduled(func) is func


SCAN = f"""
  tir.for %i in 8 {{ tir.for %j in 7 {{
    %0 = tir.load %t[%i, %j] : {BUFFER} -> f32
    %1 = tir.load %t[%i, %j + 1] : {BUFFER} -> f32
    %2 = arith.addf %0, %1 : f32
    tir.store %2, %t[%i, %j + 1] : f32, {BUFFER}
  }} }}"""
FILL = f"""
  tir.for %i in 8 {{ tir.for %j in 8 {{
    %0 = tir.load %a[%i, %j] : {BUFFER} -> f32
    tir.store %0, %t[%i, %j] : f32, {BUFFER}
  }} }}"""
PRODUCT = f"""
  tir.for %i in 8 {{ tir.for %j in 8 {{
    %s = arith.constant 0.0 : f32
    tir.store %s, %c[%i, %j] : f32, {BUFFER}
    tir.for %k in 8 {{
      %0 = tir.load %c[%i, %j] : {BUFFER} -> f32
      %1 = tir.load %t[%i, %k] : {BUFFER} -> f32
      %2 = tir.load %b[%k, %j] : {BUFFER} -> f32
      %3 = arith.mulf %1, %2 : f32
      %4 = arith.addf %0, %3 : f32
      tir.store %4, %c[%i, %j] : f32, {BUFFER}
    }}
  }} }}"""


def statements(*parts: str) -> str:
    return f"{HEAD} {{ %t = tir.alloc : {BUFFER} {''.join(parts)} }}"


def test_statements_that_are_no_expressions_stay_loops_among_stages() -> None:
    func = parsed_prim_func(statements(FILL, SCAN, PRODUCT))
    stages = list(raised(func).block.ops)
    # The scan writes what another loop began, so both are its stage.
    assert [stage.name for stage in stages] == ["te.hybrid", "te.compute", "te.return"]
    (loops_kept,) = (stage for stage in stages if isinstance(stage, HybridOp))
    assert [op.name for op in loops_kept.body.block.ops] == ["tir.for", "tir.for"]
    lines = {line_of(op) for op in loops_kept.walk() if isinstance(op, StoreOp)}
    assert lines == {line_of(op) for op in func.walk() if isinstance(op, StoreOp) and op.buffer.name_hint == "t"}
    a, b = arrays()
    assert np.array_equal(whence.build(func)(a, b), np.cumsum(a, 1) @ b)
    assert '"dense"' in str(scheduled(func).attributes["raised"])


def line_of(op: Operation) -> str:
    return str(op.location).partition(":")[2]


def test_loops_whose_rows_are_apart_may_run_in_parallel() -> None:
    def tags(body: str) -> list[Any]:
        stages = raised(parsed_prim_func(statements(body, PRODUCT))).block.ops
        return [stage.attributes.get("tag") for stage in stages if isinstance(stage, HybridOp)]

    alone = f"""
      tir.for %i in 8 {{
        %0 = tir.load %a[%i, 0] : {BUFFER} -> f32
        tir.store %0, %t[%i, 0] : f32, {BUFFER}
        tir.for %j in 7 {{
          %1 = tir.load %t[%i, %j] : {BUFFER} -> f32
          tir.store %1, %t[%i, %j + 1] : f32, {BUFFER}
        }}
      }}"""
    assert tags(alone) == [StringAttr("rows_apart")]
    assert tags(alone.replace("%t[%i, %j]", "%t[0, %j]")) == [None]
    assert tags(FILL + SCAN) == [None]


@pytest.mark.parametrize(
    "text",
    [
        BLOCKS.replace("at [%i, %j, %k]", "at [%i, %j, %k] where [8 - %i] >= 0"),
        BLOCKS.replace("%vk : reduce 8) at [%i, %j, %k]", "%vk : opaque 8) at [%i, %j, %k]"),
    ],
)
def test_a_block_that_is_no_expression_stays_and_those_around_it_are_raised(text: str) -> None:
    a, b = arrays()
    assert [compute.label.data for compute in raised(parsed_prim_func(text)).computes] == ["twice"]
    # An init runs where all reduce variables are 0: at each point, if there are none.
    last = 2 * a[:, -1:] * b[:, -1]
    assert np.array_equal(whence.build(text)(a, b), last if "opaque" in text else 2 * (a @ b.T))


def test_an_option_leaves_loops_as_they_are_written() -> None:
    func = parsed_prim_func(BLOCKS)
    with whence.PassContext(config={"tir.raise_kernels": False}):
        assert scheduled(func) is func


def test_softmax_as_loops() -> None:
    x = te.placeholder((6, 33), name="x")
    k, q = te.reduce_axis((0, 33), name="k"), te.reduce_axis((0, 33), name="q")
    m = te.compute((6,), lambda i: te.max(x[i, k], axis=k), name="m")
    e = te.compute((6, 33), lambda i, j: te.exp(x[i, j] - m[i]), name="e")
    s = te.compute((6,), lambda i: te.sum(e[i, q], axis=q), name="s")
    out = te.compute((6, 33), lambda i, j: e[i, j] / s[i], name="out")
    func = create_prim_func([x, out])
    data = np.random.default_rng(0).standard_normal((6, 33)).astype(np.float32)
    powers = np.exp(data - data.max(1, keepdims=True))
    np.testing.assert_allclose(whence.build(func)(data), powers / powers.sum(1, keepdims=True), rtol=1e-5)
    assert '"rows"' in str(scheduled(func).attributes["raised"])


def test_open_sizes() -> None:
    n = te.var("n")
    a, b = te.placeholder((n, 16), name="a"), te.placeholder((16, 24), name="b")
    k = te.reduce_axis((0, 16), name="k")
    func = create_prim_func([a, b, te.compute((n, 24), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")])
    kernel = whence.build(func)
    assert '"dense"' in str(scheduled(func).attributes["raised"])
    rng = np.random.default_rng(0)
    for rows in (1, 7, 40):
        x, y = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((rows, 16), (16, 24)))
        assert np.array_equal(kernel(x, y), x @ y)


def built(what: Any) -> Function:
    function = whence.build(what)
    assert isinstance(function, Function)
    return function


def product_of_64() -> list[te.Tensor]:
    a, b = te.placeholder((64, 64), name="a"), te.placeholder((64, 64), name="b")
    k = te.reduce_axis((0, 64), "k")
    return [a, b, te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")]


def test_what_somebody_scheduled_stays_as_it_is():
    tensors = product_of_64()
    schedule = te.create_schedule(tensors[-1].op)
    # Without primitives nobody has said how to order the loops.
    assert "raised" in built(whence.lower(schedule, tensors, simple_mode=True)).tir
    schedule[tensors[-1]].reorder(*schedule[tensors[-1]].op.reduce_axis, *schedule[tensors[-1]].op.axis)
    lowered = whence.lower(schedule, tensors, name="mm", simple_mode=True)
    assert "tir.is_scheduled = true" in str(lowered)
    for module in (lowered, whence.script.from_source(lowered["mm"].script())):
        function = built(module)
        assert "raised" not in function.tir
        assert function.tir.index("tir.for %k") < function.tir.index("tir.for %i_1")
        x, y = (np.random.default_rng(3).integers(-4, 5, (64, 64)).astype(np.float32) for _ in range(2))
        np.testing.assert_array_equal(function(x, y), x @ y)


def test_blocks_that_somebody_scheduled_stay_as_they_are():
    func = whence.tir.PrimFunc.of(parsed_prim_func(BLOCKS))
    schedule = whence.tir.Schedule(func)
    loops = schedule.get_loops(schedule.get_block("product"))
    assert "raised" in built(schedule.mod).tir
    schedule.split(loops[0], [2, 4])
    assert "tir.is_scheduled" in str(schedule.mod)
    assert "raised" not in built(schedule.mod).tir


# 9025 reads the diagonal of a local buffer whose rows end inside a vector.
@pytest.mark.parametrize("seed", [*range(12), 9025])
def test_random_kernels_compute_what_their_loops_do(seed: int) -> None:
    check(seed)


def test_elements_at_indices_that_are_data_are_raised() -> None:
    text = """
    tir.prim_func @f(%x: !tir.buffer<8x4xf32>, %at: !tir.buffer<5xi32>, %y: !tir.buffer<5x4xf32>) outputs 1 {
      tir.for %i in 5 { tir.for %j in 4 {
        %0 = tir.load %at[%i] : !tir.buffer<5xi32> -> i32
        %1 = arith.index_cast %0 : i32 to index
        %2 = tir.load %x[%1, %j] : !tir.buffer<8x4xf32> -> f32
        tir.store %2, %y[%i, %j] : f32, !tir.buffer<5x4xf32>
      } }
    }"""
    assert [stage.name for stage in raised(parsed_prim_func(text)).block.ops] == ["te.compute", "te.return"]
    x, at = np.random.default_rng(0).random((8, 4), dtype=np.float32), np.array([7, 0, 3, 3, 1], np.int32)
    assert np.array_equal(whence.build(text)(x, at), x[at])


def test_products_of_bytes_are_raised() -> None:
    text = """
    tir.prim_func @f(%a: !tir.buffer<16x32xi8>, %b: !tir.buffer<24x32xi8>, %c: !tir.buffer<16x24xi32>) outputs 1 {
      tir.for %i in 16 { tir.for %j in 24 {
        %s = arith.constant 0 : i32
        tir.store %s, %c[%i, %j] : i32, !tir.buffer<16x24xi32>
        tir.for %k in 32 {
          %0 = tir.load %c[%i, %j] : !tir.buffer<16x24xi32> -> i32
          %1 = tir.load %a[%i, %k] : !tir.buffer<16x32xi8> -> i8
          %2 = tir.load %b[%j, %k] : !tir.buffer<24x32xi8> -> i8
          %3 = arith.extsi %1 : i8 to i32
          %4 = arith.extsi %2 : i8 to i32
          %5 = arith.muli %3, %4 : i32
          %6 = arith.addi %0, %5 : i32
          tir.store %6, %c[%i, %j] : i32, !tir.buffer<16x24xi32>
        }
      } }
    }"""
    a, b = (np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8) for shape in ((16, 32), (24, 32)))
    assert np.array_equal(whence.build(text)(a, b), a.astype(np.int32) @ b.T.astype(np.int32))
    assert '"dense"' in str(scheduled(parsed_prim_func(text)).attributes["raised"])


VIEWS = {
    "flat": """
    flat = T.decl_buffer((384,), "float32", data=a.data)
    for i, j in T.grid(16, 32):
        c[i, j] = T.float32(0)
        for k in range(24):
            c[i, j] = c[i, j] + flat[i * 24 + k] * b[k, j]
""",
    "row of a block": """
    for i, j, k in T.grid(16, 32, 24):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            row = T.match_buffer(a[vi, 0:24], (24,), offset_factor=1)
            with T.init():
                c[vi, vj] = T.float32(0)
            c[vi, vj] = c[vi, vj] + row[vk] * b[vk, vj]
""",
    "written": """
    for i, j, k in T.grid(16, 32, 24):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            row = T.match_buffer(c[vi, 0:32], (32,), offset_factor=1)
            with T.init():
                row[vj] = T.float32(0)
            row[vj] = row[vj] + a[vi, vk] * b[vk, vj]
""",
}


@pytest.mark.parametrize("name", VIEWS)
def test_elements_of_views_are_those_of_their_buffer(name: str) -> None:
    types = 'a: T.Buffer((16, 24), "float32"), b: T.Buffer((24, 32), "float32"), c: T.Buffer((16, 32), "float32")'
    func = from_source(f"@T.prim_func\ndef f({types}):{VIEWS[name]}").op
    text = str(func)
    assert "tir.decl_buffer" in text
    assert '"dense"' in str(scheduled(func).attributes["raised"])
    assert str(func) == text
    assert not any(isinstance(op.location, UnknownLoc) for op in raised(func).walk())
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32) for shape in ((16, 24), (24, 32)))
    assert np.array_equal(whence.build(func)(a, b), a @ b)


def test_a_view_of_a_part_that_is_written_stays_loops() -> None:
    func = from_source(
        """
@T.prim_func
def f(a: T.Buffer((16, 24), "float32"), c: T.Buffer((16, 24), "float32")):
    for i, j in T.grid(16, 24):
        c[i, j] = a[i, j]
    for i in range(8):
        with T.block("part"):
            vi = T.axis.spatial(8, i)
            row = T.match_buffer(c[vi + 8, 0:24], (24,), offset_factor=1)
            row[0] = row[1]
"""
    ).op
    with pytest.raises(NotRaised):
        raised(func)
    a = np.random.default_rng(0).random((16, 24), np.float32)
    wanted = a.copy()
    wanted[8:, 0] = a[8:, 1]
    assert np.array_equal(whence.build(func)(a), wanted)
