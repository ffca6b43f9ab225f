"""Kernels of blocks whose buffers are compacted, against the same kernels without that."""

from __future__ import annotations

import numpy as np
from random_blocks import sample

from whence.dialects.tir import AllocOp, PrimFuncOp
from whence.kernels import build_prim_func
from whence.passes.tir import compact_buffers
from whence.support.context import PassContext

NAMES = ("compute_at", "compute_at", "reverse_compute_at", "split", "reorder", "parallel", "rfactor", "cache_read")


def sizes(func: PrimFuncOp) -> list[str]:
    return [str(op.result.type.get_shape()) for op in func.walk() if isinstance(op, AllocOp)]


def test_random_kernels_keep_their_bits() -> None:
    compacted = 0
    for seed in range(40):
        func, arrays = sample(seed, NAMES, 6)
        small = func.clone()
        compact_buffers.run(small)
        small.verify()
        if sizes(small) == sizes(func):
            continue
        compacted += 1
        with PassContext(disabled_pass=["tir-compact-buffers"]):
            wanted, found = (np.asarray(build_prim_func(each, threads=2)(*arrays)) for each in (func, small))
        assert wanted.tobytes() == found.tobytes(), seed
    assert compacted > 3
