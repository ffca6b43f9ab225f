"""Hybrid scripts of kernels: their statements as the text of a function that `te.hybrid.script` reads.

A function of loops, branches, elements and numbers has such a text. Notes on loops are not part of the language, and
are left out; anything else that it does not have is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from xdsl.ir import Operation

from whence.support.dtypes import BOOL, INT, element_of, fail, is_float
from whence.te.language.expr import Axis, Binary, Call, Cast, Compare, Const, Expr, Joint, Not, Read, Select, Var
from whence.te.language.hybrid_runtime import HYBRID_GLOBALS
from whence.te.language.operators import OF_FLOATS
from whence.te.language.statements import (
    Allocate,
    AssertStmt,
    Buffer,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from whence.te.language.text import AND, ATOM, OR, PRODUCT, spell, within
from whence.tir.script_text import Printer, Spelling

_LOOPS = {
    ForKind.SERIAL: "range",
    ForKind.PARALLEL: "parallel",
    ForKind.VECTORIZED: "vectorize",
    ForKind.UNROLLED: "unroll",
}
_SYMBOLS = {"xor": "^", "shl": "<<", "shr": ">>"}
_FUNCTIONS = {"max": "maximum", "min": "minimum", "pow": "power", "div": "truncdiv"}
_CHOICE = OR + 1


def hybrid_text(name: str, params: Sequence[Buffer | Var], outputs: Sequence[Buffer], body: Stmt) -> str:
    """Return the text of a function of statements, which gives the outputs.

    A size that is no parameter is read off the shape of one. Raises ScheduleError for what no script can say.
    """
    printer = _Printer(name, params)
    return printer.script(name, params, outputs, body)


class _Printer(Printer):
    def __init__(self, name: str, params: Sequence[Buffer | Var]):
        super().__init__("0.14")
        self.used |= {*HYBRID_GLOBALS, name}
        self.known: dict[str, str] = {}
        """The texts of sizes, by their names."""
        for param in params:
            text = self.buffer(param) if isinstance(param, Buffer) else self.name(param, param.name)
            if isinstance(param, Buffer):
                extents = enumerate(param.shape)
                shape = {each.name: f"{text}.shape[{axis}]" for axis, each in extents if isinstance(each, Var)}
                self.known = {**shape, **self.known}
            else:
                self.known[param.name] = text

    def script(self, name: str, params: Sequence[Buffer | Var], outputs: Sequence[Buffer], body: Stmt) -> str:
        names = [self.names[id(param)] for param in params]
        self.line(f"def {name}({', '.join(names)}):")
        self.depth += 1
        for buffer in outputs:
            self.line(f"{self.buffer(buffer)} = output_tensor({self.shape(buffer)}, {buffer.dtype!r})")
        self.statement(body)
        self.line(f"return {', '.join(map(self.buffer, outputs))}")
        return "\n".join([*self.lines, ""])

    def _next(self, stmt: Stmt) -> Stmt | None:
        match stmt:
            case Allocate():
                buffer = stmt.buffer
                words = [self.shape(buffer), repr(buffer.dtype), repr(buffer.scope())]
                self.line(f"{self.buffer(buffer)} = allocate({', '.join(words)})")
                return stmt.body
            case LetStmt() | AssertStmt() | For() | IfThenElse() | While() | SeqStmt() | BufferStore():
                return super()._next(stmt)
            case _:
                fail(f"te.hybrid.build: expected loops, branches and elements, got {type(stmt).__name__}")

    def _loop(self, stmt: For) -> None:
        start, extent = self.expr(stmt.min), self.expr(stmt.extent)
        ends = extent if start == "0" else f"{start}, {self.expr(stmt.min + stmt.extent)}"
        name = self.name(stmt.loop_var, stmt.loop_var.name)
        self._indented(f"for {name} in {_LOOPS[ForKind(stmt.kind)]}({ends}):", stmt.body)

    def _annotation(self, dtype: str) -> str:
        return ""

    def _spelled(self, node: Expr, texts: Mapping[int, Spelling]) -> Spelling:
        parts = [texts[id(child)] for child in self._operands(node)]
        words = [text for text, _ in parts]
        if isinstance(node, Joint) and isinstance(node.op, Operation) and (name := OF_FLOATS.get(type(node.op))):
            # That it may be computed less exactly is left out.
            node = Binary(name, *node.parts)
        match node:
            case _ if id(node) in self.named:
                return self.named[id(node)], ATOM
            case Var() if id(node) not in self.names:
                return self._size(node.name), ATOM
            case Var() | Axis() | Read():
                return super()._spelled(node, texts)
            case Const():
                return _number(node)
            case Cast():
                return _call(node.dtype, words)
            case Select():
                return f"{within(parts[1], OR)} if {within(parts[0], OR)} else {within(parts[2], _CHOICE)}", _CHOICE
            case Binary(op="and" | "or" as op) if element_of(node.dtype) == BOOL:
                level = AND if op == "and" else OR
                return f"{within(parts[0], level)} {op} {within(parts[1], level - 1)}", level
            case Binary(op="and" | "or" | "xor" | "shl" | "shr" as op):
                symbol = {"and": "&", "or": "|", **_SYMBOLS}[op]
                return f"({within(parts[0], ATOM)} {symbol} {within(parts[1], ATOM)})", ATOM
            case Binary(op="div") if is_float(node.dtype):
                return f"{within(parts[0], PRODUCT)} / {within(parts[1], PRODUCT - 1)}", PRODUCT
            case Binary(op="add" | "sub" | "mul" | "floordiv" | "floormod"):
                return spell(node, parts)
            case Compare() | Not() | Call(name="negative"):
                return spell(node, parts)
            case Binary(op=op) | Call(name=op):
                return _call(_FUNCTIONS.get(op, op), words)
            case Joint(op="fma"):
                return _call("fma", words)
            case _:
                fail(f"te.hybrid.build: expected expressions that scripts have, got {node}")

    def _size(self, name: str) -> str:
        if name not in self.known:
            fail(f"te.hybrid.build: expected the size {name} among the inputs, or as the extent of one")
        return self.known[name]


def _call(name: str, words: Sequence[str]) -> Spelling:
    if name not in HYBRID_GLOBALS:
        fail(f"te.hybrid.build: expected functions that scripts have, got {name}")
    return f"{name}({', '.join(words)})", ATOM


def _number(node: Const) -> Spelling:
    value: Any = node.value
    if is_float(node.dtype) and isnan(value):
        fail("te.hybrid.build: expected numbers that scripts can say, got NaN")
    text = repr(value).replace("inf", "1e999")
    plain = node.dtype in (INT, "float32", BOOL) and not text.startswith("-")
    return (text, ATOM) if plain else (f"{node.dtype}({text})", ATOM)
