"""Types of the language's values as the program that runs them knows them."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute

from ...runtime.interpreting.edge import Fields, ValueType
from ...runtime.values.open_specs import OPEN, OpenSpec
from ..element_types import numpy_dtype
from .data_types import TypeDataOp
from .types import AdtType, Forall, RefType


class ValueTypes:
    """The types of a module's values; equal types are one object, which is found by its address."""

    def __init__(self, module: ModuleOp):
        self._definitions = {op.sym_name.data: op for op in module.ops if isinstance(op, TypeDataOp)}
        self._made: dict[Attribute, ValueType] = {}

    @property
    def constructors(self) -> dict[str, int]:
        """The tag of each constructor of a data type; of several with one name, the first's."""
        tags: dict[str, int] = {}
        for definition in self._definitions.values():
            for tag, name in enumerate(definition.names()):
                tags.setdefault(name, tag)
        return tags

    def tag(self, definition: str, constructor: str) -> int:
        """Return the position of a constructor among those of a data type."""
        return self._definitions[definition].names().index(constructor)

    def of(self, type_: Attribute) -> ValueType:
        """Return the type of values that `type_` describes."""
        if (made := self._made.get(type_)) is None:
            made = self._made[type_] = self._type(type_)
        return made

    def _type(self, type_: Attribute) -> ValueType:
        match type_:
            case TensorType():
                shape = tuple(OPEN if n == DYNAMIC_INDEX else n for n in type_.get_shape())
                dtype: np.dtype[np.generic] = numpy_dtype(type_.element_type)
                return ValueType("tensor", str(type_), str(type_), OpenSpec("", shape, dtype, (None,) * len(shape)))
            case TupleType():
                parts = tuple(map(self.of, type_.types))
                return ValueType("tuple", str(type_), f"a tuple of {len(parts)}", parts=parts)
            case AdtType():
                noun = f"a value of data type {type_.definition.string_value()}"
                return ValueType("data", str(type_), noun, fields=lambda: self._holds(type_))
            case RefType():
                return ValueType("reference", str(type_), "a reference", parts=(self.of(type_.value),))
            case Forall():
                parts = self.of(type_.body).parts
                return ValueType("function", str(type_), "a function of the program", parts=parts)
            case FunctionType():
                parts = tuple(map(self.of, (*type_.inputs, *type_.outputs)))
                return ValueType("function", str(type_), "a function of the program", parts=parts)
            case _:
                return ValueType("any", str(type_), str(type_))

    def _holds(self, type_: AdtType) -> Fields:
        """Return the types of the fields of each constructor of a data type."""
        definition = self._definitions[type_.definition.string_value()]
        return {
            (tag, name): tuple(map(self.of, definition.inputs_of(name, type_)))
            for tag, name in enumerate(definition.names())
        }
