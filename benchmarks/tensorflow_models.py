# pyright: basic, reportMissingImports=false
"""Saved models of TensorFlow beside TensorFlow itself: how far results are off, and how long calls take.

    PYTHONPATH=tests/support python benchmarks/tensorflow_models.py            every network
    PYTHONPATH=tests/support python benchmarks/tensorflow_models.py 'Mobile*' --rounds 20 --threads 2

Needs tensorflow. Networks are built with random weights (tests/support/tensorflow_networks.py). `off` is the largest
difference of any output, relative to the largest number of that output; one above 2e-5 is marked and has the script
fail. Times are medians in milliseconds; calls alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf
from tensorflow_networks import NETWORKS

import whence
from whence.support.errors import WhenceError

MOST = 2e-5
"""The largest relative error of a result."""


def peer(path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function of TensorFlow that takes inputs by name, and gives results by name."""
    if path.is_dir():
        return tf.saved_model.load(str(path)).signatures["serving_default"]
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(path.read_bytes())

    def call(**inputs: Any) -> dict[str, Any]:
        with tf.Graph().as_default() as own, tf.compat.v1.Session(graph=own) as session:
            tf.import_graph_def(graph, name="")
            results = session.run({"y": "y:0"}, {f"{name}:0": np.asarray(x) for name, x in inputs.items()})
        return {name: tf.constant(x) for name, x in results.items()}

    return call


def distance(ours: Any, theirs: Any) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not theirs.size:
        return 0.0
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    return float(np.abs(ours - theirs).max() / (np.abs(theirs).max() or 1.0))


def compare(name: str, threads: int, rounds: int) -> bool:
    """Print the row of a network; return whether its results are right."""
    with tempfile.TemporaryDirectory() as folder:
        path, calls = NETWORKS[name](Path(folder) / "model")
        theirs = peer(path)
        begin = time.perf_counter()
        try:
            exe = whence.compile(path, threads=threads)
        except WhenceError as error:
            print(f"{name:22} {error}", flush=True)
            return False
        compiled = time.perf_counter() - begin
        off, times = 0.0, ([], [])
        for at, inputs in enumerate(calls):
            tensors = {key: tf.constant(x) for key, x in inputs.items()}
            expected = theirs(**tensors)
            results = exe.run(inputs)
            off = max(off, *(distance(results[key], expected[key]) for key in expected))
            if at == len(calls) - 1:
                for _ in range(rounds):
                    for call, column in (
                        (lambda i=inputs: exe.run(i), times[0]),
                        (lambda t=tensors: theirs(**t), times[1]),
                    ):
                        begin = time.perf_counter()
                        call()
                        column.append(time.perf_counter() - begin)
        ours, other = (1e3 * statistics.median(column) for column in times)
        mark = "" if off <= MOST else "  WRONG"
        program = f"{exe.choice.kind:11} {len(exe.layers):6} {compiled:9.1f}"
        print(f"{name:22} {program} {ours:8.2f} {other:10.2f} {off:7.1e}{mark}", flush=True)
        return off <= MOST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads)
    print("network                program     layers compile s     ours TensorFlow     off")
    names = [name for name in NETWORKS if any(fnmatch(name, pattern) for pattern in args.patterns)]
    right = [compare(name, args.threads, args.rounds) for name in names]
    print(f"{sum(right)} of {len(right)} within {MOST:g}")
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
