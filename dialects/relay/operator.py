"""The base of all relay operators: construction with inferred result types, verification, and the shared text form.

An operator class states its name, operands, attributes with TVM's defaults, fusion pattern and `infer`:

    @irdl_op_definition
    class ReluOp(Unary):
        name = "relay.nn.relu"
        traits = traits_def(ELEMWISE)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, NoReturn, Self, TypeAlias, cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ...provenance.diagnostics import message
from .attributes import Value, parse_value, print_value, to_attribute, to_python

Tensor: TypeAlias = TensorType[Attribute]

_KINDS: dict[str, bool | int | float | str | Sequence[int]] = {
    "a float such as 1.0": 1.0,
    "an int": 1,
    "a string": "",
    "a list of ints": (1,),
}
"""What an attribute may be, each with a value of the kind."""


class OpPattern(IntEnum):
    """How an operator may fuse (TVM's TOpPattern, with its numbers)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


@dataclass(frozen=True)
class FusionPattern(OpTrait):
    """The fusion pattern of an operator."""

    kind: OpPattern


ELEMWISE = FusionPattern(OpPattern.ELEMWISE)
BROADCAST = FusionPattern(OpPattern.BROADCAST)
INJECTIVE = FusionPattern(OpPattern.INJECTIVE)
COMM_REDUCE = FusionPattern(OpPattern.COMM_REDUCE)
OUT_ELEMWISE_FUSABLE = FusionPattern(OpPattern.OUT_ELEMWISE_FUSABLE)
OPAQUE = FusionPattern(OpPattern.OPAQUE)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The shape of a tensor value or type; -1 stands for a dynamic dimension."""
    return as_tensor(value).get_shape()


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor value or type."""
    return as_tensor(value).element_type


def as_tensor(value: SSAValue | Attribute) -> Tensor:
    type_ = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a tensor, got {type_}")
    return cast(Tensor, type_)


@dataclass(frozen=True)
class Signature:
    """What `infer` may look at: operand types and attribute values, and how to complain."""

    op: str
    types: tuple[Tensor, ...]
    attributes: Mapping[str, Attribute]
    location: LocationAttr | None = None

    def shape(self, index: int) -> tuple[int, ...]:
        return self.types[index].get_shape()

    def get(self, name: str) -> Any:
        """The Python value of an attribute; None when it is absent."""
        attribute = self.attributes.get(name)
        return None if attribute is None else to_python(attribute)

    def ints(self, name: str) -> tuple[int, ...]:
        return cast(tuple[int, ...], self.get(name))

    def int(self, name: str) -> int:
        return cast(int, self.get(name))

    def str(self, name: str) -> str:
        return cast(str, self.get(name))

    def pair(self, name: str) -> tuple[int, int]:
        """An attribute of two ints, one per spatial axis."""
        values = self.ints(name)
        if len(values) != 2:
            self.fail(f"{name} of 2 ints", str(list(values)))
        return values[0], values[1]

    def rank(self, index: int, *allowed: int) -> tuple[int, ...]:
        """The shape of operand `index`, whose rank must be one of `allowed`."""
        shape = self.shape(index)
        if len(shape) not in allowed:
            wanted = " or ".join(f"{n}-d" for n in allowed)
            self.fail(f"a {wanted} operand {index}", str(self.types[index]))
        return shape

    def same_element(self) -> Attribute:
        """The one element type of all operands."""
        first = self.types[0].element_type
        for index, other in enumerate(self.types):
            if other.element_type != first:
                self.fail(f"operand {index} of element type {first}", str(other))
        return first

    def axis(self, axis: int, rank: int, name: str = "axis") -> int:
        """A possibly negative axis made non-negative."""
        if not -rank <= axis < rank:
            self.fail(f"{name} in [{-rank}, {rank})", str(axis))
        return axis % rank

    def fail(self, expected: str, found: str) -> NoReturn:
        raise VerifyException(message(self.op, expected, found, self.location))


class Operator(IRDLOperation):
    """Base of the relay operators. `Conv2DOp(data, weight, strides=(2, 2))` infers its result types.

    Raises VerifyException when operands or attributes do not fit; the text names op and layer.
    """

    VARIADIC: ClassVar[bool] = False
    """Whether all operands form one group (`concatenate`)."""
    MULTIPLE_RESULTS: ClassVar[bool] = False
    """Whether all results form one group (`split`)."""

    traits = traits_def(Pure())

    def __init__(self, *operands: SSAValue | Operation, location: LocationAttr | None = None, **attributes: Value):
        values = [SSAValue.get(operand) for operand in operands]
        properties = self._properties(attributes)
        types = self.infer(self._signature_of([v.type for v in values], properties, location))
        groups = [values] if self.VARIADIC else values
        super().__init__(
            operands=groups, result_types=[list(types)] if self.MULTIPLE_RESULTS else list(types), properties=properties
        )
        if location is not None:
            self.location = location

    @classmethod
    def _properties(cls, attributes: Mapping[str, Value]) -> dict[str, Attribute]:
        known = cls.get_irdl_definition().properties
        if unknown := sorted(set(attributes) - set(known)):
            raise VerifyException(message(cls.name, f"attributes among {sorted(known)}", ", ".join(unknown)))
        return {name: to_attribute(value) for name, value in attributes.items() if value is not None}

    @classmethod
    def _signature_of(
        cls, types: Sequence[Attribute], properties: Mapping[str, Attribute], location: LocationAttr | None
    ) -> Signature:
        complete: dict[str, Attribute] = {}
        for name, definition in cls.get_irdl_definition().properties.items():
            if (value := properties.get(name, definition.default_value)) is not None:
                complete[name] = value
        return Signature(cls.name, tuple(map(as_tensor, types)), complete, location)

    @property
    def signature(self) -> Signature:
        """Operand types and attribute values, defaults filled in."""
        return self._signature_of(list(self.operand_types), self.properties, self.location)

    @classmethod
    @abstractmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        """The result types for a signature."""

    def verify_(self) -> None:
        inferred = tuple(self.infer(self.signature))
        if inferred != tuple(self.result_types):
            wanted = ", ".join(map(str, inferred))
            self.signature.fail(f"result {wanted}", ", ".join(map(str, self.result_types)))

    @classmethod
    def pattern(cls) -> OpPattern:
        """The fusion pattern; opaque when the class states none."""
        trait = cls.get_trait(FusionPattern)
        return OpPattern.OPAQUE if trait is None else trait.kind

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        definitions = self.get_irdl_definition().properties
        given = self.properties
        spelled = [(k, given[k]) for k, d in definitions.items() if k in given and given[k] != d.default_value]
        if spelled:
            printer.print_string(" {")
            for index, (name, value) in enumerate(spelled):
                printer.print_string(f"{', ' if index else ''}{name} = ")
                print_value(value, printer)
            printer.print_string("}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        known = cls.get_irdl_definition().properties

        def entry() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            if name not in known:
                parser.raise_error(f"{cls.name}: expected an attribute among {sorted(known)}, got '{name}'")
            parser.parse_punctuation("=")
            return name, parse_value(parser)

        given = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry) or []
        extra = parser.parse_optional_attr_dict_with_keyword()
        cls._check_given(dict(given), parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        properties = {
            name: definition.default_value for name, definition in known.items() if definition.default_value is not None
        } | dict(given)
        return cls.create(
            operands=parser.resolve_operands(operands or [], type_.inputs.data, parser.pos),
            result_types=type_.outputs.data,
            properties=properties,
            attributes=extra.data if extra is not None else {},
        )

    @classmethod
    def _check_given(cls, given: Mapping[str, Attribute], parser: Parser) -> None:
        """Complain about attributes that are missing or of a wrong kind."""
        for name, definition in cls.get_irdl_definition().properties.items():
            if name not in given:
                if definition.default_value is None and not isinstance(definition, OptPropertyDef):
                    parser.raise_error(f"{cls.name}: expected attribute {name}, got {sorted(given) or 'none'}")
            elif not definition.constr.verifies(given[name]):
                kinds = (kind for kind, value in _KINDS.items() if definition.constr.verifies(to_attribute(value)))
                kind = next(kinds, "another kind")
                parser.raise_error(f"{cls.name}: expected {kind} for {name}, got {given[name]}")
