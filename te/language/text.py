"""The text of a scalar expression, as TVM 0.14 prints it: `i * 4 + j`, `T.max(a, b)`, `T.float32(1)`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ...support.dtypes import BOOL, INT, element_of, is_float
from .expr import (
    Axis,
    Binary,
    Broadcast,
    Call,
    CallExtern,
    Cast,
    Compare,
    Const,
    Expr,
    Joint,
    Not,
    Read,
    Reinterpret,
    Select,
    SizeNumber,
    Var,
    write_with,
)
from .lanes import Let, Ramp, Shuffle
from .reductions import Reduce
from .walks import children, operands_first

_LONGEST = 4000
"""Letters of an expression: one that uses another twice, as often as it is deep, has more than there are."""
ATOM, UNARY, PRODUCT, SUM, COMPARED, NOT, AND, OR = range(8)
"""How tightly Python binds: what binds less than its surroundings is put in parentheses."""
_INFIX = {
    "mul": ("*", PRODUCT),
    "floordiv": ("//", PRODUCT),
    "floormod": ("%", PRODUCT),
    "add": ("+", SUM),
    "sub": ("-", SUM),
}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_NAMES = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "shl": "shift_left",
    "shr": "shift_right",
    "div": "Div",
    "truncdiv": "Div",
    "truncmod": "truncmod",
}
"""Names of functions that differ from those of the operators."""
Spelling = tuple[str, int]


@write_with
def text(root: Expr) -> str:
    """Return the text of an expression; of one that is longer than some pages, only the outer parts."""
    if isinstance(root, Axis):
        return f"iter_var({root.name}, range(min={root.start}, ext={root.extent}))"
    texts: dict[int, Spelling] = {}
    for node in operands_first([root], texts):
        own, level = spell(node, [texts[id(child)] for child in children(node)])
        texts[id(node)] = (own, level) if len(own) <= _LONGEST else ("..", ATOM)
    return texts[id(root)][0]


def spell(node: Expr, parts: Sequence[Spelling]) -> Spelling:
    """Return the text of a node of those of its children, and how tightly it binds."""
    words = [part for part, _ in parts]
    match node:
        case Axis() | Var():
            return node.name, ATOM
        case Const():
            return _number(node)
        case SizeNumber():
            return str(node.value), ATOM if str(node.value).isidentifier() else SUM
        case Binary(op="and" | "or" as op) if element_of(node.dtype) == BOOL:
            return infix(op, AND if op == "and" else OR, parts)
        case Binary(op="div") if is_float(node.dtype):
            return infix("/", PRODUCT, parts)
        case Binary() if node.op in _INFIX:
            return infix(*_INFIX[node.op], parts)
        case Binary(op="xor", b=Const(value=-1)):
            return _call("bitwise_not", words[:1])
        case Binary():
            return _call(_NAMES.get(node.op, node.op), words)
        case Compare():
            return infix(COMPARISONS[node.op], COMPARED, parts)
        case Not():
            return f"not {within(parts[0], NOT)}", NOT
        case Select():
            return _call("if_then_else" if node.guarded else "Select", words)
        case Cast():
            return _call("Cast", [f'"{node.dtype}"', *words])
        case Reinterpret():
            return _call("reinterpret", [f'"{node.dtype}"', *words])
        case Call(name="negative"):
            return f"-{within(parts[0], UNARY)}", UNARY
        case Call():
            return _call("fabs" if node.name == "abs" and is_float(node.dtype) else node.name, words)
        case CallExtern():
            return _call("call_pure_extern", [f'"{node.dtype}"', f'"{node.callee}"', *words])
        case Let():
            return f"T.Let({words[2]}, where={{{words[0]}: {words[1]}}})", ATOM
        case Broadcast() | Ramp():
            return _call(type(node).__name__, [*words, str(node.lanes)])
        case Shuffle(vectors=vectors):
            return f"T.Shuffle([{', '.join(words[: len(vectors)])}], [{', '.join(words[len(vectors) :])}])", ATOM
        case Joint():
            return _call(node.op if isinstance(node.op, str) else node.op.name.rpartition(".")[2], words)
        case Read():
            outside = "" if node.otherwise is None else f", otherwise={_number(node.otherwise)[0]}"
            return f"{node.tensor.name}[{', '.join(words) or '()'}{outside}]", ATOM
        case Reduce():
            axes = ", ".join(axis.name for axis in node.axes)
            return _call(node.combiner.name if node.combiner is not None else node.reducer, [*words, f"axis=[{axes}]"])
        case _:
            return type(node).__name__, ATOM


def infix(symbol: str, level: int, parts: Sequence[Spelling]) -> Spelling:
    """The text of an operator; those of one level group from the left, but for comparisons, which Python chains."""
    first = level - 1 if level == COMPARED else level
    return f"{within(parts[0], first)} {symbol} {within(parts[1], level - 1)}", level


def within(part: Spelling, level: int) -> str:
    return part[0] if part[1] <= level else f"({part[0]})"


def _call(name: str, words: list[str]) -> Spelling:
    return f"T.{name}({', '.join(words)})", ATOM


def _number(node: Const) -> Spelling:
    value: Any = node.value
    if node.dtype == INT:
        return str(value), ATOM if value >= 0 else UNARY
    if is_float(node.dtype):
        value = f'"{value}"' if not isfinite(value) else f"{value:.17g}" if value != int(value) else str(int(value))
    return f"T.{node.dtype}({value})", ATOM
