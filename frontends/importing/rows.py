"""Rows that declare the inputs and attributes that they read, and the function of these that computes the results.

    "LeakyRelu": row(LeakyReluOp, "X", alpha=Float(0.01)),
    "Expand": row(broadcast_to, "input shape:ints"),

Inputs are words in the operator's order; `?` marks an optional one, and `*` the last one, which stands for all that
follow, or for the items of a list where the format has lists; there must be at least one. The word after a colon is the
kind of argument that the function gets for an input, a term by default:

- `ints`: its whole numbers or sizes, which must be known at import;
- `pairs`: the same, of a matrix of two columns, row by row;
- `size`: its one whole number or size;
- `number`: its one number;
- `exact`: its one number, a fraction, or size;
- `array`: its elements, which must be known at import;
- `shape`: its extents, whatever its elements are;
- `tensor`: the importer's tensor.

A keyword is a parameter of the function and, unless the declaration has another name, the name of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, TypeAlias

from ...dialects.relay.operator import Operator
from .attributes import REQUIRED, Attribute
from .context import Context
from .converter import Converter, Result
from .terms import Term

Function: TypeAlias = "Callable[..., Term | Result | tuple[Term | Result, ...]] | type[Operator]"
_INPUT = re.compile(r"(\w+)(?::(\w+))?([?*]?)")
_READ: Mapping[str, Callable[[Context, int, str], Any]] = {
    "": lambda ctx, index, name: Term(ctx, ctx.value(index)),
    "array": Context.array,
    "exact": Context.exact,
    "ints": Context.known_ints,
    "number": Context.single,
    "pairs": Context.known_pairs,
    "shape": lambda ctx, index, name: ctx.shape(index),
    "size": Context.size,
    "tensor": lambda ctx, index, name: ctx.tensor(index),
}


@dataclass(frozen=True)
class Input:
    """An input that a row declares."""

    name: str
    kind: str = ""
    """The kind of argument that the function gets: a key of the table of kinds."""
    optional: bool = False
    variadic: bool = False

    def read(self, ctx: Context, position: int) -> Any:
        """Return the argument for the row's function; None for an omitted input. Raises FrontendError."""
        index = ctx.index_of(self.name, position)
        if index is None and not self.optional:
            ctx.fail(f"an input {position} ({self.name})", "none")
        return None if index is None else self._at(ctx, index)

    def read_all(self, ctx: Context, position: int) -> list[Any]:
        """Return the arguments that the row's function gets for a variadic input. Raises FrontendError."""
        indices = ctx.indices_of(self.name, position)
        if not indices:
            ctx.fail(f"an input {position} ({self.name})", "none")
        return [self._at(ctx, index) for index in indices]

    def _at(self, ctx: Context, index: int) -> Any:
        ctx.asked.names.setdefault(index, self.name)
        return _READ[self.kind](ctx, index, self.name)


def inputs_of(text: str) -> tuple[Input, ...]:
    """Return the inputs that a text declares; raises ValueError for a malformed text."""
    inputs: list[Input] = []
    for word in text.split():
        match = _INPUT.fullmatch(word)
        if match is None or (match[2] or "") not in _READ or (inputs and inputs[-1].variadic):
            raise ValueError(f"expected inputs as in 'data shape:ints bias? others*', got '{text}'")
        inputs.append(Input(match[1], match[2] or "", match[3] == "?", match[3] == "*"))
    return tuple(inputs)


@dataclass(frozen=True)
class Declaration:
    """The inputs and attributes of a node that a row reads, and the function that computes its results."""

    function: Function
    inputs: Sequence[Input]
    attributes: Mapping[str, Attribute[Any]]

    def __call__(self, ctx: Context) -> Result | tuple[Result, ...]:
        operands: list[Any] = []
        for position, declared in enumerate(self.inputs):
            if declared.variadic:
                operands += declared.read_all(ctx, position)
            else:
                operands.append(declared.read(ctx, position))
        options = {parameter: attribute.read(ctx, parameter) for parameter, attribute in self.attributes.items()}
        function = self.function
        if isinstance(function, type):
            return ctx.emit(function, *(None if x is None else x.value for x in operands), **options)
        results = function(ctx, *operands, **options) if self.of_context else function(*operands, **options)
        return tuple(map(_plain, results)) if isinstance(results, tuple) else _plain(results)

    @cached_property
    def of_context(self) -> bool:
        """True if the function's first parameter is the context, `ctx`."""
        return next(iter(signature(self.function).parameters), "") == "ctx"

    def defaults(self, ctx: Context) -> Mapping[str, Any]:
        """Return the attributes that a node may leave out and does, by their names in the format."""
        named = {attribute.name or parameter: attribute for parameter, attribute in self.attributes.items()}
        return {
            name: attribute.read(ctx, name)
            for name, attribute in named.items()
            if attribute.default is not REQUIRED and ctx.stated(name) is None
        }


def declaration_of(converter: Converter[Any] | None) -> Declaration | None:
    """Return what a row declares; None where there is no row, or one that reads nodes by itself."""
    convert = None if converter is None else converter.convert
    return convert if isinstance(convert, Declaration) else None


def names_of(converter: Converter[Any] | None) -> list[str]:
    """Return the names of a row's inputs, in order: one for each, also for one that stands for several."""
    declaration = declaration_of(converter)
    if declaration is not None:
        return [declared.name for declared in declaration.inputs]
    return [] if converter is None else converter.inputs.split()


def _plain(result: Term | Result) -> Result:
    return result.value if isinstance(result, Term) else result


def row(
    function: Function, inputs: str = "", /, unread: Mapping[str, str] | None = None, **attributes: Attribute[Any]
) -> Converter[Any]:
    """Return the row of an operator: the parts of a node that it reads, and the function that computes the results.

    function: an operator of relay, or a function of the inputs, in order, and of the attributes, by keyword; if its
    first parameter is called `ctx`, it gets the context first. unread: as in `Converter`.
    """
    return Converter(Declaration(function, inputs_of(inputs), attributes), unread=unread or {})
