# pyright: basic
"""Writes the models of `tests/frontends/tensorflow/data/`, and what TensorFlow, which it needs, computes with them.

`operators_<family>.npz` has for each case of `tensorflow_operator_cases.py` the GraphDef, the inputs and the outputs,
under `<case>|graph`, `<case>|in|<name>` and `<case>|out|<name>`; loops and branches are frames of Switch and Merge. The
others are models with an `.npz` of the same name beside them, which has `<call>|in|<name>` and `<call>|out|<name>`.

Arguments are patterns of the names of files to write, without their suffixes; without arguments all are written.
"""

from __future__ import annotations

import os
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": ""}

import numpy as np
import tensorflow as tf  # type: ignore[import-not-found]
import tensorflow_model_cases
import tensorflow_operator_cases
from tensorflow.python.framework.convert_to_constants import (  # type: ignore[import-not-found]
    convert_variables_to_constants_v2 as frozen,
)

DATA = Path(__file__).parents[1] / "frontends/tensorflow/data"


def wanted(name: str) -> bool:
    """Return whether the arguments ask for a file."""
    return not sys.argv[1:] or any(fnmatch(name, pattern) for pattern in sys.argv[1:])


def place(name: str) -> str:
    """`node` or `node:slot` for the name of a tensor."""
    return name.removesuffix(":0")


def write_operators() -> None:
    for family, rows in tensorflow_operator_cases.cases(tf).items():
        if not wanted(f"operators_{family}"):
            continue
        arrays: dict[str, Any] = {}
        for case, (function, inputs) in rows.items():
            specs = [tf.TensorSpec(np.shape(x), np.asarray(x).dtype, f"in{k}") for k, x in enumerate(inputs)]
            concrete = tf.function(lambda *args, function=function: function(*args)).get_concrete_function(*specs)
            results = tf.nest.flatten(concrete(*map(tf.constant, inputs)))
            graph = frozen(concrete, lower_control_flow=family == "control")
            arrays[f"{case}|graph"] = np.frombuffer(graph.graph.as_graph_def().SerializeToString(), np.uint8)
            arrays |= {f"{case}|in|{place(t.name)}": np.asarray(x) for t, x in zip(graph.inputs, inputs, strict=True)}
            names = [place(t.name) for t in graph.outputs]
            arrays |= {f"{case}|out|{n}": r.numpy() for n, r in zip(names, results, strict=True)}
        np.savez_compressed(DATA / f"operators_{family}.npz", **arrays)


def write_models() -> None:
    for name, case in tensorflow_model_cases.frozen_models(tf).items():
        if not wanted(name):
            continue
        concrete = case.function.get_concrete_function(*case.specs)
        graph = frozen(concrete, lower_control_flow=case.lowered)
        (DATA / f"{name}.pb").write_bytes(graph.graph.as_graph_def().SerializeToString())
        arrays: dict[str, Any] = {}
        names = [place(t.name) for t in graph.outputs]
        for k, inputs in enumerate(case.inputs):
            results = tf.nest.flatten(concrete(*map(tf.constant, inputs)))
            arrays |= {f"{k}|in|{place(t.name)}": np.asarray(x) for t, x in zip(graph.inputs, inputs, strict=True)}
            arrays |= {f"{k}|out|{n}": r.numpy() for n, r in zip(names, results, strict=True)}
        np.savez_compressed(DATA / f"{name}.npz", **arrays)
    for name, save in tensorflow_model_cases.saved_models(tf).items():
        if not wanted(name):
            continue
        folder = DATA / name
        shutil.rmtree(folder, ignore_errors=True)
        calls = save(str(folder))
        for unneeded in ("assets", "fingerprint.pb"):
            path = folder / unneeded
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
        arrays = {}
        for k, inputs in enumerate(calls):
            arrays |= {f"{k}|in|{n}": np.asarray(x) for n, x in inputs.items()}
            results = signature(**{n: tf.constant(x) for n, x in inputs.items()})
            arrays |= {f"{k}|out|{n}": r.numpy() for n, r in results.items()}
        np.savez_compressed(DATA / f"{name}.npz", **arrays)


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    write_operators()
    write_models()
