"""Types of a Relax text: `R.Tensor((n, 4), dtype="float32")` and the others, in both spellings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, TensorType, TupleType
from xdsl.ir import Attribute

from whence.dialects.relay.types import function_type, tensors_differ, tuple_type
from whence.dialects.sizes import SizeExpr, UndecidedSize, ceil_div, size_max, size_min, symbol, symbols_of
from whence.script.names import POISON
from whence.script.source import Mistake, Source
from whence.support.errors import FrontendError
from whence.support.names import did_you_mean
from whence.syntax.relax.types import spelled
from whence.syntax.relay.type_view import tensor_type

UNKNOWN = tuple_type([])
"""A stand-in for what an annotation leaves open, such as R.Any."""
TYPE_WORDS = frozenset({"R.Tensor", "R.Tuple", "R.Shape", "R.Any", "R.Object", "R.Callable", "R.Prim"})
_DTYPES = ("int64", "int32", "float32", "float64", "float16", "bool", "int8", "uint8")


class Types:
    """The names of sizes in a text so far, and the types that are written with them.

    captured: gives the value of a name outside of the text, or raises KeyError. letter: returns the letter of the
    module of words that a name stands for.
    """

    def __init__(self, source: Source, captured: Callable[[str], Any], letter: Callable[[str], str]):
        self.source = source
        self.names: dict[str, Any] = {}
        self.symbols: dict[str, ast.AST] = {}
        """The sizes that are read, with the place of the first reading."""
        self.bound: set[str] = set()
        """The sizes that a parameter or a match_cast binds."""
        self._captured = captured
        self._letter = letter

    def word(self, node: ast.AST) -> str:
        """Return `R.nn.relu` for a word of a module of words, "" for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or not parts or node.id in self.names:
            return ""
        letter = self._letter(node.id)
        if letter == "R" and parts[-1] == "op":
            # `relax.op.add` is `R.add`.
            parts.pop()
        return ".".join([letter, *reversed(parts)]) if letter and parts else ""

    def look_up(self, node: ast.Name) -> Any:
        """Return what a name stands for; a size for one that is declared outside."""
        if node.id in self.names:
            if self.names[node.id] is POISON:
                raise Mistake
            return self.names[node.id]
        try:
            value = self._captured(node.id)
        except KeyError:
            known = [name for name, value in self.names.items() if value is not POISON]
            self.source.refuse(node, f"expected a name that is defined, got {node.id}{did_you_mean(node.id, known)}")
        if isinstance(value, TypeVar):
            return self.symbol(node, value.__name__)
        if isinstance(value, int | float | str):
            return value
        self.source.refuse(node, f"expected a plain constant from outside, got {node.id}, a {type(value).__name__}")

    # Sizes

    def size(self, node: ast.expr) -> Any:
        """Return a size: a number, or an expression of symbols."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(node.value, bool):
                return number
            case ast.Constant(value=str() as text):
                return self._quoted(node, text)
            case ast.Name():
                return self._named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.size(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(node, self.size(left), op, self.size(right))
            case ast.Call(func=func, args=args):
                return self._called(node, self.word(func), [self.size(arg) for arg in args])
            case _:
                self.source.refuse(node, f"expected a size, got {ast.unparse(node)}")

    def symbol(self, node: ast.AST, name: str) -> SizeExpr:
        """Return the size of a name; raises Mistake for a name that no size has."""
        try:
            return symbol(name)
        except ValueError as error:
            self.source.refuse(node, str(error))

    def _quoted(self, node: ast.Constant, text: str) -> Any:
        try:
            inner = ast.parse(text, mode="eval").body
        except SyntaxError:
            self.source.refuse(node, f"expected a size, got {text!r}")
        for part in ast.walk(inner):
            ast.copy_location(part, node)
            if isinstance(part, ast.Name) and part.id not in self.names:
                self.names[part.id] = self.symbol(node, part.id)
        return self.size(inner)

    def _named(self, node: ast.Name) -> Any:
        value = self.look_up(node)
        for name in symbols_of(value) if isinstance(value, SizeExpr) else ():
            self.symbols.setdefault(name, node)
        if not isinstance(value, SizeExpr | int):
            self.source.refuse(node, f"expected a size, got {node.id}, which is none")
        return value

    def _arithmetic(self, node: ast.BinOp, left: Any, op: ast.operator, right: Any) -> Any:
        try:
            match op:
                case ast.Add():
                    return left + right
                case ast.Sub():
                    return left - right
                case ast.Mult():
                    return left * right
                case ast.FloorDiv():
                    return left // right
                case ast.Mod():
                    return left % right
                case _:
                    self.source.refuse(node, "expected +, -, *, // or % of sizes")
        except (ZeroDivisionError, UndecidedSize) as error:
            self.source.refuse(node, f"expected a size, got {ast.unparse(node)}: {error}")

    def _called(self, node: ast.Call, word: str, args: Sequence[Any]) -> Any:
        match word, args:
            case ("T.min", [first, second]):
                return size_min(first, second)
            case ("T.max", [first, second]):
                return size_max(first, second)
            case ("T.ceildiv", [first, second]):
                return ceil_div(first, second)
            case ("T.floordiv", [first, second]):
                return first // second
            case ("T.floormod", [first, second]):
                return first % second
            case ("T.int64" | "T.int32" | "T.cast" | "R.prim_value", [first, *_]):
                return first
            case _:
                self.source.refuse(node, f"expected a size, got {ast.unparse(node)}")

    # Types

    def type(self, node: ast.expr, binds: bool = False) -> Attribute:
        """Return the type of an annotation. binds: whether it binds the sizes that it names."""
        match node:
            case ast.Call(func=func, args=args, keywords=keywords):
                named = {keyword.arg: keyword.value for keyword in keywords}
                return self._typed(node, self.word(func), args, named, binds)
            case ast.Attribute() if self.word(node) in TYPE_WORDS:
                return UNKNOWN
            case ast.Attribute() if (word := self.word(node)).startswith("T.") and word[2:] in _DTYPES:
                return tensor_type((), word[2:])
            case ast.Constant(value=None):
                return UNKNOWN
            case _:
                self._no_type(node)

    def _no_type(self, node: ast.expr) -> NoReturn:
        got = ast.unparse(node)
        if self.word(getattr(node, "func", node)).startswith("R.dist."):
            got += ": there are no several devices"
        self.source.refuse(node, f"expected a type such as R.Tensor, got {got}")

    def _typed(
        self, node: ast.Call, word: str, args: Sequence[ast.expr], named: dict[str | None, ast.expr], binds: bool
    ) -> Attribute:
        match word:
            case "R.Tensor":
                return self._tensor(node, list(args), named, binds)
            case "R.Tuple":
                parts = args[0].elts if len(args) == 1 and isinstance(args[0], ast.List | ast.Tuple) else args
                return tuple_type([self.type(part, binds) for part in parts])
            case "R.Callable" if len(args) >= 2 and isinstance(args[0], ast.Tuple | ast.List):
                return function_type((), [self.type(part) for part in args[0].elts], self.type(args[1]))
            case "R.Prim" if args or "dtype" in named:
                dtype = args[0] if args else named["dtype"]
                if isinstance(dtype, ast.Constant):
                    with self.source.judged(node):
                        return tensor_type((), str(dtype.value))
                self.source.refuse(node, "expected a dtype in R.Prim")
            case _ if word in TYPE_WORDS:
                return UNKNOWN
            case _:
                self._no_type(node)

    def _tensor(
        self, node: ast.Call, args: list[ast.expr], named: dict[str | None, ast.expr], binds: bool
    ) -> Attribute:
        parts = dict(zip(("shape", "dtype", "vdevice", "ndim"), args, strict=False)) | named
        shape, dtype, ndim = parts.get("shape"), parts.get("dtype"), parts.get("ndim")
        if isinstance(shape, ast.Constant) and isinstance(shape.value, str):
            shape, dtype = None, shape
        if isinstance(dtype, ast.Name) and isinstance(value := self.look_up(dtype), str):
            dtype = ast.Constant(value)
        if not isinstance(dtype, ast.Constant) or not isinstance(dtype.value, str):
            return UNKNOWN
        if isinstance(shape, ast.Tuple | ast.List):
            extents: list[Any] = [self.size(part) for part in shape.elts]
            if binds:
                self.bound.update(name for extent in extents for name in symbols_of(extent))
        elif isinstance(ndim, ast.Constant) and isinstance(ndim.value, int) and ndim.value >= 0:
            extents = [DYNAMIC_INDEX] * ndim.value
        else:
            return UNKNOWN
        with self.source.judged(node):
            return tensor_type(extents, dtype.value)


def contradicts(annotation: Attribute, actual: Attribute, sizes: bool = True) -> bool:
    """Return whether no value of a type is one that an annotation says. sizes: whether named sizes count."""
    if annotation == UNKNOWN or annotation == actual:
        return False
    if isinstance(annotation, TupleType) and isinstance(actual, TupleType):
        pairs = list(zip(annotation.types, actual.types, strict=False))
        return len(annotation.types) != len(actual.types) or any(contradicts(a, b, sizes) for a, b in pairs)
    if isinstance(annotation, FunctionType) and isinstance(actual, FunctionType):
        return len(annotation.inputs) != len(actual.inputs)
    if not isinstance(annotation, TensorType) or not isinstance(actual, TensorType):
        return True
    return tensors_differ(cast("TensorType[Attribute]", annotation), cast("TensorType[Attribute]", actual), sizes=sizes)


def type_text(type_: Attribute) -> str:
    """Return the text of a type in an error."""
    try:
        return spelled(type_)
    except FrontendError:
        return str(type_)
