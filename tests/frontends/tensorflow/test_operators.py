"""Each operator computes what TensorFlow computes: graphs and results that `make_tensorflow_models.py` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.importer import import_model
from whence.frontends.importing.tensor import Undecided
from whence.frontends.tensorflow.convert import CONVERTERS
from whence.frontends.tensorflow.messages import parse
from whence.frontends.tensorflow.model import Model
from whence.frontends.tensorflow.source import read

DATA = Path(__file__).parent / "data"
ELSEWHERE: set[str] = set()
LOOSE = {"ResizeBicubic": 3e-3}
"""Operators that TensorFlow computes less exactly: here with kernels out of a table of 1024 places."""


def cases() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(DATA.glob("operators_*.npz")):
        with np.load(path) as arrays:
            for key in arrays:
                case, part = key.split("|", 1)
                found.setdefault(case, {})[part] = arrays[key]
    return found


CASES = cases()


@pytest.mark.parametrize("case", CASES)
def test_an_operator(case: str):
    parts = CASES[case]
    inputs = {key[3:]: value for key, value in parts.items() if key.startswith("in|")}
    expected = {key[4:]: value for key, value in parts.items() if key.startswith("out|")}
    graph = parts["graph"].tobytes()
    model = Model(read(graph, None), list(expected))
    try:
        module = import_model(model, {})
    except Undecided:
        # Values decide shapes: the interpreter runs these.
        results = whence.compile(graph).run({one.name: inputs[one.name] for one in model.inputs})
        found = [np.asarray(results[name]) for name in expected]
    else:
        found = evaluate_module(module, [inputs[one.name] for one in model.inputs])
    tolerance = LOOSE.get(case.split()[0], 2e-5)
    for name, array in zip(expected, found, strict=True):
        assert array.dtype == expected[name].dtype
        np.testing.assert_allclose(array, expected[name], rtol=tolerance, atol=tolerance)


def operators(graph: bytes) -> set[str]:
    """The operators of a graph and its functions."""
    parsed = parse("GraphDef", graph, "graph")
    functions = (function.node_def for function in parsed.library.function)
    return {node.op for nodes in (parsed.node, *functions) for node in nodes}


def test_every_row_is_tried():
    graphs = [parts["graph"].tobytes() for parts in CASES.values()] + [p.read_bytes() for p in DATA.glob("*.pb")]
    tried = set[str]().union(*map(operators, graphs))
    assert CONVERTERS.keys() - tried - ELSEWHERE == set()
