"""Expressions of a Relax text, as expressions of relay."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.ir import Attribute

from whence.dialects.sizes import SizeExpr
from whence.provenance.span import Span
from whence.script.relax_types import TYPE_WORDS, Types
from whence.script.source import Mistake
from whence.support.dtypes import NAMES, Array, numpy_of
from whence.support.errors import WhenceError
from whence.support.names import did_you_mean
from whence.syntax.relax.constants import KINDS
from whence.syntax.relax.layouts import IndexMap
from whence.syntax.relax.operators import rows
from whence.syntax.relax.rows import Shape, bound
from whence.syntax.relax.terms import constant, infer_shallow, shape_of, sizes_tensor, tensor_of
from whence.syntax.relax.types import is_unknown
from whence.syntax.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Program,
    Tuple,
    TupleGetItem,
)
from whence.syntax.relay.nodes import children

IMPURE = frozenset(
    {"print", "assert_op", "call_packed", "call_inplace_packed", "call_builtin_with_ctx", "invoke_closure"}
)
"""Calls that do more than compute their results."""
_ELSEWHERE = {
    "call_packed": "functions from outside",
    "call_pure_packed": "functions from outside",
    "call_inplace_packed": "functions from outside",
    "call_builtin_with_ctx": "functions of TVM's virtual machine",
    "print": "prints",
    "assert_op": "assertions at run time",
    "make_closure": "closures as objects; functions inside of functions are closures",
    "invoke_closure": "closures as objects; functions inside of functions are closures",
    "invoke_pure_closure": "closures as objects; functions inside of functions are closures",
    "to_vdevice": "several devices",
    "hint_on_device": "several devices",
}
_ROOMS = {
    "builtin": "tensors that a text allocates; results are those of calls",
    "memory": "tensors that a text allocates; results are those of calls",
    "vm": "operators of TVM's virtual machine",
    "dist": "several devices",
    "ccl": "several devices",
}
"""What the operators of a room need that is not here."""
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "floor_mod",
    ast.Pow: "power",
    ast.MatMult: "matmul",
}
_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
}


Special: TypeAlias = "Callable[[Any, ast.Call, Sequence[Any], Mapping[str, Any]], Any]"


class Values(Types):
    """The values of expressions: tensors as expressions of relay, shapes, numbers, texts, and lists of these."""

    program: Program
    """The functions of the module."""
    metadata: Mapping[str, Sequence[Array]]
    module: str = ""
    """The name of the class that is the module."""
    in_dataflow: bool = False

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression; raises Mistake for one without a meaning."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name():
                value = self.look_up(node)
                if isinstance(value, SizeExpr):
                    self.symbols.setdefault(str(value), node)
                return value
            case ast.Tuple():
                return tuple(self.value(part) for part in node.elts)
            case ast.List():
                return [self.value(part) for part in node.elts]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.value(operand)
                if isinstance(value, Expr):
                    return self.operator(node, "negative", [value], {})
                if not isinstance(value, int | float | SizeExpr):
                    self.source.refuse(node, f"expected a number or a tensor behind -, got {described(value)}")
                return -value
            case ast.BinOp():
                return self._binary(node)
            case ast.Subscript():
                return self._item(node)
            case ast.Attribute():
                return self._member(node)
            case ast.Call():
                return self._call(node)
            case _:
                self.source.refuse(node, f"expected an expression of Relax, got {ast.unparse(node)}")

    def expression(self, node: ast.expr) -> Expr:
        """Return the expression for a value that is tensors."""
        return self.as_expression(node, self.value(node))

    @contextmanager
    def layer(self, name: str) -> Generator[None]:
        """A scope whose expressions belong to the binding of a name."""
        before, self.source.layer = self.source.layer, name
        try:
            yield
        finally:
            self.source.layer = before

    def as_expression(self, node: ast.AST, value: Any) -> Expr:
        """Return a value as an expression with a type; raises Mistake if it is none."""
        if isinstance(value, tuple | list) and not isinstance(value, Shape):
            value = Tuple([self.as_expression(node, part) for part in cast("Sequence[Any]", value)])
        if isinstance(value, Shape):
            value = sizes_tensor(value)
        if not isinstance(value, Expr):
            self.source.refuse(node, f"expected a tensor, got {described(value)}")
        self.locate(value, node)
        self.typed(node, value)
        return value

    def locate(self, value: Expr, node: ast.AST) -> None:
        """Give the place of a node to an expression and its parts that have none."""
        span = Span.of(self.source.location(node))
        waiting: list[Expr] = [value]
        while waiting:
            part = waiting.pop()
            if getattr(part, "span", True) is None and not isinstance(part, Function):
                cast(Any, part).span = span
                waiting += children(part)

    def typed(self, node: ast.AST, value: Expr) -> Attribute:
        """Return the type of an expression; what does not fit is a mistake at the node."""
        try:
            return infer_shallow(value, self.program)
        except WhenceError as error:
            text = str(error).removeprefix("relay.")
            # The place of the call is that of the node; the text may name others before.
            rest, layer, _ = text.rpartition(" (layer ")
            self.source.refuse(node, rest if layer and text.endswith(")") else text)

    # Kinds of expressions

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, Expr) or isinstance(right, Expr):
            name = _OPERATORS.get(type(node.op))
            if name is None:
                self.source.refuse(node, f"expected an operator of tensors, got {ast.unparse(node)}")
            return self.operator(node, name, [left, right], {})
        if all(isinstance(side, int | SizeExpr) for side in (left, right)) and not isinstance(node.op, ast.Div):
            return self.size(node)
        if all(isinstance(side, int | float) for side in (left, right)) and type(node.op) in _NUMBERS:
            try:
                return _NUMBERS[type(node.op)](left, right)
            except ArithmeticError as error:
                self.source.refuse(node, f"expected a number, got {ast.unparse(node)}: {error}")
        self.source.refuse(node, f"expected sizes or tensors, got {ast.unparse(node)}")

    def _item(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Subscript) and ast.unparse(node.value.value) == "metadata":
            return self._constant(node, node.value)
        value, index = self.value(node.value), self.value(node.slice)
        if not isinstance(index, int):
            self.source.refuse(node.slice, f"expected the number of a field, got {ast.unparse(node.slice)}")
        if isinstance(value, tuple) and isinstance(node.value, ast.Tuple):
            value = self.as_expression(node.value, cast("Any", value))
        if isinstance(value, Shape | tuple | list):
            items = cast("Sequence[Any]", value)
            if not -len(items) <= index < len(items):
                self.source.refuse(node.slice, f"expected an index of {len(items)} fields, got {index}")
            return items[index]
        if not isinstance(value, Expr):
            self.source.refuse(node, f"expected a field of a tuple, got one of {described(value)}")
        return TupleGetItem(value, index)

    def _constant(self, node: ast.Subscript, table: ast.Subscript) -> Expr:
        kind, index = self.value(table.slice), self.value(node.slice)
        tensors = self.metadata.get(kind, ()) if isinstance(kind, str) else ()
        if kind not in KINDS or not isinstance(index, int) or not 0 <= index < len(tensors):
            self.source.refuse(
                node,
                f"expected a constant that the metadata has, got {ast.unparse(node)}; script(show_meta=True) has it",
            )
        return Constant(tensors[index])

    def _member(self, node: ast.Attribute) -> Any:
        functions = {**self.program.functions, **self.program.kernels}
        if isinstance(node.value, ast.Name) and node.attr in functions and self._is_module(node.value):
            return GlobalVar(node.attr)
        if (word := self.word(node)).startswith("R.") and word[2:] in NAMES:
            return word[2:]
        if isinstance(node.value, ast.Name) and self._is_module(node.value):
            hint = did_you_mean(node.attr, functions)
            self.source.refuse(node, f"expected a function of the module, got {node.attr}{hint}")
        self.source.refuse(node, f"expected an expression of Relax, got {ast.unparse(node)}")

    def _is_module(self, node: ast.Name) -> bool:
        return self.names.get(node.id) == "module" or (node.id == self.module and node.id not in self.names)

    def _call(self, node: ast.Call) -> Any:
        word = self.word(node.func)
        if word.startswith("R."):
            return self._word_call(node, word[2:])
        if word.startswith("T.float") or ast.unparse(node.func) == "float":
            return self._float(node)
        if word == "I.meta_var" and len(node.args) == 1:
            return self.value(node.args[0])
        if word.startswith("T."):
            return self.size(node)
        callee = self.value(node.func)
        if not isinstance(callee, Expr) or node.keywords:
            self.source.refuse(node, f"expected a call of a function, got {ast.unparse(node)}")
        call = Call(callee, [self.expression(arg) for arg in node.args])
        self.typed(node, call)
        return call

    def _float(self, node: ast.Call) -> float:
        """Return the number of `T.float32("inf")`, `T.float32(1)` or `float("inf")`."""
        try:
            (value,) = map(self.value, node.args)
            return float(value)
        except (ValueError, TypeError, OverflowError):
            self.source.refuse(node, f"expected a number, got {ast.unparse(node)}")

    def _word_call(self, node: ast.Call, name: str) -> Any:
        if name in IMPURE and self.in_dataflow:
            self.source.refuse(node, f"expected calls that only compute in a dataflow block, got R.{name}")
        elsewhere = _ELSEWHERE.get(name) or (name not in rows() and _ROOMS.get(name.partition(".")[0]))
        if elsewhere:
            self.source.refuse(node, f"expected an operator, got R.{name}: there are no {elsewhere}")
        special = self.special(name)
        if special is None and name not in rows():
            # Mistakes in its arguments are told with it.
            with suppress(Mistake):
                self._arguments(node)
            self.source.refuse(node, f"expected an operator that there is, got R.{name}{did_you_mean(name, rows())}")
        args, named = self._arguments(node)
        if special is not None:
            return special(self, node, args, named)
        return self.operator(node, name, args, named)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call in order, and those by name; raises Mistake after all are read."""
        values: dict[ast.expr, Any] = {}
        args = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        for arg in (*args, *named.values()):
            with suppress(Mistake):
                values[arg] = self._argument(arg)
        if len(values) < len(args) + len(named):
            raise Mistake
        return [values[arg] for arg in args], {key: values[arg] for key, arg in named.items()}

    def special(self, name: str) -> Special | None:
        """Return the reader of a word that is no operator; None for others."""
        return _SPECIAL.get(name)

    def _argument(self, node: ast.expr) -> Any:
        """Return an argument of a call, which may be a type, a list of types, or an index map."""
        if isinstance(node, ast.Call) and self.word(node.func) == "T.index_map" and len(node.args) == 1:
            (node,) = node.args
        if isinstance(node, ast.Lambda):
            return self._index_map(node)
        if isinstance(node, ast.List):
            return [self._argument(part) for part in node.elts]
        is_type = self.word(node.func if isinstance(node, ast.Call) else node) in TYPE_WORDS
        return self.type(node) if is_type else self.value(node)

    def _index_map(self, node: ast.Lambda) -> IndexMap:
        names = tuple(argument.arg for argument in node.args.args)
        before, self.names = self.names, {**self.names, **{name: self.symbol(node, name) for name in names}}
        read = dict(self.symbols)
        try:
            parts = node.body.elts if isinstance(node.body, ast.Tuple | ast.List) else [node.body]
            return IndexMap(names, tuple(self.size(part) for part in parts))
        finally:
            # Indices are no sizes that something must bind.
            self.names, self.symbols = before, read

    def operator(self, node: ast.AST, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
        """Return the call of an operator of Relax, with a type."""
        row = rows()[name]
        others = {key: _plain(value) for key, value in named.items() if key not in _UNREAD.get(name, ())}
        try:
            values = bound(row, [_plain(arg) for arg in args], others)
            call = row.expression(values)
        except WhenceError as error:
            self.source.refuse(node, str(error))
        except (TypeError, ValueError, KeyError, IndexError) as error:
            self.source.refuse(node, f"R.{name}: expected other arguments, got {error}")
        self.locate(call, node)
        self.typed(node, call)
        return call


_UNREAD = {
    "strided_slice": ("assume_inbound",),
    **{f"nn.max_pool{rank}d": ("count_include_pad",) for rank in (1, 2, 3)},
}
"""Arguments that change nothing here."""


def _plain(value: Any) -> Any:
    """Return an argument: a tuple of tensors as a list, `void` as no dtype."""
    if isinstance(value, tuple) and not isinstance(value, Shape):
        items = cast("tuple[Any, ...]", value)
        return list(items) if any(isinstance(item, Expr) for item in items) else items
    return None if value == "void" and isinstance(value, str) else value


def described(value: Any) -> str:
    """Return what a value is, for errors."""
    match value:
        case Shape():
            return "a shape"
        case SizeExpr():
            return f"the size {value}"
        case None:
            return "nothing"
        case _:
            return repr(value)


def _const(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Expr:
    dtype = args[1] if len(args) > 1 else named.get("dtype")
    try:
        array = np.asarray(args[0])
        dtype = dtype or {"int64": "int32", "float64": "float32"}.get(array.dtype.name, array.dtype.name)
        if dtype not in NAMES or array.dtype.kind not in "biuf":
            raise ValueError(f"{args[0]!r} of {dtype}")
        numpy_of(dtype)
        return constant(args[0], dtype)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        reader.source.refuse(node, f"expected numbers and a dtype in R.const, got {error}")


def _shape(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Shape:
    del named
    extents = cast("Sequence[Any]", args[0]) if args and isinstance(args[0], list | tuple) else None
    if extents is None or not all(isinstance(extent, int | SizeExpr) for extent in extents):
        reader.source.refuse(node, f"expected a list of sizes in R.shape, got {ast.unparse(node)}")
    return Shape(extents)


def _shape_of(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    del named
    data = reader.as_expression(node, args[0] if args else None)
    with reader.source.judged(node):
        extents = shape_of(data)
    if any(map(is_unknown, extents)):
        reader.source.refuse(node, f"expected a tensor whose sizes have names, got {tensor_of(data)}")
    return Shape(extents)


def _tuple(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    del reader, node, named
    return tuple(args)


def _first(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A number or a text stands for itself."""
    if len(args) != 1 or named:
        reader.source.refuse(node, f"expected one value, got {ast.unparse(node)}")
    return args[0]


def _optional(reader: Values, node: ast.Call, args: Sequence[Any], named: Mapping[str, Any]) -> None:
    del reader, node, args, named


_SPECIAL: Mapping[str, Special] = {
    "const": _const,
    "shape": _shape,
    "shape_of": _shape_of,
    "tuple": _tuple,
    "prim_value": _first,
    "str": _first,
    "dtype": _first,
    "tensor_to_shape": _first,
    "null_value": _optional,
}
"""Words that are no operators."""
