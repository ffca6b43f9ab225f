"""The base of all relay operators: construction with inferred result types, verification, and the shared text form.

A class states all there is to say about an operator but its tensor expression (`lowering/relay_to_te/`): name,
operands, attributes with TVM's defaults, fusion pattern and other traits, `infer` (its type rule) and `evaluate` (its
meaning in numpy). Where operators differ in name and function only, one call makes the class:

    SinOp = unary("sin", np.sin, FLOATS)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, LocationAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptPropertyDef,
    PropertyDef,
    VarOperandDef,
    VarResultDef,
    traits_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import OpTraitInvT, Pure
from xdsl.utils.exceptions import VerifyException

from ...provenance.diagnostics import message
from ...support.dtypes import RANK
from ..int_lists import numbers_of
from ..sizes import Size, proves
from ..sizes.types import is_static, is_symbolic
from .attributes import Ints, Value, parse_value, print_value, to_attribute
from .cases import infer_cases
from .signature import Group, Signature, Tensor, as_tensor, requirements
from .signature import element_of as element_of
from .signature import shape_of as shape_of
from .traits import FusionPattern, OpPattern, Pointwise
from .types import fits

_KINDS: dict[str, bool | int | float | str | Sequence[int] | Sequence[float]] = {
    "a float such as 1.0": 1.0,
    "an int": 1,
    "a string": "",
    "a list of ints": (1,),
    "a list of floats": (1.0,),
}
"""The kinds of attributes, each with a value of the kind."""


Operand = SSAValue | Operation | Sequence[SSAValue | Operation] | None
_SIZES = AttrSizedOperandSegments.attribute_name


class Operator(IRDLOperation):
    """Base of the relay operators. `Conv2DOp(data, weight, strides=(2, 2))` infers its result types.

    An operand may be declared optional or variadic. The values of the only such one follow one another,
    `ConcatenateOp(a, b, c)`; of several, which need `AttrSizedOperandSegments`, each is given as one argument,
    `Op(a, None, [b, c])`, and printed as one: `%a, _, [%b, %c]`.

    Raises VerifyException when operands or attributes do not fit; the text names op and layer.
    """

    traits = traits_def(Pure())

    def __init__(self, *operands: Operand, location: LocationAttr | None = None, **attributes: Value):
        groups = self._arranged(operands)
        values = [value for group in groups for value in group]
        properties = self._properties(attributes)
        sizes = tuple(map(len, groups))
        types = self.inferred(self._signature_of([v.type for v in values], sizes, properties, location))
        if _SIZES in self.get_irdl_definition().properties:
            properties[_SIZES] = DenseArrayBase.from_list(i32, sizes)
        # All is in the form that xDSL's own constructor would bring it into.
        Operation.__init__(self, operands=values, result_types=types, properties=properties, location=location)

    @classmethod
    def _arranged(cls, operands: Sequence[Operand]) -> list[list[SSAValue]]:
        """The values of each declared operand."""
        declared, arranged = cls.operand_groups(), list(operands)
        loose = [i for i, group in enumerate(declared) if not group.single]
        if len(loose) == 1:
            end = len(arranged) - (len(declared) - loose[0] - 1)
            arranged[loose[0] : max(end, loose[0])] = [_values(arranged[loose[0] : end])]
        elif loose:
            arranged += [None] * (len(declared) - len(arranged))
        if len(arranged) != len(declared):
            raise VerifyException(message(cls.name, f"{len(declared)} operands", str(len(arranged))))
        groups = [_values([operand]) for operand in arranged]
        for group, values in zip(declared, groups, strict=True):
            if len(values) != 1 and not group.variadic and (values or not group.optional):
                expected = f"{'at most ' * group.optional}one value for {group.name}"
                raise VerifyException(message(cls.name, expected, str(len(values))))
        return groups

    @classmethod
    @cache
    def operand_groups(cls) -> tuple[Group, ...]:
        """The declared operands."""
        return tuple(
            Group(name, isinstance(d, OptOperandDef), isinstance(d, VarOperandDef) and not isinstance(d, OptOperandDef))
            for name, d in cls.get_irdl_definition().operands
        )

    @classmethod
    @cache
    def declared_attributes(cls) -> Mapping[str, PropertyDef]:
        """The declared attributes, a base class's first, as TVM orders them."""
        properties = cls.get_irdl_definition().properties
        names = dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base) if name in properties)
        return {name: properties[name] for name in names | dict.fromkeys(properties) if name != _SIZES}

    @classmethod
    def _properties(cls, attributes: Mapping[str, Value]) -> dict[str, Attribute]:
        if unknown := sorted(set(attributes) - set(cls.declared_attributes())):
            raise VerifyException(
                message(cls.name, f"attributes among {sorted(cls.declared_attributes())}", ", ".join(unknown))
            )
        return {name: to_attribute(value) for name, value in attributes.items() if value is not None}

    @classmethod
    def _signature_of(
        cls,
        types: Sequence[Attribute],
        sizes: Sequence[int],
        properties: Mapping[str, Attribute],
        location: LocationAttr | None,
    ) -> Signature:
        complete: dict[str, Attribute] = {}
        for name, definition in cls.declared_attributes().items():
            if (value := properties.get(name, definition.default_value)) is not None:
                complete[name] = value
        groups = dict(zip(cls.operand_groups(), sizes, strict=True))
        return Signature(cls.name, tuple(map(as_tensor, types)), complete, location, groups)

    @property
    def signature(self) -> Signature:
        """Operand types and attribute values, defaults filled in."""
        return self._signature_of(list(self.operand_types), self._sizes(), self.properties, self.location)

    def _sizes(self) -> tuple[int, ...]:
        """The number of values of each declared operand."""
        if isinstance(sizes := self.properties.get(_SIZES), DenseArrayBase):
            return numbers_of(cast(Ints, sizes))
        declared = self.operand_groups()
        loose = len(self.operands) - sum(group.single for group in declared)
        return tuple(1 if group.single else loose for group in declared)

    @classmethod
    @abstractmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        """The result types for a signature."""

    @classmethod
    def inferred(cls, sig: Signature) -> Sequence[Tensor]:
        """The result types for a signature of which extents may be open."""
        types = cls.infer(sig) if all(map(is_static, sig.types)) else infer_cases(cls.infer, sig)
        for type_ in types:
            if len(type_.shape) > RANK:
                sig.fail(f"a result of at most {RANK} dimensions", str(len(type_.shape)))
        return types

    def check_sizes(self) -> Sequence[Size]:
        """Return what no call may make negative for this operator to make sense: extents of results, its rule's needs.

        Raises UndecidedSize unless the types of symbolic operands fit each other for all other values of their symbols.
        """
        if not any(map(is_symbolic, (*self.operand_types, *self.result_types))):
            return ()
        with requirements() as required:
            if any(map(is_symbolic, self.operand_types)):
                self.infer(self.signature)
        extents = [extent for type_ in self.result_types if is_symbolic(type_) for extent in shape_of(type_)]
        return [*required, *(extent for extent in extents if not proves(extent, ">=", 0))]

    def at_types(self, operands: Sequence[SSAValue]) -> Self:
        """This operator with other operands, of types whose extents may differ.

        Raises VerifyException when they do not fit.
        """
        sig = replace(self.signature, types=tuple(as_tensor(value) for value in operands))
        copy = self.create(
            operands=operands,
            result_types=self.inferred(sig),
            properties=self.properties.copy(),
            attributes=self.attributes.copy(),
        )
        copy.location = self.location
        return copy

    @classmethod
    def of_types(
        cls, groups: Sequence[Sequence[SSAValue]], attributes: Mapping[str, Value], result_types: Sequence[Attribute]
    ) -> Self:
        """The operator for the values of each declared operand, with result types that were inferred before."""
        declared = cls.declared_attributes()
        properties = {key: d.default_value for key, d in declared.items() if d.default_value is not None}
        properties |= cls._properties(attributes)
        if _SIZES in cls.get_irdl_definition().properties:
            properties[_SIZES] = DenseArrayBase.from_list(i32, [len(group) for group in groups])
        operands = [value for group in groups for value in group]
        return cls.create(operands=operands, result_types=result_types, properties=properties)

    @classmethod
    def signature_for(
        cls,
        groups: Sequence[Sequence[Attribute]],
        attributes: Mapping[str, Value],
        location: LocationAttr | None = None,
    ) -> Signature:
        """Return what `infer` looks at, for the types in each declared operand and attribute values."""
        types = [type_ for group in groups for type_ in group]
        return cls._signature_of(types, [len(group) for group in groups], cls._properties(attributes), location)

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        """Return whether TVM takes its `count` results for a tuple."""
        return count != 1 or isinstance(cls.get_irdl_definition().results[0][1], VarResultDef)

    @classmethod
    @abstractmethod
    def evaluate(cls, *args: Any, **kwargs: Any) -> Any:
        """The result in numpy, or a tuple of the results, for a signature and one array per declared operand.

        A missing optional operand is None, a variadic one a tuple. The caller casts to the dtype that the op states;
        views of the operands are welcome.
        """

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        """Return whether the result is the first operand as it is."""
        return False

    def verify_(self) -> None:
        inferred = tuple(self.inferred(self.signature))
        if len(inferred) != len(self.results) or not all(map(fits, inferred, self.result_types)):
            wanted = ", ".join(map(str, inferred))
            self.signature.fail(f"result {wanted}", ", ".join(map(str, self.result_types)))

    @classmethod
    def get_trait(cls, trait: type[OpTraitInvT] | OpTraitInvT) -> OpTraitInvT | None:
        """The trait of a kind that the nearest class declares: xDSL keeps those of all bases, in no order."""
        for declared in cls.traits.gen_traits():
            if isinstance(declared, trait) if isinstance(trait, type) else declared == trait:
                return cast(OpTraitInvT, declared)
        return None

    @classmethod
    def pattern(cls) -> OpPattern:
        """The fusion pattern; opaque when the class states none."""
        trait = cls.get_trait(FusionPattern)
        return OpPattern.OPAQUE if trait is None else trait.kind

    def fusion_pattern(self) -> OpPattern:
        """The fusion pattern of this op."""
        return self.pattern()

    def reads_tuple(self) -> bool:
        """Return whether it reads its operands through a tuple in TVM, which fusion sees as a node of its own."""
        return any(group.variadic for group in self.operand_groups())

    def is_pointwise(self) -> bool:
        """Return whether the trait holds here."""
        return self.has_trait(Pointwise)

    def print(self, printer: Printer) -> None:
        if _SIZES in self.properties:
            printer.print_string(" ")
            printer.print_list(self.signature.arguments(self.operands), lambda value: _print_operand(value, printer))
        elif self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        properties = self.properties
        spelled = [
            (k, properties[k])
            for k, d in self.declared_attributes().items()
            if k in properties and properties[k] != d.default_value
        ]
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
        segmented = _SIZES in cls.get_irdl_definition().properties
        groups = cls._parse_operands(parser, segmented)
        declared = cls.declared_attributes()

        def entry() -> tuple[str, Attribute]:
            name = parser.parse_identifier()
            if name not in declared:
                parser.raise_error(f"{cls.name}: expected an attribute among {sorted(declared)}, got '{name}'")
            parser.parse_punctuation("=")
            return name, parse_value(parser)

        entries = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, entry) or []
        extra = parser.parse_optional_attr_dict_with_keyword()
        cls._check_given(dict(entries), parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        properties = {
            name: definition.default_value
            for name, definition in declared.items()
            if definition.default_value is not None
        } | dict(entries)
        if segmented:
            properties[_SIZES] = DenseArrayBase.from_list(i32, [len(group) for group in groups])
        return cls.create(
            operands=parser.resolve_operands(
                [operand for group in groups for operand in group], type_.inputs.data, parser.pos
            ),
            result_types=type_.outputs.data,
            properties=properties,
            attributes=extra.data if extra is not None else {},
        )

    @classmethod
    def _parse_operands(cls, parser: Parser, segmented: bool) -> list[list[UnresolvedOperand]]:
        """The operands as they are printed; `segmented` ones one by one as they are declared."""
        if not segmented:
            flat = parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            return [flat or []]
        groups: list[list[UnresolvedOperand]] = []
        for index, group in enumerate(cls.operand_groups()):
            if index:
                parser.parse_punctuation(",")
            if group.variadic:
                groups.append(
                    parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
                )
            elif group.optional and parser.parse_optional_keyword("_") is not None:
                groups.append([])
            else:
                groups.append([parser.parse_unresolved_operand()])
        return groups

    @classmethod
    def _check_given(cls, given: Mapping[str, Attribute], parser: Parser) -> None:
        """Complain about attributes that are missing or of a wrong kind."""
        for name, definition in cls.declared_attributes().items():
            if name not in given:
                if definition.default_value is None and not isinstance(definition, OptPropertyDef):
                    parser.raise_error(f"{cls.name}: expected attribute {name}, got {sorted(given) or 'none'}")
            elif not definition.constr.verifies(given[name]):
                kinds = (kind for kind, value in _KINDS.items() if definition.constr.verifies(to_attribute(value)))
                kind = next(kinds, "another kind")
                parser.raise_error(f"{cls.name}: expected {kind} for {name}, got {given[name]}")


def _values(operands: Sequence[Operand]) -> list[SSAValue]:
    values: list[SSAValue] = []
    for operand in operands:
        if isinstance(operand, SSAValue):
            values.append(operand)
        elif isinstance(operand, Operation):
            values.append(SSAValue.get(operand))
        elif operand is not None:
            values += map(SSAValue.get, operand)
    return values


def _print_operand(value: SSAValue | tuple[SSAValue, ...] | None, printer: Printer) -> None:
    if isinstance(value, tuple):
        with printer.in_square_brackets():
            printer.print_list(value, printer.print_ssa_value)
    elif value is None:
        printer.print_string("_")
    else:
        printer.print_ssa_value(value)


def operators_of(*modules: ModuleType) -> list[type[Operator]]:
    """The operators that modules declare, in order; bases, which have no name, apart.

    A class that a call has made gets the name that its module gives it.
    """
    operators: dict[type[Operator], None] = {}
    for module in modules:
        for name, value in vars(module).items():
            # An abstract class takes its time to say whose subclass another is.
            if isinstance(value, type) and "name" in vars(value) and Operator in value.__mro__:
                value.__name__ = value.__qualname__ = name
                operators[value] = None
    return list(operators)
