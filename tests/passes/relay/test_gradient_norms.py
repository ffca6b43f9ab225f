"""Gradients of norms, and of what counts elements several times, agree with differences of values."""

from __future__ import annotations

from typing import Any

import pytest
from gradient_checks import Make, case, check, distinct, floats, module_of, positive

from whence.dialects.relay import cumulative, indexing, norms, rearrange
from whence.dialects.relay import normalization as n
from whence.dialects.relay import reduce as r
from whence.dialects.relay.nn import BatchNormOp

IMAGE = (2, 4, 2, 3)
CASES = [
    case("batch_norm", BatchNormOp, floats(*IMAGE), *(positive(4) for _ in range(4))),
    case(
        "batch_norm bare",
        BatchNormOp,
        dict(axis=-1, scale=False, center=False),
        floats(2, 3),
        *(positive(3) for _ in range(4)),
    ),
    case("layer_norm", n.LayerNormOp, floats(2, 4), positive(4), floats(4)),
    case("layer_norm axis", n.LayerNormOp, dict(axis=1, scale=False), floats(2, 4, 3), positive(4), floats(4)),
    case("instance_norm", norms.InstanceNormOp, floats(*IMAGE), positive(4), floats(4)),
    case("group_norm", norms.GroupNormOp, dict(num_groups=2), floats(*IMAGE), positive(4), floats(4)),
    case("group_norm last", norms.GroupNormOp, dict(num_groups=2, axis=3), floats(1, 2, 2, 4), positive(4), floats(4)),
    case("rms_norm", norms.RMSNormOp, floats(2, 4), positive(4)),
    case("l2_normalize", norms.L2NormalizeOp, dict(axis=[1]), floats(*IMAGE)),
    case("l2_normalize short", norms.L2NormalizeOp, dict(axis=[1], eps=2.0), floats(2, 3)),
    case("lrn", n.LRNOp, dict(size=3, alpha=0.5), floats(1, 4, 2)),
    case("lrn even", n.LRNOp, dict(size=2, alpha=0.5, axis=2, beta=0.5), floats(1, 2, 5)),
    case("variance", r.VarianceOp, dict(axis=[1]), floats(2, 4), floats(2, 1)),
    case("variance unbiased", r.VarianceOp, dict(axis=[0], unbiased=True, keepdims=True), floats(4, 3), floats(1, 3)),
    case("tile", rearrange.TileOp, dict(reps=[2, 1, 3]), floats(2, 3)),
    case("tile in short", rearrange.TileOp, dict(reps=[2]), floats(2, 3)),
    case("repeat", rearrange.RepeatOp, dict(repeats=3, axis=1), floats(2, 3)),
    case("cumsum", cumulative.CumsumOp, dict(axis=1), floats(2, 4)),
    case("cumsum of all", cumulative.CumsumOp, dict(exclusive=True, reverse=True), floats(2, 3)),
    case("gather_nd", indexing.GatherNdOp, distinct(3, 4, 2), (floats(2, 5) > 0).astype("int32")),
]


@pytest.mark.parametrize(("make", "arrays"), CASES)
def test_operators(make: Make, arrays: list[Any]) -> None:
    check(module_of(make, arrays), arrays)
