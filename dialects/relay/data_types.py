"""Algebraic data types: their definitions, values, and the match that takes values apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect, SymbolOpInterface

from ...provenance.diagnostics import fail
from ..format import parse_argument, parse_attributes, parse_type_params, print_type_params
from .functions import yielded
from .types import AdtType, Types, TypeVar, adt_type, fits, substituted


@irdl_op_definition
class TypeDataOp(IRDLOperation):
    """The definition of an algebraic data type: its constructors with the types of what they hold.

    One without constructors is defined elsewhere (TVM's `extern type`).

    ```mlir
    relay.type_data @List["A"] {
      Cons(!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>), Nil()
    }
    ```
    """

    name = "relay.type_data"
    sym_name = prop_def(StringAttr)
    type_params = opt_prop_def(ArrayAttr[StringAttr])
    constructors = prop_def(ArrayAttr[StringAttr])
    inputs = prop_def(ArrayAttr[Types])
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, params: Sequence[str], constructors: Sequence[tuple[str, Sequence[Attribute]]]):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "type_params": ArrayAttr(map(StringAttr, params)) if params else None,
                "constructors": ArrayAttr(StringAttr(name) for name, _ in constructors),
                "inputs": ArrayAttr(ArrayAttr(types) for _, types in constructors),
            }
        )

    def type_names(self) -> tuple[str, ...]:
        return tuple(name.data for name in self.type_params) if self.type_params is not None else ()

    @property
    def type(self) -> AdtType:
        """The type applied to its own parameters."""
        return adt_type(self.sym_name.data, [TypeVar(StringAttr(name)) for name in self.type_names()])

    def names(self) -> tuple[str, ...]:
        """The constructors; the place of one is its tag."""
        return tuple(name.data for name in self.constructors)

    def inputs_of(self, constructor: str, type_: AdtType) -> tuple[Attribute, ...]:
        """The types of what a constructor of `type_` holds."""
        types = dict(zip(self.type_names(), type_.arguments, strict=True))
        return tuple(substituted(t, types) for t in self.inputs.data[self.names().index(constructor)])

    def verify_(self) -> None:
        names = self.names()
        if len(set(names)) != len(names) or len(names) != len(self.inputs):
            fail(self, "constructors of distinct names", ", ".join(names))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_type_params(printer, self.type_params)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" {")
        for index, (name, types) in enumerate(zip(self.names(), self.inputs, strict=True)):
            printer.print_string(f"{', ' if index else ''}{name}")
            with printer.in_parens():
                printer.print_list(types, printer.print_attribute)
        printer.print_string("}")

    @classmethod
    def parse(cls, parser: Parser) -> TypeDataOp:
        name = parser.parse_symbol_name()
        params = parse_type_params(parser)
        attributes = parse_attributes(parser)

        def constructor() -> tuple[str, list[Attribute]]:
            return parser.parse_identifier(), list(
                parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
            )

        constructors = parser.parse_comma_separated_list(parser.Delimiter.BRACES, constructor)
        op = cls(name.data, [p.data for p in params] if params is not None else [], constructors)
        op.attributes.update(attributes)
        return op


def type_data(op: Operation, name: str) -> TypeDataOp:
    """The definition, in the module around `op`, of the data type `name`."""
    for other in _module_ops(op):
        if isinstance(other, TypeDataOp) and other.sym_name.data == name:
            return other
    fail(op, f"a relay.type_data @{name}", "none in the module")


def _module_ops(op: Operation) -> Iterator[Operation]:
    """The ops beside and around `op`, outermost first."""
    root = op
    while (parent := root.parent_op()) is not None:
        root = parent
    for region in root.regions:
        for block in region.blocks:
            yield from block.ops


@irdl_op_definition
class ConstructOp(IRDLOperation):
    """A value of a data type: `%l = relay.construct @Cons(%h, %t) : (tensor<i32>, ..) -> !relay.adt<..>`."""

    name = "relay.construct"
    constructor = prop_def(SymbolRefAttr)
    arguments = var_operand_def()
    result = result_def(AdtType)
    traits = traits_def(Pure())
    assembly_format = "$constructor `(` $arguments `)` attr-dict `:` functional-type($arguments, results)"

    def __init__(self, constructor: str, arguments: Sequence[SSAValue], type_: AdtType):
        super().__init__(
            operands=[list(arguments)],
            properties={"constructor": SymbolRefAttr(constructor)},
            result_types=[type_],
        )

    def verify_(self) -> None:
        type_ = self.result.type
        definition = type_data(self, type_.definition.string_value())
        name = self.constructor.string_value()
        if name not in definition.names():
            fail(self, f"a constructor among {', '.join(definition.names())}", name)
        wanted, types = definition.inputs_of(name, type_), tuple(value.type for value in self.arguments)
        if len(wanted) != len(types) or not all(map(fits, wanted, types)):
            fail(self, ", ".join(map(str, wanted)) or "no arguments", ", ".join(map(str, types)) or "none")


@irdl_attr_definition
class WildcardPattern(ParametrizedAttribute):
    """Anything: `_`."""

    name = "relay.wildcard"


@irdl_attr_definition
class VarPattern(ParametrizedAttribute):
    """Anything, bound to the next argument of the clause."""

    name = "relay.bound"


@irdl_attr_definition
class ConstructorPattern(ParametrizedAttribute):
    """A value made by a constructor from what fits the inner patterns."""

    name = "relay.constructed"
    constructor: SymbolRefAttr = param_def()
    patterns: Types = param_def()


@irdl_attr_definition
class TuplePattern(ParametrizedAttribute):
    """A tuple of what fits the inner patterns."""

    name = "relay.tupled"
    patterns: Types = param_def()


PATTERNS = (WildcardPattern, VarPattern, ConstructorPattern, TuplePattern)


@irdl_op_definition
class MatchOp(IRDLOperation):
    """The value of the first clause whose pattern fits; `partial` when it may be that none does (TVM's `match?`).

    ```mlir
    %y = relay.match %list : !relay.adt<@List, [tensor<i32>]> -> tensor<i32> {
    case @Cons(%h: tensor<i32>, _) {
      relay.yield %h : tensor<i32>
    }
    case @Nil() {
      relay.yield %zero : tensor<i32>
    }
    }
    ```
    """

    name = "relay.match"
    data = operand_def()
    patterns = prop_def(Types)
    partial = opt_prop_def(UnitAttr)
    clauses = var_region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        data: SSAValue | Operation,
        clauses: Sequence[tuple[Attribute, Block]],
        type_: Attribute,
        *,
        partial: bool = False,
    ):
        super().__init__(
            operands=[SSAValue.get(data)],
            properties={
                "patterns": ArrayAttr(pattern for pattern, _ in clauses),
                "partial": UnitAttr() if partial else None,
            },
            regions=[[Region(block) for _, block in clauses]],
            result_types=[type_],
        )

    def verify_(self) -> None:
        if len(self.patterns) != len(self.clauses):
            fail(self, f"{len(self.patterns)} clauses, as many as patterns", str(len(self.clauses)))
        for pattern, region in zip(self.patterns, self.clauses, strict=True):
            if (bound := count_bound(pattern)) != len(region.block.args):
                fail(self, f"{bound} arguments of a clause, as its pattern binds", str(len(region.block.args)))
            types = tuple(value.type for value in yielded(self, region))
            if len(types) != 1 or not fits(self.result.type, types[0]):
                fail(self, f"{self.result.type} of every clause", ", ".join(map(str, types)) or "nothing")

    def print(self, printer: Printer) -> None:
        printer.print_string(" partial " if self.partial is not None else " ")
        printer.print_ssa_value(self.data)
        printer.print_string(" : ")
        printer.print_attribute(self.data.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" {")
        for pattern, region in zip(self.patterns, self.clauses, strict=True):
            printer.print_string("\ncase ")
            printer.enter_scope()
            _print_pattern(pattern, iter(region.block.args), printer)
            printer.print_string(" ")
            printer.print_region(region, print_entry_block_args=False)
            printer.exit_scope()
        printer.print_string("\n}")

    @classmethod
    def parse(cls, parser: Parser) -> MatchOp:
        partial = parser.parse_optional_keyword("partial") is not None
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        data = parser.parse_type()
        parser.parse_punctuation("->")
        output = parser.parse_type()
        attributes = parse_attributes(parser)
        parser.parse_punctuation("{")
        clauses: list[tuple[Attribute, Region]] = []
        while parser.parse_optional_punctuation("}") is None:
            parser.parse_keyword("case")
            arguments: list[Parser.Argument] = []
            pattern = _parse_pattern(parser, arguments)
            clauses.append((pattern, parser.parse_region(arguments)))
        properties: dict[str, Attribute] = {"patterns": ArrayAttr(pattern for pattern, _ in clauses)}
        if partial:
            properties["partial"] = UnitAttr()
        return cls.create(
            operands=[parser.resolve_operand(operand, data)],
            properties=properties,
            regions=[region for _, region in clauses],
            result_types=[output],
            attributes=attributes,
        )


def count_bound(pattern: Attribute) -> int:
    """Return the number of values that a pattern binds."""
    match pattern:
        case VarPattern():
            return 1
        case ConstructorPattern() | TuplePattern():
            return sum(map(count_bound, pattern.patterns))
        case _:
            return 0


def _print_pattern(pattern: Attribute, arguments: Iterator[BlockArgument], printer: Printer) -> None:
    match pattern:
        case VarPattern():
            printer.print_block_argument(next(arguments))
        case ConstructorPattern() | TuplePattern():
            if isinstance(pattern, ConstructorPattern):
                printer.print_symbol_name(pattern.constructor.string_value())
            with printer.in_parens():
                printer.print_list(pattern.patterns, lambda inner: _print_pattern(inner, arguments, printer))
        case _:
            printer.print_string("_")


def _parse_pattern(parser: Parser, arguments: list[Parser.Argument]) -> Attribute:
    if parser.parse_optional_keyword("_") is not None:
        return WildcardPattern()
    name = parser.parse_optional_symbol_name()
    inner = parser.parse_optional_comma_separated_list(
        parser.Delimiter.PAREN, lambda: _parse_pattern(parser, arguments)
    )
    if name is not None:
        return ConstructorPattern(SymbolRefAttr(name), ArrayAttr(inner or []))
    if inner is not None:
        return TuplePattern(ArrayAttr(inner))
    arguments.append(parse_argument(parser))
    return VarPattern()
