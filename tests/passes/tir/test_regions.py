"""Regions of blocks, against enumeration, as TVMScript prints them, and where somebody declared others."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from xdsl.ir.affine import AffineExpr

import whence
from whence.dialects.tir import BlockOp
from whence.passes.tir.analysis.accesses import Nest
from whence.passes.tir.analysis.regions import Region, holds, regions_of, spelled
from whence.support.errors import ScheduleError, TextError

HEAD = "@T.prim_func\ndef f(A: T.Buffer((64, 64), 'float32'), B: T.Buffer((64, 64), 'float32')):\n"


def block_of(text: str, name: str = "B") -> BlockOp:
    func = whence.script.from_source(HEAD + text)
    return next(op for op in func.op.walk() if isinstance(op, BlockOp) and op.label.data == name)


def texts(regions: list[Region]) -> list[str]:
    return [
        spelled(one, [value.name_hint or "" for value in one.variables], one.buffer.name_hint or "") for one in regions
    ]


def value(expr: AffineExpr, point: list[int]) -> int:
    return expr.eval(point, [])


def index(rng: random.Random, inner: str) -> str:
    """An index, from 0 to 63, of the block's variables u, v and mostly of one loop in it."""
    plain = [
        f"u * {{a}} + {inner} * {{b}} + {{c}}",
        f"v + {inner}",
        "u + {c}",
        f"{inner} + {{c}}",
        f"{inner} * {{b}} + v",
    ]
    form = rng.choice([*plain, *plain, "j + k", f"(u + {inner}) // 2"])
    return form.format(a=rng.choice([1, 2, 4]), b=rng.choice([1, 1, 2]), c=rng.randrange(4))


def test_regions_are_what_enumeration_gives() -> None:
    """Exact ones are the elements that are touched for each value of the variables; hulls hold them."""
    rng = random.Random(3)
    kinds = {True: 0, False: 0}
    for _ in range(120):
        reads = [(index(rng, "j"), index(rng, "k")) for _ in range(rng.choice([1, 1, 2, 3]))]
        ends = {"u": rng.choice([1, 3]), "v": 4, "j": rng.choice([1, 4, 5]), "k": rng.choice([2, 3])}
        guard = rng.choice(["", "", f"if j < {rng.randrange(1, 5)}:"])
        total = " + ".join(f"A[{a}, {b}]" for a, b in reads)
        lines = [f"for x, y in T.grid({ends['u']}, {ends['v']}):", "    with T.block('B'):"]
        lines += ["        u, v = T.axis.remap('SS', [x, y])"]
        lines += [f"        for j, k in T.grid({ends['j']}, {ends['k']}):"]
        store = f"B[u, v] = {total}"
        lines += [f"            {guard}", f"                {store}"] if guard else [f"            {store}"]
        (region,), (written,) = regions_of(block_of("\n".join("    " + line for line in lines)))
        assert texts([written]) == ["B[u, v]"] or ends["u"] == 1
        kinds[region.exact] += 1
        for u, v in product(range(ends["u"]), range(ends["v"])):
            names = {"u": u, "v": v}
            point = [names[variable.name_hint or ""] for variable in region.variables]
            sides = [
                range(first := value(begin, point), first + int(str(extent)))
                for begin, extent in zip(region.begins, region.extents, strict=True)
            ]
            touched = {
                tuple(eval(each, {}, {**names, "j": j, "k": k}) for each in pair)
                for j, k in product(range(ends["j"]), range(ends["k"]))
                if not guard or eval(guard[3:-1], {}, {"j": j})
                for pair in reads
            }
            box = set(product(*sides))
            assert touched <= box, (total, guard, texts([region]))
            if region.exact:
                assert touched == box, (total, guard, texts([region]))
    assert min(kinds.values()) > 15, kinds


BESIDE = """
    for x in range(4):
        with T.block('B'):
            v = T.axis.spatial(4, x)
            B[v, 0] = A[v, 0] + A[v + STEP, 0]
"""


@pytest.mark.parametrize(("step", "exact"), [(1, True), (2, False)])
def test_a_gap_of_one_element_is_no_part_of_a_region(step: int, exact: bool) -> None:
    (region,), _ = regions_of(block_of(BESIDE.replace("STEP", str(step))))
    assert (region.exact, region.extents[0]) == (exact, step + 1)


def test_a_region_holds_no_element_before_its_first() -> None:
    block = block_of(BESIDE.replace("STEP", "1"))
    (two,), (one,) = regions_of(block)
    nest = Nest(*block.block.ops, within=block)
    later = replace(one, begins=tuple(expr + 1 for expr in one.begins[:1]) + one.begins[1:])
    assert [holds(*pair, nest) for pair in ((two, one), (two, later), (one, two), (later, one))] == [
        True,
        True,
        False,
        False,
    ]


NESTED = """
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            row = T.alloc_buffer((4, 64), "float32")
            for a, j in T.grid(4, 64):
                with T.block("inner"):
                    va, vj = T.axis.remap("SS", [a, j])
                    row[va, vj] = A[vi * 4 + va, vj]
            for a, j, k in T.grid(4, 64, 4):
                with T.block("sum"):
                    va, vj, vk = T.axis.remap("SSR", [a, j, k])
                    with T.init():
                        B[vi * 4 + va, vj] = T.float32(0)
                    B[vi * 4 + va, vj] = B[vi * 4 + va, vj] + row[vk, vj]
"""


def test_regions_of_blocks_in_blocks_are_printed() -> None:
    func = whence.script.from_source(HEAD + NESTED)
    lines = [line.strip() for line in func.script().splitlines()]
    found = [line for line in lines if line.startswith(("T.reads", "T.writes"))]
    assert found == [
        "T.reads(A[vi * 4:vi * 4 + 4, 0:64], B[vi * 4:vi * 4 + 4, 0:64])",
        "T.writes(B[vi * 4:vi * 4 + 4, 0:64])",
        "T.reads(A[vi * 4 + va, vj])",
        "T.writes(row[va, vj])",
        "T.reads(row[vk, vj_1])",
        "T.writes(B[vi * 4 + va_1, vj_1])",
    ]
    again = whence.script.from_source(func.script())
    assert again.script() == func.script()
    guarded = NESTED.replace("row[va, vj] = A", "if vj < 60:\n                        row[va, vj] = A")
    assert "T.reads(A[vi * 4 + va, vj])  # at most, of A" in whence.script.from_source(HEAD + guarded).script()


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("T.reads(A[vi, vj])", r"f\.py:4:9: block 'B': expected T\.reads of A\[vi, vj:vj \+ 2\], .* got A\[vi, vj\]"),
        ("T.reads(A[vj, vi:vi + 2])", r"expected T\.reads of A\[vi, vj:vj \+ 2\], .* got A\[vj, vi:vi \+ 2\]"),
        ("T.reads()", r"expected T\.reads of A\[vi, vj:vj \+ 2\], as its statements do, got none of it"),
        ("T.writes(A[vi, vj])", r"expected T\.writes of B\[vi, vj\], as its statements do, got none of it"),
        ("T.writes(B[vi, 1:60])", r"expected T\.writes of B\[vi, vj\], as its statements do, got B\[vi, 1:60\]"),
    ],
)
def test_declared_regions_that_statements_leave_are_refused(declared: str, text: str) -> None:
    source = HEAD + (
        "    for i, j in T.grid(64, 60):\n        with T.block('B'):\n            vi, vj = T.axis.remap('SS', [i, j])\n"
        f"            {declared}\n            B[vi, vj] = A[vi, vj] + A[vi, vj + 1]\n"
    )
    with pytest.raises(ScheduleError, match=text):
        _ = whence.script.from_source(source, file="f.py").op


@pytest.mark.parametrize(
    "declared", ["T.reads(A[vi, 0:64])", "T.reads(A[vi, vj], A[vi, vj + 1])", "T.writes(B[0:64, vj])"]
)
def test_declared_regions_may_be_wider(declared: str) -> None:
    source = HEAD + (
        "    for i, j in T.grid(64, 60):\n        with T.block('B'):\n            vi, vj = T.axis.remap('SS', [i, j])\n"
        f"            {declared}\n            B[vi, vj] = A[vi, vj] + A[vi, vj + 1]\n"
    )
    func = whence.script.from_source(source)
    func.op.verify()
    assert declared in func.script()


def test_a_buffer_of_a_block_in_a_parallel_loop_is_each_iterations_own() -> None:
    func = whence.script.from_source(HEAD + NESTED.replace("range(16)", "T.parallel(16)"))
    assert "row = T.sblock_alloc_buffer((4, 64), 'float32')" in func.script()
    assert "!tir.buffer<4x64xf32, local>" in str(func.op)
    with pytest.raises(TextError, match="expected a word of T"):
        whence.script.from_source(HEAD + NESTED.replace("range(16)", "T.paralel(16)"))
