"""Decision trees, compiled; also such as no model has, of which no number may lead out of its tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from operator_cases import Cases, Check, MakeNet
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from whence.compiler.compile import compile as compile_model
from whence.dialects.element_types import tensor_type
from whence.dialects.relay.couplings import CoupledProbabilitiesOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.trees import TreeEnsembleOp

NODES, WEIGHTS = 32, 24
RNG = np.random.default_rng(0)


def ints(low: int, high: int, *shape: int) -> Any:
    return RNG.integers(low, high, shape).astype(np.int32)


def nodes(dtype: str, groups: int, trees: int, spread: int = 1) -> list[Any]:
    """Random nodes; what they say of others is `spread` times too large."""
    data = RNG.standard_normal((37, 5)).astype(dtype)
    data[::4, 2] = np.nan
    return [
        data,
        ints(-NODES * (spread - 1), NODES * spread, groups, trees),
        ints(0, 6, groups),
        ints(-5 * spread, 5 * spread, NODES),
        RNG.standard_normal(NODES).astype(dtype),
        ints(-NODES * (spread - 1), NODES * spread, NODES, 2),
    ]


def leaves(dtype: str, spread: int = 1) -> list[Any]:
    begins = np.sort(ints(0, WEIGHTS + 1, NODES + 1))
    if spread > 1:
        begins = ints(-WEIGHTS, WEIGHTS * 2, NODES + 1)
    return [begins, ints(1 - spread, 3 * spread, WEIGHTS), RNG.standard_normal(WEIGHTS).astype(dtype)]


CASES = Cases()
for dtype in ("float32", "float64"):
    CASES.add(TreeEnsembleOp, *nodes(dtype, 3, 4), targets=1)
    CASES.add(TreeEnsembleOp, *nodes(dtype, 1, 1), targets=1, missing=True, aggregate="min")
    CASES.add(TreeEnsembleOp, *nodes(dtype, 2, 5), *leaves(dtype), targets=3, missing=True)
CASES.add(TreeEnsembleOp, *nodes("float32", 2, 8, 1 << 20), targets=1, aggregate="max")
CASES.add(TreeEnsembleOp, *nodes("float32", 2, 3, 9), *leaves("float32", 9), targets=3, aggregate="max", missing=True)
CASES.add(TreeEnsembleOp, *nodes("float32", 0, 3), targets=1, aggregate="sum")
for pairs in (1, 3, 10):
    CASES.add(CoupledProbabilitiesOp, RNG.uniform(0.05, 0.95, (9, pairs)).astype(np.float32))
CASES.add(CoupledProbabilitiesOp, RNG.uniform(0.05, 0.95, (4, 6)))
CASES.add(CoupledProbabilitiesOp, RNG.uniform(0.05, 0.95, (4, 3)).astype(np.float16))


@pytest.mark.parametrize("kind", CASES.kinds, ids=lambda kind: kind.name)
def test_operator(kind: type[Operator], make_net: MakeNet, check_model: Check):
    CASES.check(kind, make_net, check_model)


@pytest.mark.parametrize("targets", [1, 3])
def test_descents_end_at_leaves_however_deep_trees_are(make_net: MakeNet, targets: int):
    """Chains of 13 comparisons, said to be two thousand million deep: counting to that takes minutes."""
    inner = np.arange(NODES) < 13
    data, roots, _, _, values, _ = nodes("float32", 2, 4)
    children = np.where(inner[:, None], np.stack([np.arange(NODES) + 14, np.arange(NODES) + 1], 1), NODES - 1)
    children = np.where(inner[:, None], children, np.arange(NODES)[:, None]).astype(np.int32)
    features = (np.arange(NODES) % 5).astype(np.int32)
    values[inner] = -0.5
    weights: list[Any] = []
    if targets > 1:
        weights = [np.minimum(np.arange(NODES + 1), WEIGHTS).astype(np.int32), *leaves("float32")[1:]]
    found: list[Any] = []
    for depth in (13, 2**31 - 2):
        arrays = [np.zeros_like(roots), np.full(2, depth, np.int32), features, values, children, *weights]
        net = make_net(data)
        result = net.add_all(TreeEnsembleOp, *net.inputs, *arrays, targets=targets)
        found.append(compile_model(net.finish(*result), threads=1)(data))
    np.testing.assert_array_equal(found[1], found[0])
    assert len(np.unique(found[0])) > 4


@pytest.mark.parametrize(
    ("at", "array", "text"),
    [
        (0, np.zeros((3, 0), np.float32), "rows of at least one number"),
        (0, np.zeros((3, 2), np.int32), "rows of float32 or float64"),
        (2, ints(0, 1, 4), "depths of type tensor<3xi32>"),
        (3, ints(0, 1, 31), "a power of two as number of nodes, got 31"),
        (4, np.zeros(NODES), "values of type tensor<32xf32>"),
        (5, ints(0, 1, NODES, 3), "children of type tensor<32x2xi32>"),
        (6, ints(0, 1, NODES), "begins of type tensor<33xi32>"),
        (7, ints(0, 1, 0), "at least one weight"),
    ],
)
def test_what_does_not_fit(at: int, array: Any, text: str):
    arrays = [*nodes("float32", 3, 4), *leaves("float32")]
    arrays[at] = array
    with pytest.raises(VerifyException, match=text):
        TreeEnsembleOp(*(create_ssa_value(tensor_type(x)) for x in arrays), targets=3)


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"targets": 2}, "leaves, got 2 targets without"),
        ({"targets": 1, "aggregate": "mean"}, "an aggregate among sum, min, max, got 'mean'"),
    ],
)
def test_attributes_that_do_not_fit(attributes: dict[str, Any], text: str):
    with pytest.raises(VerifyException, match=text):
        TreeEnsembleOp(*(create_ssa_value(tensor_type(x)) for x in nodes("float32", 3, 4)), **attributes)
