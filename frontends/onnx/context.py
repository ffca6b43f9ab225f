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
        """An attribute as the model has it, if it is given."""
        self.asked.attributes.add(name)
        return self._attributes.get(name)

    def _attribute(self, name: str, kind: AttributeProto.AttributeType) -> AttributeProto | None:
        attribute = self.attribute(name)
        if attribute is not None and attribute.type != kind:
            wanted, got = map(AttributeProto.AttributeType.Name, (kind, attribute.type))
            self.fail(f"attribute '{name}' of type {wanted}", got)
        return attribute

    def ignore(self, name: str) -> None:
        """Say that an attribute does not matter beside what others of the node say."""
        self.asked.attributes.add(name)

    def has_attribute(self, name: str) -> bool:
        return self.attribute(name) is not None

    def parts(self) -> Iterator[NodePart]:
        """The inputs that are present, and the attributes that differ from the defaults of the operator's schema."""
        schema = schema_of(self.node, self.opset)
        yield from self.input_parts(schema.input_names(len(self.inputs)))
        for name, attribute in self._attributes.items():
            if name not in schemas.HINTS and not schema.is_default(attribute):
                yield NodePart(name, "attribute", name, shown(attribute))

    def stated(self, name: str) -> Any:
        attribute = self.attribute(name)
        return None if attribute is None else self.python_value(attribute)

    def python_value(self, attribute: AttributeProto) -> Any:
        """The value of an attribute; numbers of 32 bits by their shortest spelling."""
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
        """A number beside float64 is what its 32 bits are."""
        wide = any(tensor is not None and tensor.dtype == np.float64 for tensor in self.inputs)
        return float(np.float32(number)) if wide else number

    def is_one(self, name: str, default: bool = False) -> bool:
        """A boolean which onnxruntime compares with 1; others it compares with 0."""
        return self.flag(name, default, others=False)

    def only(self, name: str, value: float) -> None:
        """Complain of a number that is given and is not `value`, its default."""
        number = self.int(name, value) if isinstance(value, int) else self.float(name, value)
        if number != value:
            self.fail(f"{name} {value}", str(number))

    def ints_since(self, since: int, name: str, index: int) -> tuple[int, ...] | None:
        """Integers that were attribute `name` before opset `since`, and are input `index` now; None if not given."""
        if self.opset < since:
            return self.ints(name, None)
        return self.known_ints(index, name) if self.has(index) else None

    def tensor_attribute(self, name: str) -> Array | None:
        attribute = self._attribute(name, AttributeProto.TENSOR)
        return None if attribute is None else self.decode(attribute.t)

    def sparse_attribute(self, name: str) -> Array | None:
        """A sparse tensor with its zeros."""
        attribute = self._attribute(name, AttributeProto.SPARSE_TENSOR)
        what = f"{self.node.op_type} '{self.node.output[0]}'"
        return None if attribute is None else dense(attribute.sparse_tensor, self.folder, what)

    def decode(self, tensor: TensorProto) -> Array:
        """The values of a tensor held by an attribute."""
        return to_array(tensor, self.folder, f"{self.node.op_type} '{self.node.output[0]}'")


def shortest(value: float) -> float:
    """The shortest decimal number that is this 32-bit float: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))
