"""Numeric operators of ai.onnx.ml as compiled programs for any number of rows, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
import random_trees
from onnx import TensorProto, helper
from reference_runtime import onnxruntime_outputs

import whence
from whence.support.errors import FrontendError

RNG = np.random.default_rng(0)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def compiled(model: onnx.ModelProto, **options: Any) -> Any:
    return whence.compile(model, **options)


def floats(*shape: int) -> list[float]:
    return [float(x) for x in RNG.standard_normal(shape).astype(np.float32).reshape(-1)]


def rows(dtype: str = "float32", width: int = 4) -> Any:
    if dtype.startswith("int"):
        return RNG.integers(-3, 4, (7, width)).astype(dtype)
    return RNG.standard_normal((7, width)).astype(dtype)


def model(op: str, inputs: Sequence[Any], outputs: int = 1, version: int = 3, **attributes: Any) -> onnx.ModelProto:
    names = [f"x{at}" for at in range(len(inputs))]
    results = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, names, results, "layer", domain="ai.onnx.ml", **attributes)
    given = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), ["N" if len(x) > 1 else 1, *x.shape[1:]]
        )
        for name, x in zip(names, inputs, strict=True)
    ]
    made = [onnx.ValueInfoProto(name=name) for name in results]
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(helper.make_graph([node], "ml", given, made), opset_imports=opsets, ir_version=9)


def check(
    op: str, *inputs: Any, outputs: int = 1, rtol: float = 2e-5, atol: float = 2e-6, version: int = 3, **attributes: Any
) -> None:
    """Whole, and of the first rows only, by one program."""
    proto = model(op, inputs, outputs, version, **attributes)
    executable = compiled(proto, tier="symbolic")
    for count in (len(inputs[0]), 2):
        given = [x[:count] if len(x) > 1 else x for x in inputs]
        found = executable(*given)
        expected = onnxruntime_outputs(proto, {f"x{at}": x for at, x in enumerate(given)}, quiet=True)
        for mine, theirs in zip(found if outputs > 1 else (found,), expected, strict=True):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.filterwarnings("ignore")
def test_trees(seed: int):
    random_trees.check(seed)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_models(transform: str):
    x = rows()
    check("LinearRegressor", x, coefficients=floats(4), intercepts=[0.1], post_transform=transform)
    check("LinearRegressor", x, coefficients=floats(3, 4), targets=3, post_transform="NONE")
    weights: dict[str, Any] = {"coefficients": floats(3, 4), "intercepts": floats(3), "classlabels_ints": [5, 3, 9]}
    if transform != "PROBIT":
        check("LinearClassifier", x, outputs=2, **weights, post_transform=transform)
        check("LinearRegressor", x, **{k: weights[k] for k in ("coefficients", "intercepts")}, targets=3)
        two: dict[str, Any] = {"coefficients": floats(4), "intercepts": [0.1], "classlabels_ints": [5, 3]}
        check("LinearClassifier", x, outputs=2, **two, post_transform=transform)
        check("LinearClassifier", rows("int64"), outputs=2, **two, post_transform=transform)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_machines(kind: str):
    x = rows()
    vectors: dict[str, Any] = {"kernel_type": kind, "kernel_params": [0.4, 0.3, 3.0], "support_vectors": floats(6, 4)}
    for one in (0, 1):
        line: dict[str, Any] = {"coefficients": floats(6), "rho": [0.2], "n_supports": 6, "one_class": one}
        check("SVMRegressor", x, **vectors, **line, rtol=1e-4, atol=1e-5)
    three: dict[str, Any] = {"coefficients": floats(2, 6), "rho": floats(3), "vectors_per_class": [1, 3, 2]}
    two: dict[str, Any] = {"coefficients": floats(1, 6), "rho": floats(1), "vectors_per_class": [4, 2]}
    for labels, weights, pairs in (([7, 5, 6], three, 3), ([7, 5], two, 1)):
        found: dict[str, Any] = {**vectors, **weights, "classlabels_ints": labels}
        # What becomes of scores has nothing to do with the kernel.
        for transform in TRANSFORMS[: 4 if kind == "LINEAR" else 1]:
            check("SVMClassifier", x, outputs=2, **found, post_transform=transform, rtol=2e-4, atol=1e-5)
        likely: dict[str, Any] = {"prob_a": [-1.5] * pairs, "prob_b": floats(pairs)}
        check("SVMClassifier", x, outputs=2, **found, **likely, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("positive", [False, True])
def test_support_vector_machines_without_vectors(classes: int, positive: bool):
    weights = np.asarray(floats(classes, 4), np.float32)
    coefficients = [float(x) for x in (np.abs(weights) if positive else weights).reshape(-1)]
    labels = [4, 2, 8][:classes]
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        found: dict[str, Any] = {
            "coefficients": coefficients,
            "rho": [0.1],
            "classlabels_ints": labels,
            "post_transform": transform,
        }
        found["kernel_params"] = [0.0] * 3
        check("SVMClassifier", rows(), outputs=2, **found, rtol=1e-4)
    check("SVMRegressor", rows(), coefficients=floats(4), rho=[0.3], kernel_params=[0.0] * 3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_features(dtype: str):
    x = rows(dtype)
    x[0] = 0
    check("Scaler", x, offset=floats(4), scale=floats(4))
    check("Scaler", x, offset=[0.5], scale=[2.0])
    for norm in ("MAX", "L1", "L2"):
        check("Normalizer", x, norm=norm, atol=1e-5)
    if dtype != "int32":
        check("OneHotEncoder", x.astype(np.int64).astype(dtype), cats_int64s=[-1, 0, 2])
    if dtype.startswith("float"):
        check("Binarizer", rows("float32"), threshold=0.3)
        check("FeatureVectorizer", x, rows(dtype, 2), rows(dtype, 3), inputdimensions=[4, 2, 3])
    check("ArrayFeatureExtractor", x, np.array([[2, 0, 0]], np.int64))
    check("ArrayFeatureExtractor", x[:1], np.array([[2], [0], [3], [0]], np.int64))


def test_imputers():
    x = rows()
    x[::2, 1] = np.nan
    x[1::2, 3] = -1
    check("Imputer", x, imputed_value_floats=floats(4), replaced_value_float=float("nan"))
    check("Imputer", x, imputed_value_floats=[9.0], replaced_value_float=-1.0)
    check("Imputer", rows("int64"), imputed_value_int64s=[9, 8, 7, 6], replaced_value_int64=-1)


def test_encoders_of_numbers():
    x = rows("int64")
    check(
        "LabelEncoder", x, version=2, keys_int64s=[3, -1, 0, 3], values_floats=[0.5, 1.5, 2.5, 9.0], default_float=7.0
    )
    check("LabelEncoder", x, version=2, keys_int64s=[3, -1, 0], values_int64s=[5, 6, 7])
    y = rows("int32").astype(np.float32)
    y[2, 1] = np.nan
    keys = [1.0, float("nan"), 0.0, -2.0]
    check("LabelEncoder", y, version=4, keys_floats=keys, values_int64s=[5, 6, 7, 8], default_int64=-5)
    check("LabelEncoder", y, version=4, keys_floats=keys, values_floats=[5.0, 6.0, 7.0, 8.0])
    tensors: dict[str, Any] = {
        "keys_tensor": helper.make_tensor("k", TensorProto.DOUBLE, [2], [1.0, -1.0]),
        "values_tensor": helper.make_tensor("v", TensorProto.DOUBLE, [2], [0.25, 0.5]),
        "default_tensor": helper.make_tensor("d", TensorProto.DOUBLE, [1], [3.0]),
    }
    check("LabelEncoder", y.astype(np.float64), version=4, **tensors)


def tree(**changes: Any) -> onnx.ModelProto:
    """One comparison and two leaves, with other attributes; None leaves one out."""
    attributes: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [1, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
        "n_targets": 1,
        **changes,
    }
    plain = {name: value for name, value in attributes.items() if value is not None}
    return model("TreeEnsembleRegressor", [np.zeros((3, 4), np.float32)], **plain)


@pytest.mark.parametrize("aggregate", ["SUM", "MAX"])
@pytest.mark.parametrize("base", [[], [0.5, 0.25]])
def test_targets_of_which_a_row_meets_no_weight_are_zero(aggregate: str, base: list[float]):
    apart = tree(n_targets=2, target_ids=[0, 1], target_weights=[-1.0, -2.0], aggregate_function=aggregate)
    if base:
        apart.graph.node[0].attribute.append(helper.make_attribute("base_values", base))
    x = np.array([[0, 0, 0, 0], [0, 1, 0, 0]], np.float32)
    expected = onnxruntime_outputs(apart, {"x0": x}, quiet=True)[0]
    np.testing.assert_array_equal(compiled(apart)(x), expected)
    assert expected[0, 1] == expected[1, 0] == 0


BAD_TREES = {
    "cycle": ({"nodes_modes": ["BRANCH_LEQ", "BRANCH_LT", "LEAF"], "nodes_truenodeids": [1, 0, 0]}, "a cycle"),
    "itself": ({"nodes_truenodeids": [0, 0, 0]}, "a cycle"),
    "no node": ({"nodes_truenodeids": [7, 0, 0]}, "a true node that exists, got node 7 of tree 0"),
    "negative": ({"nodes_falsenodeids": [-1, 0, 0]}, "a false node that exists, got node -1 of tree 0"),
    "other tree": ({"nodes_treeids": [0, 1, 0], "target_treeids": [1, 0]}, "got node 1 of tree 0"),
    "twice": ({"nodes_nodeids": [0, 1, 1]}, "node 1 of tree 0 twice"),
    "feature": ({"nodes_featureids": [4, 0, 0]}, "rows of at least 5 features, as nodes_featureids says, got 4"),
    "huge feature": ({"nodes_featureids": [2**40, 0, 0]}, "features"),
    "negative feature": ({"nodes_featureids": [-1, 0, 0]}, "features of at least 0, got -1"),
    "short": ({"nodes_values": [0.5]}, "nodes_values of 3 elements, as nodes_treeids, got 1"),
    "missing": ({"nodes_truenodeids": None}, "nodes_truenodeids of 3 elements, as nodes_treeids, got 0"),
    "no nodes": ({f"nodes_{n}": None for n in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                  "falsenodeids")}, "at least one node, got none"),
    "mode": ({"nodes_modes": ["BRANCH_NEAR", "LEAF", "LEAF"]}, "modes among BRANCH_LEQ, .*got 'BRANCH_NEAR'"),
    "leaf": ({"target_nodeids": [1, 9]}, "a leaf that exists, got node 9 of tree 0"),
    "target": ({"target_ids": [0, 1]}, r"targets in \[0, 1\), got 0 to 1"),
    "targets": ({"n_targets": 0}, "at least one target, got 0"),
    "weights": ({"target_ids": [0]}, "target_ids of 2 elements, as target_weights, got 1"),
    "tracks": ({"nodes_missing_value_tracks_true": [1]}, "nodes_missing_value_tracks_true of 3 elements"),
    "aggregate": ({"aggregate_function": "MEDIAN"}, "an aggregate_function among .*got 'MEDIAN'"),
    "transform": ({"post_transform": "TANH"}, "a post_transform among .*got 'TANH'"),
    "base": ({"base_values": [1.0, 2.0]}, "base_values of 0 or 1 elements, got 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TREES)
def test_trees_that_are_none_are_refused(name: str):
    changes, text = BAD_TREES[name]
    with pytest.raises(
        FrontendError, match=f"TreeEnsembleRegressor: expected .*{text}.*layer 'layer', <memory> node 0"
    ):
        compiled(tree(**changes), input_shapes="x0:[3,4]")


def test_a_bad_tree_of_open_rows_is_refused_by_a_call():
    executable = compiled(tree(nodes_truenodeids=[0, 0, 0]))
    with pytest.raises(FrontendError, match=r"a cycle.*layer 'layer', <memory> node 0"):
        executable(np.zeros((2, 4), np.float32))


def test_features_are_checked_where_only_a_call_knows_them():
    proto = tree(nodes_featureids=[3, 0, 0])
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "F"
    executable = compiled(proto)
    assert executable(np.zeros((2, 4), np.float32)).tolist() == [[1.0], [1.0]]
    with pytest.raises(FrontendError, match="F"):
        executable(np.zeros((2, 3), np.float32))


def test_a_chain_of_nodes_that_share_a_leaf_is_as_long_as_it_is():
    """Exporters write sets so; the nodes that two lead to are not copied."""
    count = 3000
    proto = tree(
        nodes_treeids=[0] * (count + 2),
        nodes_nodeids=list(range(count + 2)),
        nodes_featureids=[0] * (count + 2),
        nodes_values=[float(2 * at) for at in range(count)] + [0.0, 0.0],
        nodes_modes=["BRANCH_EQ"] * count + ["LEAF", "LEAF"],
        nodes_truenodeids=[count] * count + [0, 0],
        nodes_falsenodeids=[*range(1, count), count + 1, 0, 0],
        target_nodeids=[count, count + 1],
    )
    x = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [2 * count - 2, 0, 0, 0], [2 * count, 0, 0, 0]], np.float32)
    assert compiled(proto)(x).tolist() == [[1.0], [2.0], [1.0], [2.0]]
