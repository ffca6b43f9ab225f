"""Expressions of a script: Python's syntax, of which nothing is run but arithmetic of literals."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from math import isinf
from typing import Any, cast

import whence.script.vectors as vectors
from whence.script.names import NUMBERS, PLAIN, Names, described, listed, syntax
from whence.script.source import Mistake
from whence.script.words import CALLS
from whence.support.dtypes import BOOL, element_of, is_float, lanes_of, rounded, with_lanes
from whence.te.language.blocks import BufferRegion
from whence.te.language.expr import (
    Axis,
    Const,
    Expr,
    Range,
    Var,
    binary,
    compare,
    convert,
    operate,
)
from whence.te.language.lanes import vector_access
from whence.te.language.math import logical_not
from whence.te.language.statements import Buffer, load
from whence.te.language.walks import at

_Operator = Callable[[Any, Any], Any]
_OPERATORS: dict[type[ast.AST], tuple[str, _Operator]] = {
    ast.Add: ("add", lambda a, b: a + b),
    ast.Sub: ("sub", lambda a, b: a - b),
    ast.Mult: ("mul", lambda a, b: a * b),
    ast.Div: ("/", lambda a, b: a / b),
    ast.FloorDiv: ("floordiv", lambda a, b: a // b),
    ast.Mod: ("floormod", lambda a, b: a % b),
    ast.LShift: ("shl", lambda a, b: a << b),
    ast.RShift: ("shr", lambda a, b: a >> b),
    ast.BitAnd: ("and", lambda a, b: a & b),
    ast.BitOr: ("or", lambda a, b: a | b),
    ast.BitXor: ("xor", lambda a, b: a ^ b),
}
_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_LARGEST = 1 << 64
"""The size of literals up to which their arithmetic is done."""


class Expressions(Names):
    """The meanings of expressions."""

    def at(self, value: Any, node: ast.AST) -> Any:
        """An expression at the place of a node, unless it is at one, or is used in several."""
        fresh = isinstance(value, Expr) and not isinstance(value, Var | Axis | Const) and value.location is None
        return at(cast("Expr", value), self.source.location(node)) if fresh else value

    def expr(self, node: ast.expr) -> Expr:
        """The expression of a node; a mistake if it is no number."""
        value = self.value(node)
        return self.number(value, node)

    def number(self, value: Any, node: ast.AST) -> Expr:
        """A value as an expression; a slice of a buffer is the vector of its elements."""
        if isinstance(value, BufferRegion):
            return self._lanes(value, node)
        if not isinstance(value, Expr | bool | int | float):
            self.source.refuse(node, f"expected a number, got {described(value)}")
        with self.source.judged(node):
            return convert(value)

    def whole(self, value: Any, node: ast.AST) -> Expr:
        """A value as an expression of whole numbers."""
        number = self.number(value, node)
        if is_float(element_of(number.dtype)) or number.dtype == "handle":
            self.source.refuse(node, f"expected a whole number, got {number.dtype}")
        return number

    def text(self, node: ast.expr, what: str) -> str:
        """The string that a node is."""
        value = self.value(node)
        if not isinstance(value, str):
            self.source.refuse(node, f"expected {what}, a string, got {described(value)}")
        return value

    def value(self, node: ast.expr) -> Any:
        """The meaning of a node: an expression, a buffer or a region of one, or a constant of Python's."""
        value = self._value(node)
        return self.at(value, node)

    def values(self, nodes: Iterable[ast.expr]) -> list[Any]:
        """The meanings of nodes, all of which are read before a mistake in one ends the statement."""
        return self._each(self.value, nodes)

    def _each(self, read: Callable[[ast.expr], Any], nodes: Iterable[ast.expr]) -> list[Any]:
        found: list[Any] = []
        mistake: Mistake | None = None
        for node in nodes:
            try:
                found.append(read(node))
            except Mistake as error:
                mistake = error
        if mistake is not None:
            raise mistake
        return found

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, PLAIN):
                    self.source.refuse(node, f"expected a number or a string, got {type(value).__name__}")
                if isinstance(value, float) and isinf(rounded(value, "float32")):
                    self.source.refuse(node, f"expected a number of float32, got {value}; T.float64 has larger ones")
                return value
            case ast.Name():
                return self.look_up(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._operation(node)
            case ast.Compare():
                return self._compared(node)
            case ast.BoolOp():
                return self._logic(node)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self.values(self.spread(elements))
            case ast.Dict(keys=keys, values=values):
                return {
                    self.text(key, "a key") if key is not None else "": self.value(value)
                    for key, value in zip(keys, values, strict=True)
                }
            case ast.Subscript():
                return self._element(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return CALLS["if_then_else"](self.expr(test), self.expr(body), self.expr(orelse))
            case ast.Call():
                return self.call(node)
            case _:
                self.source.refuse(node, f"expected an expression of TVMScript, got {syntax(node)}")

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(value, NUMBERS) and not isinstance(node.op, ast.Not):
            match node.op:
                case ast.USub():
                    return -value
                case ast.UAdd():
                    return value
                case _:
                    pass
        operand = self.number(value, node.operand)
        with self.source.judged(node):
            match node.op:
                case ast.USub():
                    return -operand
                case ast.Not():
                    return logical_not(operand)
                case ast.Invert():
                    return ~operand
                case _:
                    return operand

    def _operation(self, node: ast.BinOp) -> Any:
        name, compute = _OPERATORS.get(type(node.op), ("", None))
        if compute is None:
            self.source.refuse(node, f"expected an operator of numbers, got {syntax(node.op)}")
        a, b = self.values((node.left, node.right))
        if isinstance(a, NUMBERS) and isinstance(b, NUMBERS):
            return self._folded(node, name, compute, a, b)
        if isinstance(a, list | str) or isinstance(b, list | str):
            self.source.refuse(node, f"expected numbers beside an operator, got {described(a)} and {described(b)}")
        return self._combined(node, name, a, b)

    def _combined(self, node: ast.AST, name: str, a: Any, b: Any) -> Any:
        # A Python number beside a value takes its dtype, so the value decides.
        left, right = (value if isinstance(value, NUMBERS) else self.number(value, node) for value in (a, b))
        with self.source.judged(node):
            return operate(name, left, right)

    def _folded(self, node: ast.AST, name: str, compute: _Operator, a: float, b: float) -> Any:
        if max(abs(a), abs(b)) > _LARGEST or (name == "shl" and b > 64):
            self.source.refuse(node, "expected arithmetic of numbers of at most 64 bits")
        try:
            return compute(a, b)
        except (ArithmeticError, TypeError, ValueError) as error:
            self.source.refuse(node, f"expected arithmetic that has a result, got {error}")

    def _compared(self, node: ast.Compare) -> Any:
        parts: list[Any] = []
        left, *others = self.values((node.left, *node.comparators))
        for symbol, other, right in zip(node.ops, node.comparators, others, strict=True):
            name = _COMPARISONS.get(type(symbol), "")
            if not name:
                self.source.refuse(node, f"expected a comparison of numbers, got {syntax(symbol)}")
            a, b = (value if isinstance(value, NUMBERS) else self.number(value, other) for value in (left, right))
            with self.source.judged(node):
                parts.append(self.at(compare(name, a, b), node))
            left = right
        total = parts[0]
        for part in parts[1:]:
            total = binary("and", total, part)
        return total

    def _logic(self, node: ast.BoolOp) -> Any:
        name = "and" if isinstance(node.op, ast.And) else "or"
        parts = [
            (self.number(value, where), where)
            for value, where in zip(self.values(node.values), node.values, strict=True)
        ]
        total = parts[0][0]
        for part, where in parts[1:]:
            with self.source.judged(where):
                sides = (side.astype(with_lanes(BOOL, lanes_of(side.dtype))) for side in (total, part))
                total = self.at(CALLS[name.capitalize()](*sides), node)
        return total

    # Buffers

    def _element(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        if (parts := listed(base)) is not None:
            number = self.value(node.slice)
            if not isinstance(number, int) or not -len(parts) <= number < len(parts):
                self.source.refuse(node, f"expected a number below {len(parts)}, got {described(number)}")
            return parts[number]
        if not isinstance(base, Buffer):
            self.source.refuse(node.value, f"expected a buffer before [..], got {described(base)}")
        buffer, indices = base, self.indices(node)
        self.check_rank(node, buffer, indices)
        if any(isinstance(index, slice) for index in indices):
            return self._region(buffer, indices)
        with self.source.judged(node):
            vector_access(buffer.name, [convert(index) for index in indices])
            return load(buffer, [index if isinstance(index, int) else convert(index) for index in indices])

    def buffer_of(self, node: ast.expr) -> Buffer:
        """The buffer that a node is."""
        value = self.value(node)
        if not isinstance(value, Buffer):
            self.source.refuse(node, f"expected a buffer, got {described(value)}")
        return value

    def check_rank(self, node: ast.AST, buffer: Buffer, indices: list[Any]) -> None:
        """Refuse another number of indices than a buffer has."""
        if len(indices) != len(buffer.shape):
            self.source.refuse(node, f"expected {len(buffer.shape)} indices of {buffer.name}, got {len(indices)}")

    def indices(self, node: ast.Subscript) -> list[Any]:
        """The indices of an access: expressions, vectors, or slices of expressions."""
        nodes = self.spread(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        return [index for indices in self._each(self._index, nodes) for index in indices]

    def _index(self, node: ast.expr) -> list[Any]:
        if not isinstance(node, ast.Slice):
            value = self.value(node)
            parts = cast("list[Any]", value) if isinstance(value, list) else [value]
            return [self.whole(part, node) for part in parts]
        ends = (node.lower, node.upper, node.step)
        start, stop, step = (None if end is None else self.whole(self.value(end), end) for end in ends)
        if step is None or (isinstance(step, Const) and step.value == 1):
            return [slice(start, stop)]
        start = convert(0) if start is None else start
        length = None if stop is None else _difference(stop, start)
        if not isinstance(step, Const) or step.value < 1 or not isinstance(length, int):
            self.source.refuse(node, "expected a slice of known length with a step above 0")
        with self.source.judged(node):
            return [vectors.ramp(start, step, -(-length // int(step.value)))]

    def _lanes(self, region: BufferRegion, node: ast.AST) -> Expr:
        *outer, last = region.region
        if any(one.extent != 1 for one in outer) or not isinstance(last.extent, int):
            self.source.refuse(node, "expected a number, or a slice of known length in the last index alone")
        with self.source.judged(node):
            lanes = last.min if last.extent == 1 else vectors.ramp(convert(last.min), 1, last.extent)
            return load(region.buffer, [*(convert(one.min) for one in outer), convert(lanes)])

    def _region(self, buffer: Buffer, indices: list[Any]) -> BufferRegion:
        ranges: list[Range] = []
        for index, extent in zip(indices, buffer.shape, strict=True):
            if isinstance(index, slice):
                ends = cast("Any", index)
                start: Expr = convert(0) if ends.start is None else ends.start
                stop: Expr = convert(cast("Any", extent)) if ends.stop is None else ends.stop
                ranges.append(Range(start, _difference(stop, start)))
            else:
                ranges.append(Range(index, 1))
        return BufferRegion(buffer, tuple(ranges))

    def region(self, node: ast.expr) -> BufferRegion:
        """The region of a buffer that a node is: some of it, an element, or all."""
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            if isinstance(base, Buffer):
                indices = self.indices(node)
                self.check_rank(node, base, indices)
                return self._region(base, indices)
        base = self.value(node)
        if not isinstance(base, Buffer):
            self.source.refuse(node, f"expected a buffer or a part of one, got {described(base)}")
        return BufferRegion(base, tuple(Range(0, extent) for extent in base.shape))

    def _attribute(self, node: ast.Attribute) -> Any:
        if self.word(node):
            self.source.refuse(node, f"expected T.{self.word(node)} with its arguments")
        base = self.value(node.value)
        match base, node.attr:
            case Buffer(), "data":
                return base
            case Buffer(), ("elem_offset" | "strides" as name):
                return getattr(base, name)
            case Buffer(), "shape":
                return list(base.shape)
            case ((Buffer() | Expr()), "dtype"):
                return base.dtype
            case _:
                self.source.refuse(node, f"expected a value of TVMScript, got .{node.attr} of {described(base)}")

    # Calls

    def call(self, node: ast.Call) -> Any:
        """The meaning of a call."""
        raise NotImplementedError

    def arguments(self, node: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]]:
        """The arguments of a call, by place and by name."""
        if any(word.arg is None for word in node.keywords):
            self.source.refuse(node, "expected arguments one by one, got **")
        return self.spread(node.args), {str(word.arg): word.value for word in node.keywords}

    def spread(self, nodes: Iterable[ast.expr]) -> list[ast.expr]:
        """The nodes, and for a starred list each of its parts."""
        found: list[ast.expr] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(node)
                continue
            parts = listed(self.value(node.value))
            if parts is None:
                self.source.refuse(node, f"expected a list behind *, got {ast.unparse(node.value)}")
            numbers = (ast.copy_location(ast.Constant(number), node) for number in range(len(parts)))
            found += [ast.copy_location(ast.Subscript(node.value, number, ast.Load()), node) for number in numbers]
        return found


def _difference(stop: Expr, start: Expr) -> Any:
    """The length between two ends; a number where they are numbers, or the one is the other and a number more."""
    if isinstance(stop, Const) and isinstance(start, Const):
        return int(stop.value) - int(start.value)
    match re.fullmatch(re.escape(str(start)) + r" \+ (\d+)", str(stop)):
        case None:
            return stop - start
        case matched:
            return int(matched[1])
