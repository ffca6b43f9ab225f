"""Random ensembles of trees: every mode, aggregate, transform and base value; against onnxruntime.

python tests/support/random_trees.py [--cases N] [--seed SEED]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from reference_runtime import onnxruntime_outputs

Array = NDArray[Any]
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
FEATURES = 4


class Trees:
    """Nodes of random trees, as TreeEnsembleRegressor and TreeEnsembleClassifier have them."""

    def __init__(self, rng: np.random.Generator, targets: int, *, kind: str, double: bool, modes: Sequence[str]):
        self.rng, self.kind, self.double, self.modes = rng, kind, double, modes
        self.nodes: dict[str, list[Any]] = {
            name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        }
        self.missing: list[int] = []
        self.weights: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
        # What leaves say: all targets, one of them, any, or always the same.
        self.says = str(rng.choice(["all", "one", "any", "same"]))
        self.positive = bool(rng.integers(2))
        for tree in range(int(rng.integers(1, 20))):
            self.grow(tree, int(rng.integers(0, 6)), targets)

    def grow(self, tree: int, depth: int, targets: int) -> None:
        """One tree: nodes are numbered as they come, children after their parents."""
        rng, nodes, count = self.rng, self.nodes, 0
        waiting = [(0, depth)]
        count = 1
        while waiting:
            node, left = waiting.pop()
            leaf = left == 0 or rng.random() < 0.15
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(node)
            nodes["featureids"].append(0 if leaf else int(rng.integers(FEATURES)))
            nodes["values"].append(self.value())
            nodes["modes"].append("LEAF" if leaf else str(rng.choice(self.modes)))
            self.missing.append(int(rng.integers(2)))
            nodes["truenodeids"].append(0 if leaf else count)
            nodes["falsenodeids"].append(0 if leaf else count + 1)
            if leaf:
                self.say(tree, node, targets)
            else:
                waiting += [(count, left - 1), (count + 1, left - 1)]
                count += 2

    def value(self) -> float:
        """Often one that rows have, too."""
        kind = self.rng.random()
        if kind < 0.04:
            return float(self.rng.choice([np.inf, -np.inf, np.nan]))
        return float(self.rng.integers(-3, 4)) if kind < 0.5 else float(self.rng.standard_normal())

    def say(self, tree: int, node: int, targets: int) -> None:
        rng = self.rng
        chosen = {"all": range(targets), "one": [int(rng.integers(targets))], "same": [targets - 1]}.get(self.says)
        if chosen is None:
            chosen = [k for k in range(targets) if rng.random() < 0.6]
        if targets == 1:
            chosen = [0]
        for target in chosen:
            weight = float(rng.standard_normal())
            for name, value in zip(
                self.weights, (tree, node, target, abs(weight) if self.positive else weight), strict=True
            ):
                self.weights[name].append(value)

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {f"nodes_{name}": values for name, values in self.nodes.items()}
        found |= {f"{self.kind}_{name}": values for name, values in self.weights.items()}
        if self.rng.integers(2):
            found["nodes_missing_value_tracks_true"] = self.missing
        if self.double:
            for name in ("nodes_values", f"{self.kind}_weights"):
                values = found.pop(name)
                found[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)
        return found


def base_values(rng: np.random.Generator, count: int, double: bool) -> dict[str, Any]:
    values = [float(x) for x in rng.standard_normal(count)]
    if double:
        return {"base_values_as_tensor": helper.make_tensor("base", TensorProto.DOUBLE, [count], values)}
    return {"base_values": values}


def model_of(node: onnx.NodeProto, dtype: int, outputs: Sequence[tuple[str, int]], ml: int = 3) -> onnx.ModelProto:
    """A model of one node of rows `x`, whose number is open."""
    made = [helper.make_tensor_value_info(name, code, None) for name, code in outputs]
    given = [helper.make_tensor_value_info("x", dtype, ["N", FEATURES])]
    graph = helper.make_graph([node], "trees", given, made)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", ml)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def regressor(rng: np.random.Generator) -> onnx.ModelProto:
    double, targets = bool(rng.integers(2)), int(rng.integers(1, 4))
    modes = MODES if rng.integers(2) else (str(rng.choice(MODES)),)
    trees = Trees(rng, targets, kind="target", double=double, modes=modes)
    extra = base_values(rng, targets, double) if rng.integers(2) else {}
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=targets,
        aggregate_function=str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"])),
        post_transform=str(rng.choice(TRANSFORMS)),
        **trees.attributes(),
        **extra,
    )
    return model_of(node, TensorProto.DOUBLE if double else TensorProto.FLOAT, [("y", TensorProto.FLOAT)])


def classifier(rng: np.random.Generator) -> onnx.ModelProto:
    """What onnxruntime leaves unset is not asked for: PROBIT's second score, rows without a score of any class."""
    double, classes = bool(rng.integers(2)), int(rng.integers(1, 5))
    modes = MODES if rng.integers(2) else (str(rng.choice(MODES)),)
    trees = Trees(rng, classes, kind="class", double=double, modes=modes)
    if trees.says == "any" or (trees.says == "one" and classes == 2):
        trees.says = "all"
        trees.weights = {name: [] for name in trees.weights}
        for tree, node, mode in zip(*(trees.nodes[name] for name in ("treeids", "nodeids", "modes")), strict=True):
            if mode == "LEAF":
                trees.say(tree, node, classes)
    # Without one of two classes' base values the second score of some is unset.
    count = int(rng.choice([0, classes, 1])) if classes == 2 and trees.says == "same" else int(rng.choice([0, classes]))
    names = {"classlabels_int64s": [int(x) for x in rng.permutation(100)[:classes]]}
    label = TensorProto.INT64
    if rng.integers(3) == 0 and classes > 1:
        names, label = {"classlabels_strings": [f"class {k}" for k in range(classes)]}, TensorProto.STRING
    transform = str(rng.choice(TRANSFORMS[: 4 if classes == 2 else 5]))
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        post_transform=transform,
        **trees.attributes(),
        **names,
        **(base_values(rng, count, double) if count else {}),
    )
    outputs = [("label", label), ("scores", TensorProto.FLOAT)]
    return model_of(node, TensorProto.DOUBLE if double else TensorProto.FLOAT, outputs)


def ensemble(rng: np.random.Generator) -> onnx.ModelProto:
    """TreeEnsemble, which keeps leaves apart and knows sets."""
    code = TensorProto.DOUBLE if rng.integers(2) else TensorProto.FLOAT
    dtype = np.float64 if code == TensorProto.DOUBLE else np.float32
    targets = int(rng.integers(1, 4))
    inner: list[dict[str, Any]] = []
    leaves: list[tuple[int, float]] = []
    roots: list[int] = []
    sets: list[float] = []

    def grow(depth: int) -> tuple[int, int]:
        """A number, and whether it is of a leaf."""
        if depth == 0:
            leaves.append((int(rng.integers(targets)), float(rng.standard_normal())))
            return len(leaves) - 1, 1
        at, node = len(inner), dict[str, Any]()
        inner.append(node)
        node["mode"] = int(rng.integers(0, 7))
        # onnxruntime looks for what numbers are without their fractions.
        node["feature"] = 0 if node["mode"] == 6 else int(rng.integers(FEATURES))
        node["split"] = float(rng.integers(-3, 4))
        if node["mode"] == 6:
            sets.extend([*map(float, rng.permutation(np.arange(-3, 4))[: int(rng.integers(1, 6))]), float("nan")])
        node["yes"], node["yes_leaf"] = grow(depth - 1 if rng.random() < 0.8 else 0)
        node["no"], node["no_leaf"] = grow(depth - 1 if rng.random() < 0.8 else 0)
        return at, 0

    for _ in range(int(rng.integers(1, 20))):
        roots.append(len(inner))
        grow(int(rng.integers(1, 5)))

    def column(name: str) -> list[Any]:
        return [node[name] for node in inner]

    def floats(name: str, values: Sequence[float]) -> onnx.TensorProto:
        return helper.make_tensor(name, code, [len(values)], np.asarray(values, dtype))

    attributes: dict[str, Any] = {
        "n_targets": targets,
        "aggregate_function": int(rng.integers(4)),
        # onnxruntime takes 1 and 2, SOFTMAX and LOGISTIC, for one another.
        "post_transform": int(rng.choice([0, 3, 4])),
        "tree_roots": roots,
        "nodes_featureids": column("feature"),
        "nodes_splits": floats("splits", column("split")),
        "nodes_modes": helper.make_tensor("modes", TensorProto.UINT8, [len(inner)], column("mode")),
        "nodes_truenodeids": column("yes"),
        "nodes_trueleafs": column("yes_leaf"),
        "nodes_falsenodeids": column("no"),
        "nodes_falseleafs": column("no_leaf"),
        "leaf_targetids": [target for target, _ in leaves],
        "leaf_weights": floats("weights", [weight for _, weight in leaves]),
    }
    if sets:
        attributes["membership_values"] = floats("sets", sets)
    if rng.integers(2):
        attributes["nodes_missing_value_tracks_true"] = [int(x) for x in rng.integers(0, 2, len(inner))]
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return model_of(node, code, [("y", code)], 5)


MAKERS = (regressor, classifier, ensemble)


def check(seed: int) -> None:
    """Compile one model for all numbers of rows, and compare what it gives."""
    import whence

    rng = np.random.default_rng(seed)
    model = MAKERS[seed % len(MAKERS)](rng)
    dtype = np.float64 if model.graph.input[0].type.tensor_type.elem_type == TensorProto.DOUBLE else np.float32
    executable = whence.compile(model, tier="symbolic" if "string" not in str(model.graph.node[0]) else "auto")
    for rows in (1, 45):
        x = rng.integers(-3, 4, (rows, FEATURES)) + (rng.random((rows, FEATURES)) < 0.3) * rng.standard_normal()
        x = np.where(rng.random(x.shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf], x.shape), x).astype(dtype)
        x[:, 0] = np.where(np.isfinite(x[:, 0]), np.round(x[:, 0]), 2)
        found = executable(x)
        results = found if isinstance(found, tuple) else (found,)
        for result, wanted in zip(results, onnxruntime_outputs(model, {"x": x}, quiet=True), strict=True):
            assert result.shape == wanted.shape
            if result.dtype.kind == "f":
                assert result.dtype == wanted.dtype
                np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-5)
            else:
                assert result.tolist() == wanted.tolist()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    bad = 0
    for seed in range(options.seed, options.seed + options.cases):
        try:
            check(seed)
        except Exception as error:
            bad += 1
            text = " ".join(str(error).split())[:300]
            print(f"{MAKERS[seed % len(MAKERS)].__name__} {seed}: {type(error).__name__}: {text}", flush=True)
    print(f"{options.cases - bad} of {options.cases} as onnxruntime")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
