# pyright: basic
"""ONNX models written node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from special_numbers import Array

from meanings.meaning import Value
from whence.frontends.onnx import from_onnx as load

__all__ = ["Net", "load"]


class Net:
    """A model under construction; a call adds a node."""

    def __init__(self) -> None:
        self.operators: set[str] = set()
        self.nodes: list[Any] = []
        self.inputs: list[Value] = []
        self.constants: list[Any] = []

    def input(self, array: Array) -> Value:
        self.inputs.append(Value(f"x{len(self.inputs)}", array.shape, array.dtype))
        return self.inputs[-1]

    def const(self, array: Any, dtype: str = "") -> Value:
        array = np.asarray(array, dtype or None)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, array.shape, array.dtype, array)

    def __call__(self, op: str, *values: Value | None, results: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Add a node; returns its result, or a tuple of them."""
        self.operators.add(op)
        names = [f"y{len(self.nodes)}_{at}" for at in range(results)]
        inputs = ["" if value is None else value.name for value in values]
        self.nodes.append(helper.make_node(op, inputs, names, name=names[0], domain=domain, **attributes))
        made = [Value(name, (), np.dtype(np.float32)) for name in names]
        return made[0] if results == 1 else tuple(made)

    def build(self, outputs: Sequence[Value], expected: Sequence[Array]) -> Any:
        declared = [
            helper.make_tensor_value_info(x.name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for x in self.inputs
        ]
        results = [helper.make_empty_tensor_value_info(value.name) for value in outputs]
        graph = helper.make_graph(self.nodes, "net", declared, results, self.constants)
        opsets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)
