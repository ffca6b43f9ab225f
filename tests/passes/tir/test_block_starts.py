"""Starts of reductions before their loops, against tests in the innermost one."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_blocks import PRIMITIVES, Maker
from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from whence.dialects.sizes.kernel import known
from whence.dialects.tir import BlockOp, buffer_of, prim_funcs
from whence.dialects.tir.block import InitOp
from whence.kernels import build_prim_func
from whence.kernels.building import parsed_prim_func
from whence.passes.tir import lower_block
from whence.passes.tir.rewriting.starts import move_start
from whence.support.errors import WhenceError
from whence.te.blocks.schedule import BlockSchedule

KERNELS = 24


def test_random_orders_of_loops_keep_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[bool] = []

    def counted(init: InitOp, block: BlockOp, rewriter: PatternRewriter) -> bool:
        moved.append(move_start(init, block, rewriter))
        return moved[-1]

    def kept(init: InitOp, block: BlockOp, rewriter: PatternRewriter) -> bool:
        return False

    for seed in range(KERNELS):
        random, draw = Random(seed), np.random.default_rng(seed)
        schedule = BlockSchedule(ModuleOp([parsed_prim_func(Maker(random).text()).clone()]))
        for _ in range(4):
            try:
                PRIMITIVES[random.choice(("split", "reorder", "fuse", "vectorize"))](schedule, random)
            except WhenceError:
                continue
        (func,) = prim_funcs(schedule.module)
        shapes = [[known(extent) for extent in buffer_of(argument).get_shape()] for argument in func.block.args[:-1]]
        arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
        results: list[bytes] = []
        for start in (kept, counted):
            monkeypatch.setattr(lower_block, "move_start", start)
            results.append(np.asarray(build_prim_func(func.clone())(*arrays)).tobytes())
        assert results[0] == results[1], seed
    assert sum(moved) > 4
