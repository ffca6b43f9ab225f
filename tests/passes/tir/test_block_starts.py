"""Starts of reductions before their loops, against tests in the innermost one."""

from __future__ import annotations

import numpy as np
import pytest
from random_blocks import sample
from xdsl.pattern_rewriter import PatternRewriter

from whence.dialects.tir import BlockOp
from whence.dialects.tir.block import InitOp
from whence.kernels import build_prim_func
from whence.passes.tir import lower_block
from whence.passes.tir.rewriting.starts import move_start


def test_random_orders_of_loops_keep_their_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[bool] = []

    def counted(init: InitOp, block: BlockOp, rewriter: PatternRewriter) -> bool:
        moved.append(move_start(init, block, rewriter))
        return moved[-1]

    def kept(init: InitOp, block: BlockOp, rewriter: PatternRewriter) -> bool:
        return False

    for seed in range(24):
        func, arrays = sample(seed, ("split", "reorder", "fuse", "vectorize"), 4)
        results: list[bytes] = []
        for start in (kept, counted):
            monkeypatch.setattr(lower_block, "move_start", start)
            results.append(np.asarray(build_prim_func(func.clone())(*arrays)).tobytes())
        assert results[0] == results[1], seed
    assert sum(moved) > 4
