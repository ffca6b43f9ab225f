"""The formula of a compute: `C[m, n] += A[m, k] * B[k, n]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects import te
from ...dialects.affine import spell
from ...dialects.element_types import dtype_name
from ...dialects.te.stages import tensor_number

_ATOM, _UNARY, _PRODUCT, _SUM, _SHIFT, _COMPARE, _LOGIC, _ELSE = 8, 7, 6, 5, 4, 3, 2, 1
_SHORT, _TINY = 20, 8
"""A value used more than once gets a name when its text is longer, as `A[i, j]` or as `a + b`."""

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
"""Ops with another name as a function; all others keep their name."""
_CASTS = {"extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui", "trunci", "extsi", "extui"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UPDATES = {"sum": "+=", "prod": "*="}
"""Reducers that have an operator; another is a function of what there is and one more term."""


@dataclass(frozen=True)
class _Text:
    text: str
    binding: int = _ATOM

    def inside(self, binding: int) -> str:
        """Return the text as an operand of an operator of precedence `binding`."""
        return self.text if self.binding >= binding else f"({self.text})"


def tensor_name(tensor: SSAValue) -> str:
    """The label of the stage that computes a tensor, with `.v1` for its second result; the name of an argument.

    An argument without a name is `p0`, `p1`, ...
    """
    owner = tensor.owner
    if isinstance(owner, te.STAGES):
        return owner.label.data + (f".v{owner.results.index(tensor)}" if len(owner.results) > 1 else "")
    return tensor.name_hint or (f"p{tensor.index}" if isinstance(tensor, BlockArgument) else "value")


def axis_names(compute: te.ComputeOp) -> list[str]:
    """The names of the axes, data axes first."""
    return [argument.name_hint or f"ax{i}" for i, argument in enumerate(compute.block.args)]


def index_text(expr: AffineExpr, names: Sequence[str]) -> str:
    """An index expression, dim i spelled `names[i]`: `(i // 2) * 4 + j % 4`."""
    return spell(expr, names).replace(" floordiv ", " // ").replace(" mod ", " % ")


def statements(compute: te.ComputeOp) -> list[str]:
    """The formula of a compute as assignments: first those of values that are used several times, then the element."""
    return _Speller(compute).run()


def expression(compute: te.ComputeOp) -> str:
    """The formula of a compute in one line."""
    return "; ".join(statements(compute))


def formula(op: Operation) -> list[str]:
    """Return the formula of an operation: `statements` of a compute; of others the call with its arguments.

    `total = scan(state from init next update)`, `c = matmul(a, b, c, 2)`; of a state what it is a state of.
    """
    match op:
        case te.ComputeOp():
            return statements(op)
        case te.StateOp():
            scan = next(use.operation for use in op.result.uses if isinstance(use.operation, te.ScanOp))
            return [f"{op.label.data} = the steps of {scan.label.data} so far"]
        case te.ScanOp():
            names = [[tensor_name(tensor) for tensor in side] for side in (op.states, op.inits, op.updates)]
            parts = [f"{state} from {init} next {update}" for state, init, update in zip(*names, strict=True)]
            call = f"scan({', '.join(parts)})"
        case te.ExternOp():
            tensors = [tensor_name(tensor) for tensor in (*op.inputs, *op.outputs)]
            numbers = [tensor_number(argument) for argument in op.arguments]
            arguments = zip(numbers, op.arguments, strict=True)
            texts = [_number(argument) if number is None else tensors[number] for number, argument in arguments]
            call = f"{op.callee.data}({', '.join(texts)})"
        case te.HybridOp():
            call = f"hybrid({', '.join(map(tensor_name, op.inputs))})"
        case _:
            return []
    return [f"{', '.join(map(tensor_name, op.results))} = {call}"]


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


def _tuple(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


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
        point = f"[{', '.join(names)}]" if names else ""
        targets = [tensor_name(result) + point for result in compute.results]
        terms = [self.values[value].text for value in compute.yields]
        if compute.reducer is None:
            return [*self.lines, *(f"{target} = {term}" for target, term in zip(targets, terms, strict=True))]
        target, term = _tuple(targets), _tuple(terms)
        reducer = compute.reducer.data
        starts = [self.values[value].text for value in compute.inits]
        begin = f" from {_tuple(starts)}" if starts else ""
        if compute.combiner is None and reducer in _UPDATES:
            return [*self.lines, f"{target} {_UPDATES[reducer]} {term}{begin}"]
        return [*self.lines, f"{target} = {reducer}({target}, {term}){begin}"]

    def _define(self, value: SSAValue, text: _Text) -> None:
        if len(text.text) > (_SHORT if text.binding == _ATOM else _TINY) and value.uses.get_length() > 1:
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {text.text}")
            text = _Text(name)
        self.values[value] = text

    def _indices(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[str]:
        names = [self.values[operand].inside(_ATOM) for operand in operands]
        return [index_text(expr, names) for expr in map.results]

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
            return _Text(f"{dtype_name(op.results[0].type)}({operands[0].text})")
        if name == "index_cast":
            return operands[0]
        return _Text(f"{_FUNCTIONS.get(name, name)}({', '.join(operand.text for operand in operands)})")
