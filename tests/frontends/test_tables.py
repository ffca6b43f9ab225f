"""Tables of rows in parts: each row is found in one module, and only that is loaded for it."""

import json
import subprocess
import sys
from importlib import import_module

import pytest

from whence.frontends.importing.tables import Rows

TABLES = {
    "onnx": ("CONVERTERS", "MICROSOFT", "MACHINE_LEARNING"),
    "tflite": ("CONVERTERS", "QUANTIZED", "HYBRID"),
    "torch": ("CONVERTERS",),
    "keras": ("LAYERS", "OPERATIONS"),
    "tensorflow": ("CONVERTERS",),
    "stablehlo": ("CONVERTERS",),
}


@pytest.mark.parametrize(("frontend", "name"), [(frontend, name) for frontend in TABLES for name in TABLES[frontend]])
def test_each_row_is_in_one_module_and_found(frontend: str, name: str):
    convert = import_module(f"whence.frontends.{frontend}.convert")
    table: Rows[object] = getattr(convert, name)
    homes = [(operator, module) for module in table.modules() for operator in table.rows_of(module)]
    assert len(dict(homes)) == len(homes) > 0
    assert {operator: table.module_of(operator) for operator, _ in homes} == dict(homes)
    assert all(table[operator] is table.rows_of(module)[operator] for operator, module in homes)
    assert set(dict(homes)) <= set(table)
    with pytest.raises(KeyError):
        table["no such operator"]


_ONE_CONVOLUTION = """
import json
import sys
import numpy as np
from onnx import TensorProto, helper, numpy_helper
import whence
image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "g", [image], [result], [weight])
whence.relay.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
print(json.dumps([name for name in sys.modules if name.startswith("whence.frontends.onnx.")]))
"""


def test_a_convolution_loads_the_rows_of_convolutions_only():
    run = subprocess.run([sys.executable, "-c", _ONE_CONVOLUTION], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in json.loads(run.stdout)}
    assert "convolution" in loaded
    assert loaded.isdisjoint({"trees", "attention", "recurrent", "elementwise"})
