"""The context of an ONNX converter: one node, its inputs, its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, helper

from ...support.dtypes import Array
from ..importing import context
from ..importing.node_parts import NodePart
from . import schemas
from .schemas import schema_of, shown
from .tensors import dense, dtype_of, to_array


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One node under conversion. Inputs and outputs are counted from 0; absent optional inputs are None."""

    flags_are_numbers = True
    node: NodeProto
    opset: int
    folder: Path | None

    def __post_init__(self) -> None:
        self._attributes = {attribute.name: attribute for attribute in self.node.attribute}

    def attribute(self, name: str) -> AttributeProto | None:
        """Return an attribute of the node, if it is present."""
        self.asked.attributes.add(name)
        return self._attributes.get(name)

    def _attribute(self, name: str, kind: AttributeProto.AttributeType) -> AttributeProto | None:
        attribute = self.attribute(name)
        if attribute is not None and attribute.type != kind:
            expected, actual = map(AttributeProto.AttributeType.Name, (kind, attribute.type))
            self.fail(f"attribute '{name}' of type {expected}", actual)
        return attribute

    def ignore(self, name: str) -> None:
        """Mark an attribute as read whose value does not matter beside the node's other attributes."""
        self.asked.attributes.add(name)

    def has_attribute(self, name: str) -> bool:
        return self.attribute(name) is not None

    def parts(self) -> Iterator[NodePart]:
        """Yield the present inputs, and the attributes that differ from the defaults of the operator's schema."""
        schema = schema_of(self.node, self.opset)
        yield from self.input_parts(schema.input_names(len(self.inputs)))
        for name, attribute in self._attributes.items():
            if name not in schemas.HINTS and not schema.is_default(attribute):
                yield NodePart(name, "attribute", name, shown(attribute))

    def stated(self, name: str) -> Any:
        attribute = self.attribute(name)
        return None if attribute is None else self.python_value(attribute)

    def python_value(self, attribute: AttributeProto) -> Any:
        """Return the value of an attribute; a number of 32 bits is its shortest decimal."""
        value = helper.get_attribute_value(attribute)
        match attribute.type:
            case AttributeProto.FLOAT:
                return shortest(value)
            case AttributeProto.STRING:
                return value.decode(errors="replace")
            case AttributeProto.STRINGS:
                return tuple(text.decode(errors="replace") for text in value)
            case AttributeProto.INTS | AttributeProto.FLOATS:
                return tuple(value)
            case AttributeProto.TENSOR:
                return self.decode(value)
            case AttributeProto.SPARSE_TENSOR:
                return dense(value, self.folder, f"{self.node.op_type} '{self.node.output[0]}'")
            case _:
                return value

    def whole(self, value: Any) -> int | None:
        return None if isinstance(value, float) else super().whole(value)

    def real(self, value: Any) -> float | None:
        return None if isinstance(value, int) else super().real(value)

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        what = f"{self.node.op_type} '{self.node.output[0]}'"
        return dtype_of(value, what) if isinstance(value, int) else super().element_type(name, value)

    def rounded(self, number: float) -> float:
        """Return a number, which in a node with float64 inputs is rounded to 32 bits."""
        wide = any(tensor is not None and tensor.dtype == np.float64 for tensor in self.inputs)
        return float(np.float32(number)) if wide else number

    def is_one(self, name: str, default: bool = False) -> bool:
        """Return a flag that onnxruntime compares with 1, while it compares other flags with 0."""
        return self.flag(name, default, others=False)

    def only(self, name: str, value: float) -> None:
        """Raise FrontendError for a number that is present and is not `value`, its default."""
        number = self.int(name, value) if isinstance(value, int) else self.float(name, value)
        if number != value:
            self.fail(f"{name} {value}", str(number))

    def ints_since(self, since: int, name: str, index: int) -> tuple[int, ...] | None:
        """Return integers that are attribute `name` before opset `since`, and input `index` from it on; else None."""
        if self.opset < since:
            return self.ints(name, None)
        return self.known_ints(index, name) if self.has(index) else None

    def tensor_attribute(self, name: str) -> Array | None:
        attribute = self._attribute(name, AttributeProto.TENSOR)
        return None if attribute is None else self.decode(attribute.t)

    def sparse_attribute(self, name: str) -> Array | None:
        """Return a sparse tensor as a dense array."""
        attribute = self._attribute(name, AttributeProto.SPARSE_TENSOR)
        name_in_errors = f"{self.node.op_type} '{self.node.output[0]}'"
        return None if attribute is None else dense(attribute.sparse_tensor, self.folder, name_in_errors)

    def decode(self, tensor: TensorProto) -> Array:
        """Return the values of a tensor that an attribute holds."""
        return to_array(tensor, self.folder, f"{self.node.op_type} '{self.node.output[0]}'")


def shortest(value: float) -> float:
    """Return the shortest decimal number that rounds to this 32-bit float: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))
