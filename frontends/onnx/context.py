"""The context of an ONNX converter: one node, its inputs, its attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto

from ...support.dtypes import Array
from ..importing import context
from ..importing.node_parts import NodePart
from . import schemas
from .schemas import schema_of, shown
from .tensors import dense, to_array


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One node under conversion. Inputs and outputs are counted from 0; absent optional inputs are None."""

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

    def int(self, name: str, default: int) -> int:
        attribute = self._attribute(name, AttributeProto.INT)
        return default if attribute is None else attribute.i

    def is_one(self, name: str, default: bool = False) -> bool:
        """A boolean which onnxruntime compares with 1; others, which it compares with 0, are `bool(ctx.int(name))`."""
        return self.int(name, int(default)) == 1

    def only(self, name: str, value: float) -> None:
        """Complain of a number that is given and is not `value`, its default."""
        number = self.int(name, value) if isinstance(value, int) else self.float(name, value)
        if number != value:
            self.fail(f"{name} {value}", str(number))

    def zero_or_one(self, name: str) -> bool:
        """A boolean for which onnxruntime takes no other number; 0 if it is not given."""
        if (value := self.int(name, 0)) not in (0, 1):
            self.fail(f"{name} 0 or 1", str(value))
        return value == 1

    def ints(self, name: str) -> tuple[int, ...] | None:
        attribute = self._attribute(name, AttributeProto.INTS)
        return None if attribute is None else tuple(attribute.ints)

    def ints_since(self, since: int, name: str, index: int) -> tuple[int, ...] | None:
        """Integers that were attribute `name` before opset `since`, and are input `index` now; None if not given."""
        if self.opset < since:
            return self.ints(name)
        return self.known_ints(index, name) if self.has(index) else None

    def float(self, name: str, default: float) -> float:
        """A number of 32 bits: where it meets float64, what these bits are; else their shortest spelling."""
        attribute = self._attribute(name, AttributeProto.FLOAT)
        value = default if attribute is None else attribute.f
        if any(tensor is not None and tensor.dtype == np.float64 for tensor in self.inputs):
            return float(np.float32(value))
        return value if attribute is None else shortest(value)

    def floats(self, name: str) -> tuple[float, ...] | None:
        attribute = self._attribute(name, AttributeProto.FLOATS)
        return None if attribute is None else tuple(attribute.floats)

    def str(self, name: str, default: str) -> str:
        attribute = self._attribute(name, AttributeProto.STRING)
        return default if attribute is None else attribute.s.decode()

    def strs(self, name: str) -> list[str] | None:
        attribute = self._attribute(name, AttributeProto.STRINGS)
        return None if attribute is None else [one.decode() for one in attribute.strings]

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
