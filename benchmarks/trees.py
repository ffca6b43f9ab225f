"""Forests of decision trees side by side with onnxruntime, at batches of 1, 100 and 10,000 rows.

    python benchmarks/trees.py [--trees 100] [--depth 8] [--threads 1]

One program for all numbers of rows, and one for a single row; of calls in turn the fastest counts. A ratio above 1 says
that whence is faster.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import whence

FEATURES = 30
BATCHES = (1, 100, 10_000)


def forest(trees: int, depth: int, targets: int) -> onnx.ModelProto:
    """Full trees of random comparisons; leaves have one weight, or with more targets one for each."""
    rng = np.random.default_rng(0)
    count, leaves = 2 ** (depth + 1) - 1, 2**depth
    node = cast(Any, np.arange(count * trees) % count)
    first = count - leaves
    tree, leaf = np.repeat(np.arange(trees), count), node >= first
    kind = "target" if targets == 1 else "class"
    attributes: dict[str, Any] = {
        "nodes_treeids": tree,
        "nodes_nodeids": node,
        "nodes_featureids": np.where(leaf, 0, rng.integers(0, FEATURES, len(node))),
        "nodes_values": rng.standard_normal(len(node)) * 0.7,
        "nodes_modes": ["LEAF" if last else "BRANCH_LEQ" for last in leaf],
        "nodes_truenodeids": np.where(leaf, 0, 2 * node + 1),
        "nodes_falsenodeids": np.where(leaf, 0, 2 * node + 2),
        f"{kind}_treeids": np.repeat(tree[leaf], targets),
        f"{kind}_nodeids": np.repeat(node[leaf], targets),
        f"{kind}_ids": np.tile(np.arange(targets), int(leaf.sum())),
        f"{kind}_weights": rng.random(int(leaf.sum()) * targets),
    }
    plain: dict[str, Any] = {name: x if isinstance(x, list) else x.tolist() for name, x in attributes.items()}
    if targets == 1:
        made = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **plain)
    else:
        labels = list(range(targets))
        made = helper.make_node(
            "TreeEnsembleClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml", classlabels_int64s=labels, **plain
        )
    graph = helper.make_graph(
        [made],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", targets])],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def fastest(calls: Sequence[Callable[[], object]], rows: int) -> list[float]:
    """Seconds of one call of each, in turn."""
    repeat, best = max(1, 3000 // rows), [float("inf")] * len(calls)
    for _ in range(10):
        for at, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            best[at] = min(best[at], (time.perf_counter() - start) / repeat)
    return best


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    runtime = cast(Any, onnxruntime)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    print(f"{options.trees} trees of depth {options.depth}, threads: {options.threads}")
    print(f"{'':12}{'rows':>8}{'whence ms':>12}{'onnxruntime ms':>16}{'ratio':>8}")
    for name, targets in (("regression", 1), ("3 classes", 3)):
        model = forest(options.trees, options.depth, targets)
        executable = whence.compile(model, threads=options.threads, specialize={"N": 1})
        session = runtime.InferenceSession(model.SerializeToString(), settings)
        for rows in BATCHES:
            x = np.random.default_rng(rows).standard_normal((rows, FEATURES)).astype(np.float32)
            np.testing.assert_allclose(executable(x), session.run(["y"], {"x": x})[0], rtol=1e-4, atol=1e-4)
            calls = [partial(executable, x), partial(session.run, ["y"], {"x": x})]
            ours, theirs = fastest(calls, rows)
            print(f"{name:12}{rows:8}{ours * 1e3:12.4f}{theirs * 1e3:16.4f}{theirs / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
