"""What a converter works with: one node, its inputs, its attributes, and how to emit relay ops or complain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, helper
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import SSAValue

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.attributes import Value
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.open_extents import is_open
from ...dialects.relay.operator import Operator, as_tensor
from ...dialects.relay.operator import shape_of as extents
from ...dialects.sizes import Size, SizeExpr, symbols_of
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import message
from ...provenance.span import fuse
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .limits import excess, expectation
from .names import value_name
from .tensors import dense, to_array

Operands: TypeAlias = SSAValue | Sequence[SSAValue] | None
"""What stands for one operand that an operator declares."""


class Undecided(FrontendError):
    """Only values that are computed at run time decide what a step does."""

    def __init__(self, text: str, tensor: Tensor | None, equal: tuple[Size, Size] | None = None):
        super().__init__(text)
        self.equal = equal
        """Sizes of which nobody knows whether they are equal, where that is the question."""
        self.tensor = tensor
        """The one whose value is needed."""


def _tensors() -> list[Tensor]:
    return []


@dataclass(eq=False)
class Tensor:
    """A tensor of the ONNX graph: known at import (`array`), a relay value, or both."""

    name: str
    array: Array | None = None
    value: SSAValue | None = None
    leaf: LocationAttr = UNKNOWN_LOC
    """The layer that made it."""
    made_of: Sequence[Tensor] = ()
    """The known tensors it was evaluated from."""
    items: Sequence[Tensor] | None = None
    """Of a sequence, what is in it."""
    nothing: bool = False
    """Whether it is an optional without a value."""
    narrowed: tuple[SSAValue, int] | None = None
    """How many of `value` count, and along which axis; nothing else can be computed with it in this stretch."""

    @property
    def plain(self) -> bool:
        """Whether it is a tensor, neither a sequence nor nothing."""
        return self.items is None and not self.nothing

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Of a tensor; None of a sequence, or of nothing."""
        if self.array is not None:
            return np.dtype(np.int64) if self.symbolic else self.array.dtype
        return None if self.value is None else dtype_of(self.value)

    @property
    def symbolic(self) -> bool:
        """Whether it is known as sizes that only a call decides: `array` is one of objects, and counts as int64."""
        return self.array is not None and self.array.dtype == np.object_

    def type_proto(self) -> TypeProto:
        """Its ONNX type."""
        dtype = self.dtype
        assert dtype is not None
        shape = self.array.shape if self.array is not None else shape_of(cast(SSAValue, self.value))
        dims = [str(extent) if isinstance(extent, SizeExpr) else extent for extent in cast("Sequence[Size]", shape)]
        return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(dtype), dims)

    @property
    def location(self) -> LocationAttr:
        """Its layer and those of the tensors it was evaluated from."""
        if not self.made_of:
            return self.leaf
        found: dict[int, Tensor] = {}
        stack: list[Tensor] = [self]
        while stack:
            tensor = stack.pop()
            if id(tensor) not in found:
                found[id(tensor)] = tensor
                stack.extend(reversed(tensor.made_of))
        return fuse(tensor.leaf for tensor in found.values())

    def materialise(self, builder: LocatedBuilder, module: ModuleOp) -> SSAValue:
        """The relay value; of a known tensor, a constant added at its first use."""
        if self.value is None:
            if self.array is None:
                raise FrontendError(
                    f"'{self.name}': expected a tensor, got {'nothing' if self.nothing else 'a sequence'}"
                )
            with builder.located(self.location):
                if self.symbolic:
                    flat: list[int] = self.array.reshape(-1).tolist()
                    self.value = builder.add(SizesOp(values=flat, shape=self.array.shape, dtype="int64")).result
                else:
                    self.value = builder.add(ConstantOp.of(self.array, module, self.name)).result
            self.value.name_hint = value_name(self.name)
        return self.value


def _sizes() -> list[Size]:
    return []


@dataclass(eq=False)
class Context:
    """One node under conversion. Inputs and outputs are counted from 0; absent optional inputs are None."""

    node: NodeProto
    opset: int
    leaf: LocationAttr
    """The node's layer, for errors; the builder is located at it already (or at nothing, with spans off)."""
    inputs: Sequence[Tensor | None]
    builder: LocatedBuilder
    module: ModuleOp
    folder: Path | None
    read: list[Tensor] = field(default_factory=_tensors)
    """The tensors whose values were looked at."""
    required: list[Size] = field(default_factory=_sizes)
    """What no call may make negative."""

    def __post_init__(self) -> None:
        self._attributes = {attribute.name: attribute for attribute in self.node.attribute}

    def require(self, size: Size) -> None:
        """Have every call checked: its sizes must not make this one negative."""
        self.required.append(size)

    def fail(self, expected: str, found: str) -> NoReturn:
        """Raise a FrontendError about this node."""
        raise FrontendError(message(self.node.op_type, expected, found, self.leaf))

    # Inputs.

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def tensor(self, index: int) -> Tensor:
        """Input `index`, which must be given."""
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if tensor is None:
            self.fail(f"an input {index}", "none")
        return tensor

    def value(self, index: int) -> SSAValue:
        """Input `index` as a relay value; a known one becomes a constant at its first use."""
        return self.tensor(index).materialise(self.builder, self.module)

    def values(self) -> list[SSAValue]:
        """All inputs as relay values."""
        return [self.value(index) for index in range(len(self.inputs))]

    def shape(self, index: int) -> tuple[int, ...]:
        tensor = self.tensor(index)
        if tensor.array is not None:
            return tensor.array.shape
        assert tensor.value is not None
        return shape_of(tensor.value)

    def dtype(self, index: int) -> np.dtype[np.generic]:
        tensor = self.tensor(index)
        found = tensor.dtype
        assert found is not None
        return found

    def known(self, index: int) -> Array | None:
        """The values of input `index` if they are known at import, as numbers."""
        tensor = self.tensor(index)
        if tensor.symbolic:
            return None
        if tensor.array is not None:
            self.read.append(tensor)
        return tensor.array

    def array(self, index: int, what: str) -> Array:
        """The values of input `index`, called `what`, which must be known at import."""
        array = self.known(index)
        if array is None:
            tensor = self.tensor(index)
            found = f"'{tensor.name}', which is computed at run time"
            raise Undecided(message(self.node.op_type, f"{what} known at import", found, self.leaf), tensor)
        return array

    def known_ints(self, index: int, what: str) -> tuple[int, ...]:
        """The integers in input `index`, called `what`, which must be known at import; symbolic sizes among them."""
        if (tensor := self.tensor(index)).symbolic and tensor.array is not None and tensor.array.ndim < 2:
            self.read.append(tensor)
            return tuple(tensor.array.reshape(-1).tolist())
        array = self.array(index, what)
        if array.dtype.kind not in "iu" or array.ndim > 1:
            self.fail(f"{what} as a list of integers", f"{array.dtype}{list(array.shape)}")
        return tuple(int(v) for v in array.reshape(-1).tolist())

    # Attributes.

    def _attribute(self, name: str, kind: AttributeProto.AttributeType) -> AttributeProto | None:
        attribute = self._attributes.get(name)
        if attribute is not None and attribute.type != kind:
            wanted, got = map(AttributeProto.AttributeType.Name, (kind, attribute.type))
            self.fail(f"attribute '{name}' of type {wanted}", got)
        return attribute

    def has_attribute(self, name: str) -> bool:
        return name in self._attributes

    def int(self, name: str, default: int) -> int:
        attribute = self._attribute(name, AttributeProto.INT)
        return default if attribute is None else attribute.i

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

    # Results.

    def fits(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> None:
        """Complain when a tensor is larger than the memory."""
        if not any(map(symbols_of, shape)) and (too_big := excess(shape, dtype.itemsize)):
            self.fail(expectation(), too_big)

    def emit(self, op: type[Operator], *operands: Operands, **attributes: Value) -> SSAValue:
        """Add an op and return its first result."""
        return self.emit_all(op, *operands, **attributes)[0]

    def emit_all(self, op: type[Operator], *operands: Operands, **attributes: Value) -> tuple[SSAValue, ...]:
        """Add an op and return its results. An operand that is missing is None, a variadic one a list."""
        made = op(*operands, location=None, **attributes)
        if any(is_open(result.type) for result in made.results):
            types = ", ".join(str(operand.type) for operand in made.operands)
            raise Undecided(message(self.node.op_type, "sizes that follow from the inputs'", types, self.leaf), None)
        for result in made.results:
            self.fits(shape_of(result), dtype_of(result))
        self.builder.add(made)
        return tuple(made.results)

    def constant(self, array: Array, hint: str) -> SSAValue:
        """Add a constant."""
        return self.builder.add(ConstantOp.of(array, self.module, hint)).result

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """Add a scalar constant of the element type of `like`."""
        return self.constant(np.asarray(value).astype(dtype_of(like)), "scalar")


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return extents(value)


def dtype_of(value: SSAValue) -> np.dtype[np.generic]:
    return numpy_dtype(as_tensor(value).element_type)


def shortest(value: float) -> float:
    """The shortest decimal number that is this 32-bit float: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))
