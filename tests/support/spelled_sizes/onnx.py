# pyright: basic
"""Sizes in ONNX models."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Net:
    """Sizes are scalars of int64."""

    CALLS = {
        "abs": "Abs", "add": "Add", "and": "And", "at_least": "GreaterOrEqual", "ceil": "Ceil", "clamp": "Clip",
        "divide": "Div", "equal": "Equal", "floor": "Floor", "floor_mod": "Mod", "greatest": "ReduceMax",
        "less": "Less", "max": "Max", "min": "Min", "mul": "Mul", "neg": "Neg", "not": "Not", "or": "Or",
        "product": "ReduceProd", "sign": "Sign", "sub": "Sub", "times": "Mul", "total": "ReduceSum",
        "trunc_divide": "Div", "trunc_mod": "Mod", "where": "Where",
    }  # fmt: skip

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.results: list[str] = []

    def op(self, name: str, *inputs: str, **attributes: Any) -> str:
        result = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(name, inputs, [result], name=result, **attributes))
        return result

    def const(self, value: Any, dtype: str = "int64") -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def number(self, value: float) -> str:
        return self.const(value, "float32" if isinstance(value, float) else "int64")

    def extents(self) -> tuple[Any, ...]:
        shape = self.op("Shape", "x")
        return tuple(self.op("Gather", shape, self.const(at)) for at in range(2))

    def call(self, name: str, *sizes: Any) -> Any:
        if name in ("real", "whole"):
            return self.op("Cast", *sizes, to=1 if name == "real" else 7)
        attributes = {"trunc_mod": {"fmod": 1}, "product": {"keepdims": 0}, "total": {"keepdims": 0}}.get(name, {})
        attributes = {"keepdims": 0} if name == "greatest" else attributes
        return self.op(self.CALLS[name], *sizes, **attributes)

    def vector(self, *sizes: Any) -> Any:
        return self.op("Concat", *(self.op("Unsqueeze", size, self.const([0])) for size in sizes), axis=0)

    def item(self, values: Any, at: int) -> Any:
        return self.op("Gather", values, self.const(at))

    def part(self, values: Any, begin: int, end: int) -> Any:
        return self.op("Slice", values, self.const([begin]), self.const([end]))

    def joined(self, *parts: Any) -> Any:
        return self.op("Concat", *parts, axis=0)

    def filled(self, *sizes: Any) -> None:
        self.results.append(self.op("Expand", self.const(0.5, "float32"), self.vector(*sizes)))

    def reshaped(self, *sizes: Any) -> None:
        self.results.append(self.op("Reshape", "x", self.vector(*sizes)))

    def tiled(self, *sizes: Any) -> None:
        self.results.append(self.op("Tile", "x", self.vector(*sizes)))

    def cut(self, rows: Any) -> None:
        self.results.append(self.op("Slice", "x", self.const([0]), self.vector(rows), self.const([0])))

    def counted(self, size: Any) -> None:
        self.results.append(self.op("Range", self.const(0), size, self.const(1)))

    def build(self) -> Any:
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "m"])
        results = [helper.make_empty_tensor_value_info(name) for name in self.results]
        made = helper.make_graph(self.nodes, "net", [x], results, self.constants)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
