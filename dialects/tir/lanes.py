"""The ops of tir that work lane by lane where arith takes scalars only: comparison, select by lane, conversion.

```mlir
%0 = tir.compare ogt %a, %b : vector<16xf32>
%1 = tir.select %0, %a, %b : vector<16xi1>, vector<16xf32>
%2 = tir.cast sitofp %q : vector<16xi32> to vector<16xf32>
```
"""

from __future__ import annotations

from typing import ClassVar, Self, cast

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, IntegerType, StringAttr, VectorType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ...provenance.diagnostics import fail
from ..format import parse_attributes

CASTS = {
    "sitofp": ("integer", "float"),
    "uitofp": ("integer", "float"),
    "fptosi": ("float", "integer"),
    "fptoui": ("float", "integer"),
    "trunci": ("integer", "narrower integer"),
    "extsi": ("integer", "wider integer"),
    "extui": ("integer", "wider integer"),
    "index_cast": ("index", "integer"),
}
"""The conversions, each named and meant as in arith: what it reads and what it makes. `index_cast` goes both ways."""


def scalar_type(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type itself."""
    return cast(VectorType[Attribute], type).element_type if isinstance(type, VectorType) else type


def lanes(type: Attribute) -> tuple[int, ...]:
    """The shape of a vector type; () for a scalar."""
    return cast(VectorType[Attribute], type).get_shape() if isinstance(type, VectorType) else ()


def _kind(type: Attribute) -> str:
    match scalar_type(type):
        case IntegerType():
            return "integer"
        case IndexType():
            return "index"
        case FixedBitwidthType():
            return "float"
        case other:
            return str(other)


def _mask(type: Attribute) -> Attribute:
    """Return the type with an i1 per lane of `type`."""
    return VectorType(i1, shape) if (shape := lanes(type)) else i1


@irdl_op_definition
class CompareOp(IRDLOperation):
    """Compares two numbers, or each lane of two vectors, as `arith.cmpf` and `arith.cmpi` do."""

    name = "tir.compare"
    T: ClassVar = VarConstraint("T", AnyAttr())
    predicate = prop_def(StringAttr)
    first = operand_def(T)
    second = operand_def(T)
    result = result_def(Attribute)
    traits = traits_def(Pure())

    @staticmethod
    def make(predicate: str, first: SSAValue, second: SSAValue) -> CompareOp:
        return CompareOp.create(
            operands=[first, second],
            result_types=[_mask(first.type)],
            properties={"predicate": StringAttr(predicate)},
        )

    @property
    def predicates(self) -> list[str]:
        """The comparisons there are for numbers of this type, in the order of their numbers in arith."""
        return CMPF_COMPARISON_OPERATIONS if _kind(self.first.type) == "float" else CMPI_COMPARISON_OPERATIONS

    def verify_(self) -> None:
        if (predicate := self.predicate.data) not in self.predicates:
            fail(self, f"a comparison of {self.first.type} among {', '.join(self.predicates)}", predicate)
        if self.result.type != (wanted := _mask(self.first.type)):
            fail(self, f"a result of type {wanted}", str(self.result.type))

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.predicate.data} ")
        printer.print_ssa_value(self.first)
        printer.print_string(", ")
        printer.print_ssa_value(self.second)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.first.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        predicate = parser.parse_identifier()
        first = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        second = parser.parse_unresolved_operand()
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(first, type_), parser.resolve_operand(second, type_)],
            result_types=[_mask(type_)],
            properties={"predicate": StringAttr(predicate)},
            attributes=attributes,
        )


@irdl_op_definition
class SelectOp(IRDLOperation):
    """In each lane the first value where the condition holds, the second where not."""

    name = "tir.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    condition = operand_def(Attribute)
    first = operand_def(T)
    second = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$condition `,` $first `,` $second attr-dict `:` type($condition) `,` type($result)"

    @staticmethod
    def make(condition: SSAValue, first: SSAValue, second: SSAValue) -> SelectOp:
        return SelectOp.create(operands=[condition, first, second], result_types=[first.type])

    def verify_(self) -> None:
        type_ = self.condition.type
        if scalar_type(type_) != i1 or lanes(type_) != lanes(self.result.type):
            fail(self, f"a condition of i1 per lane of {self.result.type}", str(type_))


@irdl_op_definition
class CastOp(IRDLOperation):
    """Converts a number, or each lane of a vector."""

    name = "tir.cast"
    kind = prop_def(StringAttr)
    source = operand_def(Attribute)
    result = result_def(Attribute)
    traits = traits_def(Pure())

    @staticmethod
    def make(kind: str, source: SSAValue, type: Attribute) -> CastOp:
        return CastOp.create(operands=[source], result_types=[type], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        if (kind := self.kind.data) not in CASTS:
            fail(self, f"a conversion among {', '.join(CASTS)}", kind)
        source, result = self.source.type, self.result.type
        if lanes(source) != lanes(result):
            fail(self, f"as many lanes as in {source}", str(result))
        reads, makes = CASTS[kind]
        kinds = _kind(source), _kind(result)
        wanted = (reads, makes.split()[-1])
        if kinds != wanted and not (kind == "index_cast" and kinds == wanted[::-1]):
            fail(self, f"{kind} from {reads} to {makes}", f"{source} to {result}")
        if makes != wanted[1]:
            before, after = (cast(IntegerType, scalar_type(t)).width.data for t in (source, result))
            if (after < before) != (kind == "trunci") or after == before:
                fail(self, f"{kind} from {reads} to {makes}", f"{source} to {result}")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data} ")
        printer.print_ssa_value(self.source)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = parser.parse_identifier()
        source = parser.parse_unresolved_operand()
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        parser.parse_keyword("to")
        return cls.create(
            operands=[parser.resolve_operand(source, type_)],
            result_types=[parser.parse_type()],
            properties={"kind": StringAttr(kind)},
            attributes=attributes,
        )
