"""Graphs written node by node, with the messages of the frontend."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from whence.frontends.tensorflow.messages import message
from whence.frontends.tensorflow.values import DTYPES

NUMBERS = {dtype.name: number for number, dtype in DTYPES.items()}


class Net:
    """A GraphDef under construction; each operator returns what reads its output."""

    def __init__(self) -> None:
        self.graph: Any = message("GraphDef")

    def op(self, op: str, name: str, *inputs: str, **attributes: Any) -> str:
        node = self.graph.node.add(name=name, op=op, input=inputs)
        for key, value in attributes.items():
            _set(node.attr[key], value)
        return name

    def placeholder(self, name: str, shape: tuple[int, ...], dtype: str = "float32") -> str:
        node = self.graph.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = NUMBERS[dtype]
        for extent in shape:
            node.attr["shape"].shape.dim.add(size=extent)
        node.attr["shape"].shape.SetInParent()
        return name

    def const(self, name: str, value: Any, dtype: str = "") -> str:
        array = np.asarray(value, dtype or None)
        node = self.graph.node.add(name=name, op="Const")
        node.attr["dtype"].type = NUMBERS[array.dtype.name]
        tensor = node.attr["value"].tensor
        tensor.dtype = NUMBERS[array.dtype.name]
        for extent in array.shape:
            tensor.tensor_shape.dim.add(size=extent)
        tensor.tensor_content = array.tobytes()
        return name

    def build(self) -> bytes:
        return self.graph.SerializeToString()


def _set(attribute: Any, value: Any) -> None:
    match value:
        case bool():
            attribute.b = value
        case int():
            attribute.i = value
        case float():
            attribute.f = value
        case str() if value in NUMBERS:
            attribute.type = NUMBERS[value]
        case str():
            attribute.s = value.encode()
        case list() if any(isinstance(item, float) for item in cast("list[object]", value)):
            attribute.list.f.extend(value)
        case list():
            attribute.list.i.extend(value)
        case _:
            raise TypeError(value)
