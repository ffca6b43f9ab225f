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

RNG = np.random.default_rng(0)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


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
    executable = whence.compile(proto, tier="symbolic")
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
    weights = {"coefficients": floats(3, 4), "intercepts": floats(3), "classlabels_ints": [5, 3, 9]}
    if transform != "PROBIT":
        check("LinearClassifier", x, outputs=2, **weights, post_transform=transform)
        check("LinearRegressor", x, **{k: weights[k] for k in ("coefficients", "intercepts")}, targets=3)
        two = {"coefficients": floats(4), "intercepts": [0.1], "classlabels_ints": [5, 3]}
        check("LinearClassifier", x, outputs=2, **two, post_transform=transform)
        check("LinearClassifier", rows("int64"), outputs=2, **two, post_transform=transform)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_machines(kind: str):
    x = rows()
    vectors = {"kernel_type": kind, "kernel_params": [0.4, 0.3, 3.0], "support_vectors": floats(6, 4)}
    for one in (0, 1):
        found = {"coefficients": floats(6), "rho": [0.2], "n_supports": 6, "one_class": one}
        check("SVMRegressor", x, **vectors, **found, rtol=1e-4, atol=1e-5)
    three = {"coefficients": floats(2, 6), "rho": floats(3), "vectors_per_class": [1, 3, 2]}
    two = {"coefficients": floats(1, 6), "rho": floats(1), "vectors_per_class": [4, 2]}
    for labels, weights, pairs in (([7, 5, 6], three, 3), ([7, 5], two, 1)):
        found = {**vectors, **weights, "classlabels_ints": labels}
        for transform in TRANSFORMS[:4]:
            check("SVMClassifier", x, outputs=2, **found, post_transform=transform, rtol=2e-4, atol=1e-5)
        likely = {"prob_a": [-1.5] * pairs, "prob_b": floats(pairs)}
        check("SVMClassifier", x, outputs=2, **found, **likely, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("positive", [False, True])
def test_support_vector_machines_without_vectors(classes: int, positive: bool):
    weights = np.asarray(floats(classes, 4), np.float32)
    coefficients = [float(x) for x in (np.abs(weights) if positive else weights).reshape(-1)]
    labels = [4, 2, 8][:classes]
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        found = {"coefficients": coefficients, "rho": [0.1], "classlabels_ints": labels, "post_transform": transform}
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
    tensors = {
        "keys_tensor": helper.make_tensor("k", TensorProto.DOUBLE, [2], [1.0, -1.0]),
        "values_tensor": helper.make_tensor("v", TensorProto.DOUBLE, [2], [0.25, 0.5]),
        "default_tensor": helper.make_tensor("d", TensorProto.DOUBLE, [1], [3.0]),
    }
    check("LabelEncoder", y.astype(np.float64), version=4, **tensors)
