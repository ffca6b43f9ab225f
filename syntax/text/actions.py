"""The parser's actions for rules of the grammar: declarations and types. No tree is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lark import Token, Transformer
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr
from xdsl.ir import Attribute, TypeAttribute

from ...dialects.relay.types import UNIT, RefType, TypeVar, adt_type, function_type, tuple_type
from ...dialects.sizes import ENDLESS, Size, proves
from ...dialects.sizes.text import parse_size
from ...dialects.sizes.types import tensor_of
from ...provenance.span import SourceName, Span
from ..relay.expr import Constructor, Expr, Program, TypeData, Var, VirtualDevice
from ..relay.type_view import view
from ..relay.unify import HOLE, is_open
from .diagnostics import DiagnosticContext
from .layout import span_of
from .literals import BadNumberError, number
from .metadata import DIMENSIONS, MetaTable, UnknownNode
from .scopes import Names
from .types import DEEPEST, dtype_of, scalar
from .values import Dimension, Meta, Named, Number, SizeParts, Type, Value

VERSION = '#[version = "0.0.5"]'


class Declarations(Transformer[Any, Any]):
    """The actions for all rules except expressions. Call `begin` before you read a text."""

    context: DiagnosticContext
    names: Names
    table: MetaTable
    source: SourceName
    expressions: list[Expr]
    """The expressions that may have a span, in the order of their ends in the text."""
    _defining: bool
    """True inside the definition of a type, which may name types that are defined later."""
    _named: list[tuple[Token, int]]
    """The names of such types, each with the number of its type arguments."""

    def begin(self, context: DiagnosticContext, program: Program, table: MetaTable) -> None:
        self.context = context
        self.names = Names(program)
        self.table = table
        self.source = SourceName(context.file)
        self.expressions = []
        self._defining, self._named = False, []

    def span(self, first: Token, last: Token) -> Span:
        return Span(self.source, first.line or 0, last.end_line or 0, first.column or 0, last.end_column or 0)

    def error(self, message: str, first: Token, last: Token | None = None, help: str = "") -> None:
        self.context.emit(message, self.span(first, last or first), help)

    # -- modules

    def module(self, items: list[Any]) -> Program:
        self._version(items[0])
        for token, count in self._named:
            if (data := self.names.program.types.get(str(token))) is None:
                self._undeclared(token)
            else:
                self._applied(data, count, token)
        return self.names.program

    def expression(self, items: list[Any]) -> Expr:
        if len(items) == 2:
            self._version(items[0])
        return items[-1].expr

    def _version(self, token: Token) -> None:
        if "".join(token.split()) != "".join(VERSION.split()):
            self.error("invalid semantic version", token, help=f"expected {VERSION}")

    def definitions(self, _: list[Any]) -> None:
        """Do nothing: definitions are in the program already."""

    def type_parameters(self, items: list[Token]) -> list[str]:
        """Declare type variables; the definition that they belong to closes their scope."""
        self.names.type_variables.push()
        names = [token for token in items if token.type == "IDENT"]
        for token in names:
            if not self.names.type_variables.add(str(token), str(token)):
                self.error(f"a type variable with the name `{token}` was previously declared here", token)
        return [str(token) for token in names]

    def type_head(self, items: list[Any]) -> TypeData:
        name = cast(Token, items[2] if items[0].type == "EXTERN" else items[1])
        params = cast("list[str]", items[-1]) if isinstance(items[-1], list) else []
        data = TypeData(str(name), params, [])
        types = self.names.program.types
        if name in types:
            self.error(f"a type definition with the name `{name}` was previously defined", name)
        elif str(name) in self.names.constructors:
            self.error(f"a constructor with the name `{name}` was previously defined", name)
        else:
            types[str(name)] = data
        self._defining = True
        return data

    extern_head = type_head

    def constructor(self, items: list[Any]) -> tuple[Token, list[Attribute]]:
        return items[0], [self.known(item, items[0]) for item in items[1:] if isinstance(item, Type)]

    def type_definition(self, items: list[Any]) -> None:
        data = cast(TypeData, items[0])
        constructors: list[Constructor] = []
        types = self.names.program.types
        for item in items[1:]:
            if not isinstance(item, tuple):
                continue
            name, inputs = cast("tuple[Token, list[Attribute]]", item)
            if name in self.names.constructors or any(constructor.name_hint == name for constructor in constructors):
                self.error(f"a constructor with the name `{name}` was previously defined", name)
            elif name != data.header and name in types:
                self.error(f"a type definition with the name `{name}` was previously defined", name)
            else:
                constructors.append(Constructor(str(name), inputs, data.header, len(constructors)))
        data.constructors = constructors
        self.names.declare(data)
        self._defining = False
        self.close_type_variables(data.type_vars)

    def extern_definition(self, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, tuple):
                self.error("an extern type may not have any constructors", cast("tuple[Token, Any]", item)[0])
                break
        self._defining = False
        self.close_type_variables(items[0].type_vars)

    def close_type_variables(self, params: Sequence[str]) -> None:
        if params:
            self.names.type_variables.pop()

    # -- variables

    def var(self, items: list[Token]) -> Var:
        token = items[0]
        var = Var(token[1:], None, span=self.span(token, token))
        self.expressions.append(var)
        return var

    def annotated_var(self, items: list[Any]) -> Var:
        token = cast(Token, items[0])
        var = Var(token[1:], None, span=self.span(token, token))
        self.expressions.append(var)
        for item in items[1:]:
            match item:
                case Type():
                    var.type_annotation = None if item.type is None else view(item.type)
                case Named(key="virtual_device", value=VirtualDevice() as device):
                    var.virtual_device = device
                case Named():
                    self.error("expected virtual_device=meta[VirtualDevice][..]", item.first, item.last)
                case _:
                    var.span = span_of(item)
        return var

    def annotated_type(self, items: list[Any]) -> Type:
        return items[1]

    def annotated_device(self, items: list[Any]) -> Named:
        return items[1]

    def annotated_info(self, items: list[Token]) -> Token:
        return items[0]

    # -- attributes

    def attribute(self, items: list[Any]) -> Named:
        key, equal, value = items
        return Named(str(key), value.value, key, equal)

    def number(self, items: list[Token]) -> Number:
        *signs, digits = items
        try:
            value, exact = number(str(digits), len(signs) % 2 == 1)
        except BadNumberError as error:
            self.error(str(error), items[0], digits)
            value, exact = number("0", False)
        return Number(value, exact, items[0], digits)

    def value(self, items: list[Value]) -> Value:
        value = items[0]
        if len(items) == 1 and not isinstance(value.value, Token):
            return value
        text = " ".join(item.text for item in items)
        return Value(self.size_of(text, value.first), value.first, max(item.depth for item in items), text)

    def size_of(self, text: str, at: Token) -> Size:
        """Return the size that a text denotes."""
        try:
            return parse_size(text)
        except ValueError as error:
            self.error(str(error), at)
            return 1

    def size_value(self, items: list[Token]) -> Value:
        return Value(items[-1], items[0], text="".join(items))

    def number_value(self, items: list[Number]) -> Value:
        literal = items[0]
        sign = "" if literal.first is literal.last else literal.first
        return Value(literal.exact, literal.first, text=f"{sign}{literal.last}")

    def string_value(self, items: list[Token]) -> Value:
        return Value(str(items[0])[1:-1], items[0])

    def true_value(self, items: list[Token]) -> Value:
        return Value(True, items[0])

    def false_value(self, items: list[Token]) -> Value:
        return Value(False, items[0])

    def none_value(self, items: list[Token]) -> Value:
        return Value(None, items[0])

    def meta_value(self, items: list[Meta]) -> Value:
        entry = items[0].entry
        if isinstance(entry, UnknownNode):
            self.error(f"expected an attribute, got a {entry.type_key}", items[0].first, items[0].last)
        return Value(entry, items[0].first)

    def list_value(self, items: list[Any]) -> Value:
        first = cast(Token, items[0])
        values = [item for item in items if isinstance(item, Value)]
        text = f"({', '.join(value.text for value in values)})" if first.type == "LPAR" else "?"
        return Value([value.value for value in values], first, self.deeper(values, first), text)

    def deeper(self, parts: Sequence[Any], at: Token) -> int:
        """Return the depth of a node with `parts`; a depth beyond the limit is an error, reported once."""
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth == DEEPEST:
            self.error(f"expected what nests less than {DEEPEST} deep", at)
            self.context.fail()
        return depth

    def meta(self, items: list[Token]) -> Meta:
        kind, index = str(items[2]), str(items[5])
        entries = self.table.get(kind)
        if entries is None:
            self.error(f"no entry in the meta table for `{kind}`", items[0], items[-1])
        elif not index.isdigit() or int(index) >= len(entries):
            self.error(f"the node index `{index}` is out of bounds for `{kind}`", items[0], items[-1])
        else:
            return Meta(entries[int(index)], items[0], items[-1])
        return Meta(None, items[0], items[-1])

    # -- types

    def known(self, type_: Type, at: Token) -> Attribute:
        """Return a type that must be complete."""
        if type_.type is None or is_open(type_.type):
            self.error("expected a type, got one with `_` in it, which stands for a type to be inferred", at)
            return UNIT
        return type_.type

    def part(self, type_: Type) -> Attribute:
        """Return a type as a part of another one, with a hole if it is open."""
        return HOLE if type_.type is None else type_.type

    def _types(self, items: Sequence[Any]) -> list[Type]:
        return [item for item in items if isinstance(item, Type)]

    def unknown_type(self, _: list[Token]) -> Type:
        return Type(None)

    def named_type(self, items: list[Any]) -> Type:
        token = cast(Token, items[0])
        args = self._types(items)
        data = self.names.program.types.get(str(token))
        if not args and self.names.type_variables.get(str(token)) is not None:
            return Type(TypeVar(StringAttr(str(token))))
        element = dtype_of(str(token)) if data is None else None
        if element is not None and not args:
            return Type(scalar(element))
        if data is not None:
            self._applied(data, len(args), token)
        elif self._defining and element is None:
            self._named.append((token, len(args)))
        else:
            self._undeclared(token)
            return Type(UNIT)
        return Type(adt_type(str(token), [self.part(arg) for arg in args]), self.deeper(args, token))

    def _undeclared(self, token: Token) -> None:
        self.error(f"a type with the name `{token}` has not been declared", token)

    def _applied(self, data: TypeData, count: int, token: Token) -> None:
        if count != len(data.type_vars):
            self.error(f"expected {len(data.type_vars)} type arguments for `{token}`, got {count}", token)

    def dimension(self, items: list[Any]) -> Dimension:
        match item := items[0]:
            case Meta(entry=int() as extent):
                return Dimension(extent)
            case Meta(entry=UnknownNode(type_key=key)) if key in DIMENSIONS:
                return Dimension(DYNAMIC_INDEX)
            case Meta():
                if item.entry is not None:
                    self.error("expected the extent of an axis", item.first, item.last)
                return Dimension(1)
            case SizeParts():
                return Dimension(self._extent(item.tokens))
            case _:
                return Dimension(DYNAMIC_INDEX)

    def _extent(self, tokens: list[Token]) -> Size:
        text, size = " ".join(tokens), None
        if len(tokens) > 1 or text.isdigit() or text.isidentifier():
            size = self.size_of(text, tokens[0])
        if size is None or proves(size, "<", 0) or proves(size, ">=", ENDLESS):
            self.error(f"expected the extent of an axis, got `{text}`", tokens[0], tokens[-1])
            return 1
        return size

    def size(self, items: list[Any]) -> SizeParts:
        parts = [item for item in items if isinstance(item, SizeParts)]
        tokens = [token for item in items for token in (item.tokens if isinstance(item, SizeParts) else [item])]
        return SizeParts(tokens, self.deeper(parts, tokens[0]) if parts else 0)

    def shape(self, items: list[Any]) -> list[Size]:
        return [item.size for item in items if isinstance(item, Dimension)]

    def tensor_type(self, items: list[Any]) -> Type:
        token = cast(Token, items[4])
        element = dtype_of(str(token))
        if element is None:
            self.error(f"expected a dtype such as float32, got `{token}`", token)
            return Type(UNIT)
        return Type(tensor_of(element, cast("list[Size]", items[2])))

    def tuple_type(self, items: list[Any]) -> Type:
        fields = self._types(items)
        return Type(tuple_type([self.part(field) for field in fields]), self.deeper(fields, items[0]))

    def function_type(self, items: list[Any]) -> Type:
        *inputs, output = types = self._types(items)
        params = cast("list[str]", items[1]) if isinstance(items[1], list) else []
        self.close_type_variables(params)
        signature = function_type(params, [self.part(t) for t in inputs], self.part(output))
        return Type(signature, self.deeper(types, items[0]))

    def ref_type(self, items: list[Any]) -> Type:
        inner = cast(TypeAttribute, self.part(items[2]))
        return Type(RefType(inner), self.deeper([items[2]], items[0]))
