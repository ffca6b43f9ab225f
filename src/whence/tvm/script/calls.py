"""Calls in expressions of a script: words of T, and methods of buffers and numbers."""

from __future__ import annotations

import ast
from math import isinf
from typing import Any, cast

import whence.script.vectors as vectors
from whence.script.expressions import Expressions
from whence.script.names import NUMBERS, described, syntax
from whence.script.words import CALLS, SPECIAL
from whence.support.dtypes import BOOL, NAMES, element_of, is_float, lanes_of, rounded
from whence.support.names import did_you_mean
from whence.target import Target
from whence.te.language.blocks import BufferRegion
from whence.te.language.expr import Const, Expr, constant, convert
from whence.te.language.externs import call_packed
from whence.te.language.math import call_pure_extern, reinterpret
from whence.te.language.math import cast as cast_to
from whence.te.language.statements import Buffer, ExternCall, Pointer

_LEAST = {
    **{
        "Let": 1,
        "Ramp": 3,
        "address_of": 1,
        "call_packed": 1,
        "let": 3,
        "masked_load": 3,
        "target": 1,
        "tvm_call_packed": 1,
    },
    **{"tvm_call_packed": 1, "tvm_stack_make_array": 1, "tvm_stack_make_shape": 0, "undef": 0},
}
"""The fewest arguments of functions that do not take two."""


class Calls(Expressions):
    """The meanings of calls."""

    def call(self, node: ast.Call) -> Any:
        """The meaning of a call, or a mistake."""
        word = self.word(node.func)
        args, named = self.arguments(node)
        if not word:
            return self._method(node, args, named)
        if vectors.is_dtype(word) or word == BOOL:
            return self._converted(node, word, args)
        if word == "meta_var" and len(args) == 1 and not named:
            return self.value(args[0])
        if word in SPECIAL:
            return self._special(node, word, args, named)
        if word not in CALLS:
            self.source.refuse(node, f"expected a number here, got T.{word}")
        values = [
            self.number(value, arg) if isinstance(value, Expr | BufferRegion) else value
            for value, arg in zip(self.values(args), args, strict=True)
        ]
        with self.source.judged(node):
            try:
                return CALLS[word](*values)
            except (TypeError, ValueError, AttributeError):
                self.source.refuse(node, f"expected the arguments that T.{word} takes, got {len(args)}")

    def _address(self, node: ast.Call, element: ast.expr) -> Pointer:
        """`T.address_of`: a pointer to an element, or to the first one."""
        base = self.value(element.value) if isinstance(element, ast.Subscript) else self.value(element)
        if not isinstance(base, Buffer):
            self.source.refuse(element, f"expected an element of a buffer, got {described(base)}")
        if not isinstance(element, ast.Subscript):
            return Pointer(base, convert(0))
        indices = self.indices(element)
        self.check_rank(element, base, indices)
        if any(isinstance(index, slice) or vectors.is_vector(index) for index in indices):
            self.source.refuse(element, "expected one element, got several")
        with self.source.judged(node):
            (offset,) = base.offset_of(indices) or [convert(0)]
            return Pointer(base, offset)

    def _target(self, node: ast.Call, args: list[ast.expr], named: dict[str, ast.expr]) -> Any:
        values, host = self.values(args), named.pop("host", None)
        if len(values) != 1 or named:
            self.source.refuse(node, f"expected T.target(description, host=..), got {len(args) + len(named)} arguments")
        with self.source.judged(node):
            return Target(values[0], host if host is None else self.value(host))

    def _method(self, node: ast.Call, args: list[ast.expr], named: dict[str, ast.expr]) -> Any:
        match node.func:
            case ast.Name(id="float" | "int" | "bool" as name) if len(args) == 1 and name not in self.names:
                value = self.value(args[0])
                try:
                    return {"float": float, "int": int, "bool": bool}[name](value)
                except (TypeError, ValueError, OverflowError):
                    self.source.refuse(node, f"expected a number or its text in {name}(..), got {described(value)}")
            case ast.Name(id="len") if len(args) == 1 and "len" not in self.names:
                value = self.value(args[0])
                if not isinstance(value, list | str):
                    self.source.refuse(node, f"expected a list in len(..), got {described(value)}")
                return len(cast("list[Any]", value))
            case ast.Attribute(attr="astype", value=inner) if len(args) == 1:
                return self._cast(node, self.text(args[0], "a dtype"), self.value(inner))
            case ast.Attribute(attr="vload", value=inner) if args:
                buffer, begin = self.buffer_of(inner), self.value(args[0])
                dtype = self.text(args[1], "a dtype") if len(args) > 1 else None
                with self.source.judged(node):
                    return buffer.vload(begin, dtype)
            case ast.Attribute(attr="access_ptr", value=inner):
                buffer, given = self.buffer_of(inner), [self.value(arg) for arg in args]
                with self.source.judged(node):
                    try:
                        return buffer.access_ptr(*given, **{name: self.value(value) for name, value in named.items()})
                    except TypeError:
                        self.source.refuse(node, "expected access_ptr(mask, offset=elements)")
            case ast.Attribute(value=inner) if not self.word(node.func):
                self.source.refuse(node, f"expected a function of T, got {syntax(node.func)}")
            case ast.Name(id=name):
                self.source.refuse(node, f"expected a function of T, got {name}(..), as nothing of Python's is run")
            case _:
                self.source.refuse(node, f"expected a function of T, got {syntax(node.func)}")

    def _converted(self, node: ast.Call, dtype: str, args: list[ast.expr]) -> Any:
        if len(args) != 1:
            self.source.refuse(node, f"expected T.{dtype}(number), got {len(args)} arguments")
        literal = args[0].value if isinstance(args[0], ast.Constant) else None
        value = literal if isinstance(literal, float) else self.value(args[0])
        if isinstance(value, str) and is_float(element_of(dtype)):
            try:
                value = float(value)
            except ValueError:
                self.source.refuse(args[0], f"expected inf, nan or a number, got {value!r}")
        if isinstance(value, Const) and value.location is None:
            value = value.value
        if isinstance(value, NUMBERS):
            element = element_of(dtype)
            if is_float(element) and isinf(rounded(value, element)) and not isinf(value):
                self.source.refuse(args[0], f"expected a number of {element}, got {value}")
            with self.source.judged(node):
                number = constant(float(value) if is_float(element_of(dtype)) else value, element_of(dtype))
                return number if lanes_of(dtype) == 1 else vectors.broadcast(number, lanes_of(dtype))
        return self._cast(node, dtype, value)

    def _cast(self, node: ast.AST, dtype: str, value: Any) -> Any:
        if not vectors.is_dtype(dtype) and dtype != BOOL:
            self.source.refuse(node, f"expected a dtype, got {dtype!r}{did_you_mean(dtype, NAMES)}")
        with self.source.judged(node):
            return cast_to(dtype, self.number(value, node))

    def _special(self, node: ast.Call, word: str, args: list[ast.expr], named: dict[str, ast.expr]) -> Any:
        values = [*args, *named.values()]
        least = _LEAST.get(word, 2)
        if len(values) < least and word not in ("call_extern", "call_pure_extern"):
            self.source.refuse(node, f"expected {least} arguments of T.{word}, got {len(values)}")
        match word:
            case "Cast":
                return self._cast(node, self.text(values[0], "a dtype"), self.value(values[1]))
            case "cast":
                return self._cast(node, self.text(values[1], "a dtype"), self.value(values[0]))
            case "reinterpret":
                dtype, operand = self.text(values[0], "a dtype"), self.value(values[1])
                with self.source.judged(node):
                    return reinterpret(dtype, operand)
            case "Ramp":
                with self.source.judged(node):
                    return vectors.ramp(self.expr(values[0]), self.expr(values[1]), self.value(values[2]))
            case "Broadcast":
                with self.source.judged(node):
                    return vectors.broadcast(self.expr(values[0]), self.value(values[1]))
            case "Shuffle":
                parts, lanes = (self.value(value) for value in values[:2])
                with self.source.judged(node):
                    return vectors.shuffle([self.number(part, values[0]) for part in _list(parts)], _list(lanes))
            case "masked_load":
                return self._masked_load(node, values)
            case "call_llvm_pure_intrin" | "call_llvm_intrin":
                return self._intrinsic(node, values)
            case "address_of":
                return self._address(node, values[0])
            case "undef":
                # Any value will do.
                return 0
            case "target":
                return self._target(node, args, named)
            case "call_packed" | "tvm_call_packed":
                name = self.text(values[0], "the name of a function")
                arguments = self.values(values[1:])
                with self.source.judged(node):
                    return call_packed(name, *arguments)
            case "tvm_stack_make_array":
                return self.buffer_of(values[0])
            case "tvm_stack_make_shape":
                return self.values(args)
            case "Let" | "let":
                return self._let(node, word, args, named)
            case _:
                if "dtype" in named:
                    values = [named.pop("dtype"), *args, *named.values()]
                return self._external(node, values)

    def _masked_load(self, node: ast.Call, values: list[ast.expr]) -> Any:
        dtype, buffer = self.text(values[0], "a dtype"), self.value(values[1])
        *indices, mask = (self.value(value) for value in values[2:])
        with self.source.judged(node):
            return vectors.masked_load(dtype, buffer, indices, mask)

    def _intrinsic(self, node: ast.Call, values: list[ast.expr]) -> Any:
        dtype, name = self.text(values[0], "a dtype"), self.text(values[1], "the name of an intrinsic")
        operands = [self.number(self.value(value), value) for value in values[2:]]
        with self.source.judged(node):
            return vectors.intrinsic(dtype, name, operands)

    def _external(self, node: ast.Call, values: list[ast.expr]) -> Any:
        if len(values) < 2:
            self.source.refuse(node, "expected a dtype and the name of a function")
        dtype, name = self.text(values[0], "a dtype"), self.text(values[1], "the name of a function")
        arguments = [self.value(value) for value in values[2:]]
        if any(isinstance(argument, Buffer | Pointer) for argument in arguments):
            return ExternCall(
                name, tuple(a if isinstance(a, Buffer | Pointer) else convert(a) for a in arguments), packed=False
            )
        with self.source.judged(node):
            if dtype == "handle":
                return ExternCall(name, tuple(map(convert, arguments)), packed=False)
            return call_pure_extern(dtype, name, *arguments)

    def _let(self, node: ast.Call, word: str, args: list[ast.expr], named: dict[str, ast.expr]) -> Any:
        """The body with the value for the name, which is written once."""
        body, bindings = args[0], named.get("where")
        if word == "let" and len(args) == 3:
            pairs, body = [(args[0], args[1])], args[2]
        elif isinstance(bindings, ast.Dict):
            pairs = [(key, value) for key, value in zip(bindings.keys, bindings.values, strict=True) if key is not None]
        else:
            self.source.refuse(node, "expected T.Let(body, where={name: value})")
        with self.scope():
            for key, value in pairs:
                if not isinstance(key, ast.Name):
                    self.source.refuse(key, "expected a name")
                self.names[key.id] = self.expr(value)
            return self.value(body)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]
