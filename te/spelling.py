"""The formula of a compute: `C[m, n] += A[m, k] * B[k, n]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ..dialects import te
from ..dialects.affine import spell
from ..dialects.relay.constants import dtype_name

_ATOM, _UNARY, _PRODUCT, _SUM, _SHIFT, _COMPARE, _LOGIC, _ELSE = 8, 7, 6, 5, 4, 3, 2, 1
_SHORT = 20
"""A value used more than once gets a name when its text is longer."""

_BINARY = {
    **dict.fromkeys(("mulf", "muli"), ("*", _PRODUCT)),
    **dict.fromkeys(("divf", "divsi", "divui"), ("/", _PRODUCT)),
    **dict.fromkeys(("remf", "remsi", "remui"), ("%", _PRODUCT)),
    "floordivsi": ("//", _PRODUCT),
    **dict.fromkeys(("addf", "addi"), ("+", _SUM)),
    **dict.fromkeys(("subf", "subi"), ("-", _SUM)),
    "shli": ("<<", _SHIFT),
    **dict.fromkeys(("shrsi", "shrui"), (">>", _SHIFT)),
    "andi": ("&", _LOGIC),
    "ori": ("|", _LOGIC),
    "xori": ("^", _LOGIC),
}
"""Ops of arith that are operators: symbol and how tightly it binds."""
_FUNCTIONS = {
    **dict.fromkeys(("maximumf", "maxnumf", "maxsi", "maxui"), "max"),
    **dict.fromkeys(("minimumf", "minnumf", "minsi", "minui"), "min"),
    **dict.fromkeys(("absf", "absi"), "abs"),
    **dict.fromkeys(("powf", "fpowi", "ipowi"), "pow"),
}
"""Ops that have another name as a function; all others are called as they are."""
_CASTS = {"extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "trunci", "extsi", "extui", "index_cast"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UPDATES: dict[str, Callable[[str, str], str]] = {
    "sum": lambda target, term: f"{target} += {term}",
    "prod": lambda target, term: f"{target} *= {term}",
    "max": lambda target, term: f"{target} = max({target}, {term})",
    "min": lambda target, term: f"{target} = min({target}, {term})",
}
"""How a reducer takes one more term."""


@dataclass(frozen=True)
class _Text:
    text: str
    binding: int = _ATOM

    def inside(self, binding: int) -> str:
        """As an operand of something that binds with `binding`."""
        return self.text if self.binding >= binding else f"({self.text})"


def tensor_name(tensor: SSAValue) -> str:
    """The label of the stage that computes a tensor, the name of an argument (`p0` when it has none)."""
    owner = tensor.owner
    if isinstance(owner, te.ComputeOp):
        return owner.label.data
    return tensor.name_hint or (f"p{tensor.index}" if isinstance(tensor, BlockArgument) else "value")


def axis_names(compute: te.ComputeOp) -> list[str]:
    """The names of the axes, data axes first."""
    return [argument.name_hint or f"ax{i}" for i, argument in enumerate(compute.block.args)]


def statements(compute: te.ComputeOp) -> list[str]:
    """The formula of a compute as assignments: first those of values that are used several times, then the element."""
    return _Speller(compute).run()


def expression(compute: te.ComputeOp) -> str:
    """The formula of a compute in one line."""
    return "; ".join(statements(compute))


def _number(attribute: Attribute) -> str:
    match attribute:
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return "true" if attribute.value.data else "false"
        case IntegerAttr():
            return str(attribute.value.data)
        case FloatAttr():
            return f"{attribute.value.data:.7g}"
        case _:
            return str(attribute)


class _Speller:
    def __init__(self, compute: te.ComputeOp):
        self.compute = compute
        self.values: dict[SSAValue, _Text] = {
            argument: _Text(name) for argument, name in zip(compute.block.args, axis_names(compute), strict=True)
        }
        self.lines: list[str] = []

    def run(self) -> list[str]:
        compute = self.compute
        for op in compute.block.ops:
            for result in op.results:
                self._define(result, self._value(op))
        names = axis_names(compute)[: len(compute.shape)]
        target = compute.label.data + (f"[{', '.join(names)}]" if names else "")
        term = self.values[compute.yielded].text
        update = _UPDATES[compute.reducer.data] if compute.reducer is not None else "{} = {}".format
        return [*self.lines, update(target, term)]

    def _define(self, value: SSAValue, text: _Text) -> None:
        if len(text.text) > _SHORT and value.uses.get_length() > 1:
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {text.text}")
            text = _Text(name)
        self.values[value] = text

    def _indices(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[str]:
        names = [self.values[operand].inside(_ATOM) for operand in operands]
        return [spell(expr, names) for expr in map.results]

    def _value(self, op: Operation) -> _Text:
        match op:
            case te.ReadOp():
                indices = self._indices(op.map.data, list(op.indices))
                element = tensor_name(op.tensor) + (f"[{', '.join(indices)}]" if indices else "")
                return _Text(element) if op.otherwise is None else self._otherwise(element, op.otherwise)
            case te.IndexOp():
                (text,) = self._indices(op.map.data, list(op.indices))
                return _Text(text, _SUM if " " in text else _ATOM)
            case arith.ConstantOp():
                text = _number(op.value)
                return _Text(text, _UNARY if text.startswith("-") else _ATOM)
            case arith.CmpiOp():
                return self._compare(op, arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data])
            case arith.CmpfOp():
                return self._compare(op, arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data])
            case _:
                return self._apply(op, op.name.rpartition(".")[2])

    @staticmethod
    def _otherwise(element: str, value: Attribute) -> _Text:
        return _Text(f"{element} else {_number(value)}", _ELSE)

    def _compare(self, op: Operation, predicate: str) -> _Text:
        if predicate[-2:] not in _COMPARISONS:
            return self._apply(op, predicate)
        left, right = (self.values[operand].inside(_COMPARE + 1) for operand in op.operands)
        return _Text(f"{left} {_COMPARISONS[predicate[-2:]]} {right}", _COMPARE)

    def _apply(self, op: Operation, name: str) -> _Text:
        operands = [self.values[operand] for operand in op.operands]
        if name in _BINARY:
            symbol, binding = _BINARY[name]
            left, right = operands
            return _Text(f"{left.inside(binding)} {symbol} {right.inside(binding + 1)}", binding)
        if name == "negf":
            return _Text(f"-{operands[0].inside(_UNARY + 1)}", _UNARY)
        if name in _CASTS:
            type_ = cast(Attribute, op.results[0].type)
            if isinstance(type_, IndexType):
                return operands[0]
            return _Text(f"{dtype_name(type_)}({operands[0].text})")
        return _Text(f"{_FUNCTIONS.get(name, name)}({', '.join(operand.text for operand in operands)})")
