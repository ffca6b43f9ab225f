"""The nests that primitives make of small programs, up to names: those of TVM 0.27, where it is right."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from block_kernels import check_values, scheduled
from xdsl.ir import Operation, SSAValue

from whence.dialects.affine import spell
from whence.dialects.tir import BlockOp, ForOp
from whence.te.blocks.bindings import Place
from whence.te.blocks.schedule import BlockSchedule

LOOPS = "abcdefgh"


def nests(schedule: BlockSchedule) -> str:
    """Each statement on a line: `8 4 6 C[a, b, c: SSR]`, the loops named by their depth; marks behind extents."""
    func = next(iter(schedule.module.ops))
    return "\n".join(_text(op, []) for op in func.regions[0].block.ops if isinstance(op, ForOp | BlockOp))


def _text(op: Operation, around: Sequence[SSAValue]) -> str:
    """A loop or block below loops of these variables."""
    if isinstance(op, BlockOp):
        kinds = "".join(kind.data[0].upper() for kind in op.kinds)
        guards = [expr for guard in op.guards for expr in guard.results]
        place = Place((*op.map.data.results, *guards), tuple(op.indices)).simplified()
        names = [LOOPS[list(around).index(value)] for value in place.values]
        exprs = [spell(expr, names) for expr in place.exprs]
        where = f" where {', '.join(exprs[len(kinds) :])}" if guards else ""
        extents = "x".join(map(str, op.domain))
        return f"{op.label.data}[{', '.join(exprs[: len(kinds)])}: {kinds} {extents}{where}]"
    assert isinstance(op, ForOp)
    marks = {"parallel": "p", "vectorized": "v", "unrolled": "u"}
    head = f"{op.trip_count}{marks.get(op.kind.data, '')}"
    parts = [_text(inner, [*around, op.var]) for inner in op.block.ops if isinstance(inner, ForOp | BlockOp)]
    return f"{head} {parts[0]}" if len(parts) == 1 else f"{head} {{{'; '.join(parts)}}}"


C = "C[a, b, c: SSR 8x4x6]"
E = "8 4 E[a, b: SS 8x4]"


def marks(s: BlockSchedule) -> None:
    """Mark loops in all ways."""
    s.parallel(s.get_loops("C")[0])
    s.vectorize(s.get_loops("E")[1])
    s.unroll(s.get_loops("C")[2])


def split_at(s: BlockSchedule, factor: int) -> None:
    """Compute Y in parts of Z."""
    s.compute_at("Y", s.split(s.get_loops("Z")[0], [None, factor])[0])


def partial(s: BlockSchedule, inner: bool) -> None:
    """Sum S by one part of its loop first."""
    s.rfactor(s.split(s.get_loops("S")[1], [None, 8])[inner], 0 if inner else 1)


GOLDENS: list[tuple[str, str, Callable[[BlockSchedule], object], str]] = [
    ("split", "MM", lambda s: s.split(s.get_loops("C")[0], [None, 4]), f"2 4 4 6 C[a * 4 + b, c, d: SSR 8x4x6]\n{E}"),
    (
        "split unevenly",
        "MM",
        lambda s: s.split(s.get_loops("C")[0], [3, None]),
        f"3 3 4 6 C[a * 3 + b, c, d: SSR 8x4x6 where a * -3 + b * -1 + 7]\n{E}",
    ),
    (
        "split in three",
        "MM",
        lambda s: s.split(s.get_loops("C")[0], [2, 2, 2]),
        f"2 2 2 4 6 C[a * 4 + b * 2 + c, d, e: SSR 8x4x6]\n{E}",
    ),
    ("fuse", "MM", lambda s: s.fuse(*s.get_loops("C")[:2]), f"32 6 C[a floordiv 4, a mod 4, b: SSR 8x4x6]\n{E}"),
    (
        "fuse data and terms",
        "MM",
        lambda s: s.fuse(*s.get_loops("C")[1:]),
        f"8 24 C[a, b floordiv 6, b mod 6: SSR 8x4x6]\n{E}",
    ),
    ("reorder", "MM", lambda s: s.reorder(*s.get_loops("C")[::-2]), f"6 4 8 C[c, b, a: SSR 8x4x6]\n{E}"),
    ("add_unit_loop", "MM", lambda s: s.add_unit_loop("C"), f"8 4 6 1 {C}\n{E}"),
    ("marks", "MM", marks, f"8p 4 6u {C}\n8 4v E[a, b: SS 8x4]"),
    ("annotate", "MM", lambda s: s.annotate(s.get_loops("C")[0], "key", [1, 2]), f"8 4 6 {C}\n{E}"),
    ("cache_read", "MM", lambda s: s.cache_read("C", 0, "local"), f"8 6 A_local[a, b: SS 8x6]\n8 4 6 {C}\n{E}"),
    (
        "cache_read, compute_at",
        "MM",
        lambda s: s.compute_at(s.cache_read("C", 1, "local"), s.get_loops("C")[1]),
        f"8 4 {{6 B_local[c, b: SS 6x4]; 6 {C}}}\n{E}",
    ),
    ("cache_write", "MM", lambda s: s.cache_write("C", 0, "local"), f"8 4 6 {C}\n8 4 C_local[a, b: SS 8x4]\n{E}"),
    (
        "cache_write, reverse_compute_at",
        "MM",
        lambda s: s.reverse_compute_at(s.cache_write("C", 0, "local"), s.get_loops("C")[0]),
        f"8 {{4 6 {C}; 4 C_local[a, b: SS 8x4]}}\n{E}",
    ),
    (
        "reindex",
        "MM",
        lambda s: s.reindex("C", ("read", 1)),
        f"4 6 B_reindex_reindex[a, b: SS 4x6]\n8 4 6 {C}\n{E}",
    ),
    (
        "compute_at",
        "STENCIL",
        lambda s: s.compute_at("Y", s.get_loops("Z")[0]),
        "16 {3 Y[a + b: S 18]; Z[a: S 16]}",
    ),
    (
        "compute_at parts",
        "STENCIL",
        lambda s: split_at(s, 4),
        "4 {6 Y[a * 4 + b: S 18]; 4 Z[a * 4 + b: S 16]}",
    ),
    (
        "reverse_compute_at",
        "MM",
        lambda s: s.reverse_compute_at("E", s.split(s.get_loops("C")[0], [None, 4])[0]),
        "2 {4 4 6 C[a * 4 + b, c, d: SSR 8x4x6]; 4 4 E[a * 4 + b, c: SS 8x4]}",
    ),
    ("compute_inline", "EW", lambda s: s.compute_inline("Y"), "8 6 Z[a, b: SS 8x6]"),
    ("reverse_compute_inline", "EW", lambda s: s.reverse_compute_inline("Z"), "8 6 Y[a, b: SS 8x6]"),
    ("compute_inline of neighbours", "STENCIL", lambda s: s.compute_inline("Y"), "16 Z[a: S 16]"),
    (
        "decompose_reduction inside",
        "MM",
        lambda s: s.decompose_reduction("C", s.get_loops("C")[2]),
        f"8 4 {{C_init[a, b: SS 8x4]; 6 C_update[a, b, c: SSR 8x4x6]}}\n{E}",
    ),
    (
        "decompose_reduction outside",
        "MM",
        lambda s: s.decompose_reduction("C", s.get_loops("C")[0]),
        f"8 4 C_init[a, b: SS 8x4]\n8 4 6 C_update[a, b, c: SSR 8x4x6]\n{E}",
    ),
    (
        "rfactor of the inner part",
        "SUM",
        lambda s: partial(s, True),
        "4 3 8 S_rf[c, a, b: SSR 8x4x3]\n4 8 S[b, a: RS 8x4]",
    ),
    (
        "rfactor of the outer part",
        "SUM",
        lambda s: partial(s, False),
        "4 3 8 S_rf[b, a, c: SSR 3x4x8]\n4 3 S[b, a: RS 3x4]",
    ),
    (
        "transform_layout",
        "MM",
        lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (i // 4, j, i % 4)),
        f"8 4 6 {C}\n{E}",
    ),
    (
        "transform_block_layout",
        "EW",
        lambda s: s.transform_block_layout("Z", lambda i, j: (i * 6 + j,)),
        "8 6 Y[a, b: SS 8x6]\n48 Z[a: S 48]",
    ),
    (
        "pad_einsum",
        "MM",
        lambda s: s.pad_einsum("C", [3, 1, 4]),
        "9 8 A_pad[a, b: SS 9x8]\n8 4 B_pad[a, b: SS 8x4]\n9 4 8 C[a, b, c: SSR 9x4x8]\n8 4 C_pad[a, b: SS 8x4]\n" + E,
    ),
    (
        "decompose_padding",
        "PAD",
        lambda s: s.decompose_padding("pad", s.get_loops("pad")[0]),
        "16 pad_pad_const[a: S 16]\n12 pad[a: S 12]",
    ),
    ("set_scope", "MM", lambda s: s.set_scope("C", 0, "shared"), f"8 4 6 {C}\n{E}"),
    (
        "merge",
        "MM",
        lambda s: s.merge(s.get_loops("C")[0], s.get_loops("E")[0]),
        f"8 {{4 6 {C}; 4 E[a, b: SS 8x4]}}",
    ),
    ("unroll", "MM", lambda s: s.unroll(s.get_loops("E")[0]), f"8 4 6 {C}\n8u 4 E[a, b: SS 8x4]"),
]


@pytest.mark.parametrize(("name", "call", "text"), [row[1:] for row in GOLDENS], ids=[row[0] for row in GOLDENS])
def test_nests_up_to_names(name: str, call: Callable[[BlockSchedule], object], text: str):
    s = scheduled(name)
    call(s)
    assert nests(s) == text
    check_values(name, s)
