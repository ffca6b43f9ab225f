"""Executables that are pickled and copied: as the file that `export_library` writes, with what they keep."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.parser
import pytest
from tflite_builder import Net

import whence
from whence.support.errors import PipelineError

TEXT = """
<ir_version: 8, opset_import: ["": 18], producer_name: "maker">
net (float[ROWS, 3] x) => (float[ROWS, 3] y) { [double] y = Add (x, x) }
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def compiled(rows: str, **options: Any) -> whence.Executable:
    return whence.compile(onnx.parser.parse_model(TEXT.replace("ROWS", rows)), **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", ["2", "n"])
def test_a_copy_computes_and_answers_as_the_first(rows: str, way: str):
    first = compiled(rows, threads=1)
    second = WAYS[way](first)
    np.testing.assert_array_equal(second(X), 2 * X)
    assert type(second) is type(first)
    assert (second.inputs, second.layers, second.threads) == (first.inputs, first.layers, 1)
    assert second.metadata.producer_name == "maker"
    assert str(second.choice) == str(first.choice)
    assert second.where("double").kernels
    if rows == "n":
        np.testing.assert_array_equal(second(X[:1]), 2 * X[:1])


def test_a_copy_goes_on_from_what_the_first_keeps(stateful_source: bytes):
    first = whence.compile(stateful_source)
    first(X[:1])
    second = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(first(X[:1]), 2 * X[:1])
    np.testing.assert_array_equal(second(X[:1]), 2 * X[:1])
    np.testing.assert_array_equal(second(X[:1]), 3 * X[:1])


@pytest.fixture
def stateful_source() -> bytes:
    """A model that adds up what it is called with."""
    net = Net()

    def handle(graph: Net) -> int:
        variable = graph.tensor("handle", (), "resource")
        graph.op("VAR_HANDLE", [], [variable], "VarHandleOptions", sharedName="total")
        return variable

    begin = net.subgraph()
    begin.op("ASSIGN_VARIABLE", [handle(begin), begin.const("zeros", 0 * X[:1])], [], "AssignVariableOptions")
    x, kept = net.input("x", (1, 3)), handle(net)
    net.op("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=begin.finish())
    before, after = net.tensor("before", (1, 3)), net.tensor("after", (1, 3))
    net.op("READ_VARIABLE", [kept], [before], "ReadVariableOptions")
    net.op("ADD", [before, x], [after], "AddOptions")
    net.op("ASSIGN_VARIABLE", [kept, after], [], "AssignVariableOptions")
    return net.build([after])


@pytest.mark.parametrize("way", WAYS)
def test_what_there_is_no_file_of_says_so(way: str, capsys: pytest.CaptureFixture[str]):
    executable = compiled("n", tier="static")
    with pytest.raises(PipelineError, match="expected a model that is one native call, got one in which values decide"):
        WAYS[way](executable)
    loaded_text = "expected the file that export_library wrote, for load_module to read, got a loaded module"
    with pytest.raises(PipelineError, match=loaded_text):
        WAYS[way](_loaded())
    gc.collect()
    assert capsys.readouterr().err == ""


def _loaded() -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        compiled("2").export_library(path := f"{folder}/net.tar")
        return whence.runtime.load_module(path)


def test_another_process_runs_what_was_pickled():
    script = "import pickle, sys, numpy; print(pickle.load(sys.stdin.buffer)(numpy.ones((2, 3), 'f4')).sum())"
    data = pickle.dumps(compiled("2"))
    done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
    assert done.stdout.split() == [b"12.0"]
