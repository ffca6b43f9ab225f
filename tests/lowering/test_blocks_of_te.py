"""Stages of te as blocks: what they print, that they run as loops do, and that primitives apply."""

# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from te_functions import te_functions

import whence
from whence import te
from whence.dialects.tir import BlockOp
from whence.kernels import build_prim_func
from whence.kernels.building import scheduled
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.support.errors import ScheduleError
from whence.te.schedule.schedule import Schedule

RNG = np.random.default_rng(5)


def matmul(m: Any = 8, n: int = 5, k: int = 16) -> list[te.Tensor]:
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    axis = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, axis] * B[axis, j], axis=axis), name="C")
    return [A, B, te.compute((m, n), lambda i, j: te.max(C[i, j], 0.0), name="D")]


TEXT = """\
def main(A: T.Buffer((8, 16), 'float32'), B: T.Buffer((16, 5), 'float32'), D: T.Buffer((8, 5), 'float32')):
    T.func_attr({'global_symbol': 'main', 'tir.noalias': T.bool(True), 'num_outputs': 1})
    C = T.sblock_alloc_buffer((8, 5), 'float32')
    for i, j, k in T.grid(8, 5, 16):
        with T.sblock('C'):
            v_i, v_j, v_k = T.axis.remap('SSR', [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C[v_i, v_j])
            with T.init():
                C[v_i, v_j] = T.float32(0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
    for i_1, j_1 in T.grid(8, 5):
        with T.sblock('D'):
            v_i_1, v_j_1 = T.axis.remap('SS', [i_1, j_1])
            T.reads(C[v_i_1, v_j_1])
            T.writes(D[v_i_1, v_j_1])
            D[v_i_1, v_j_1] = T.call_llvm_pure_intrin('float32', 'llvm.maximum', C[v_i_1, v_j_1], T.float32(0))"""


def test_tensors_are_blocks() -> None:
    func = whence.create_prim_func(matmul(), blocks=True)
    assert func.script().partition("\n")[2].partition("\n")[2] == TEXT
    names = {op.label.data: str(op.location) for op in func.op.walk() if isinstance(op, BlockOp)}
    assert set(names) == {"C", "D"}
    assert all(f'"{name}"' in location for name, location in names.items())


def test_primitives_apply_and_strategies_know_the_blocks() -> None:
    func = whence.create_prim_func(matmul(64, 64, 64), blocks=True)
    assert "dense" in str(scheduled(func.op).attributes["raised"])
    s = whence.tir.Schedule(func)
    block = s.get_block("C")
    _, _, k = s.get_loops(block)
    outer, _ = s.split(k, [None, 4])
    s.rfactor(outer, 0)
    a, b = (RNG.integers(-4, 4, (64, 64)).astype("float32") for _ in "ab")
    np.testing.assert_array_equal(whence.build(s.mod)(a, b), np.maximum(a @ b, 0))


@pytest.mark.parametrize("rows", [3, 8])
def test_open_sizes_and_trivial_loops(rows: int) -> None:
    a, b = (RNG.integers(-4, 4, shape).astype("float32") for shape in ((rows, 16), (16, 1)))
    func = build_prim_func(whence.create_prim_func(matmul(te.var("m"), 1), blocks=True).op)
    np.testing.assert_array_equal(func(a, b), np.maximum(a @ b, 0))


def test_stages_with_a_schedule_are_refused() -> None:
    tensors = matmul()
    s = te.create_schedule(tensors[-1].op)
    s[tensors[-1]].split(tensors[-1].op.axis[0], factor=2)
    with pytest.raises(ScheduleError, match="expected a stage whose loops are the axes of its tensor"):
        lower_schedule(s.snapshot(), blocks=True)


def test_operators_as_blocks_have_the_bits_of_their_loops() -> None:
    """Functions of a part of the ONNX standard's node tests; `benchmarks/blocks.py` runs all."""
    count = 0
    for name, func in te_functions(step=80):
        loops, blocks = (lower_schedule(Schedule(func.clone()), blocks=blocks) for blocks in (False, True))
        blocks.verify()
        plain, made = build_prim_func(loops), build_prim_func(blocks)
        if plain.sizes:
            continue
        inputs = [
            RNG.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
            if dtype.kind in "iub"
            else RNG.standard_normal(shape).astype(dtype)
            for _, shape, dtype in plain.arguments[: plain.inputs]
        ]
        wanted, found = plain(*inputs), made(*inputs)
        for one, other in zip(_all(wanted), _all(found), strict=True):
            assert one.tobytes() == other.tobytes(), name
        count += 1
    assert count > 12


def _all(results: Any) -> list[Any]:
    values = cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)
    return [np.asarray(one) for one in values]
