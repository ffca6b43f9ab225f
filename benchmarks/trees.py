"""Forests of decision trees side by side with onnxruntime, at batches of 1, 100 and 10,000 rows.

    python benchmarks/trees.py [--trees 100] [--depth 8] [--threads 1] [--chain]

One program for all numbers of rows, and one for a single row; of calls in turn the fastest counts. A ratio above 1 says
that whence is faster.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter, thread_time
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import whence

FEATURES = 30
BATCHES = (1, 100, 10_000)


def forest(trees: int, depth: int, targets: int, chain: bool = False) -> onnx.ModelProto:
    """Full trees of random comparisons; leaves have one weight, or with more targets one for each.

    chain: each comparison leads to a leaf and to the next comparison, which follows nine times of ten.
    """
    rng = np.random.default_rng(0)
    count = 2 * depth + 1 if chain else 2 ** (depth + 1) - 1
    node = cast(Any, np.arange(count * trees) % count)
    tree = np.repeat(np.arange(trees), count)
    yes, no, thresholds = 2 * node + 1, 2 * node + 2, rng.standard_normal(len(node)) * 0.7
    leaf = yes >= count
    if chain:
        # Comparisons are the even ones, leaves the odd ones and the last.
        leaf = (node % 2 == 1) | (node == count - 1)
        turned = rng.random(len(node)) < 0.5
        yes, no = np.where(turned, (node + 1, node + 2), (node + 2, node + 1))
        thresholds = np.where(turned, -1.28, 1.28)
    kind = "target" if targets == 1 else "class"
    attributes: dict[str, Any] = {
        "nodes_treeids": tree,
        "nodes_nodeids": node,
        "nodes_featureids": np.where(leaf, 0, rng.integers(0, FEATURES, len(node))),
        "nodes_values": thresholds,
        "nodes_modes": ["LEAF" if last else "BRANCH_LEQ" for last in leaf],
        "nodes_truenodeids": np.where(leaf, 0, yes),
        "nodes_falsenodeids": np.where(leaf, 0, no),
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


def fastest(calls: Sequence[Callable[[], object]], rows: int, clock: Callable[[], float]) -> list[float]:
    """Seconds of one call of each, in turn."""
    repeat, best = max(1, 3000 // rows), [float("inf")] * len(calls)
    for _ in range(10):
        for at, call in enumerate(calls):
            start = clock()
            for _ in range(repeat):
                call()
            best[at] = min(best[at], (clock() - start) / repeat)
    return best


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--chain", action="store_true", help="comparisons of which one branch is a leaf")
    options = parser.parse_args(arguments)
    runtime = cast(Any, onnxruntime)
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = options.threads
    print(
        f"{options.trees} {'chains' if options.chain else 'trees'} of depth {options.depth}, threads: {options.threads}"
    )
    print(f"{'':12}{'rows':>8}{'whence ms':>12}{'onnxruntime ms':>16}{'ratio':>8}")
    for name, targets in (("regression", 1), ("3 classes", 3)):
        model = forest(options.trees, options.depth, targets, options.chain)
        executable = whence.compile(model, threads=options.threads, specialize={"N": 1})
        session = runtime.InferenceSession(model.SerializeToString(), settings)
        for rows in BATCHES:
            x = np.random.default_rng(rows).standard_normal((rows, FEATURES)).astype(np.float32)
            np.testing.assert_allclose(executable(x), session.run(["y"], {"x": x})[0], rtol=1e-4, atol=1e-4)
            calls = [partial(executable, x), partial(session.run, ["y"], {"x": x})]
            ours, theirs = fastest(calls, rows, thread_time if options.threads == 1 else perf_counter)
            print(f"{name:12}{rows:8}{ours * 1e3:12.4f}{theirs * 1e3:16.4f}{theirs / ours:8.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
