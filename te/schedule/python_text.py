"""Python that repeats the primitives of a sequence: names of its values, constants, knobs and arithmetic."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    Builtin,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from ...dialects.affine import spell
from ...dialects.schedule import ArithOp, KnobOp
from ...dialects.schedule.inputs import Input
from ...provenance.diagnostics import message
from ...support.errors import ScheduleError

_OPERATORS = {"product": "{} * {}", "quotient": "{} // {}", "sum": "{} + {}", "parts": "-(-{} // {})"}


def literal(attribute: Attribute) -> str:
    """A constant as Python spells it, or the call of `attribute` that gives it."""
    match attribute:
        case NoneAttr():
            return "None"
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return str(bool(attribute.value.data))
        case IntegerAttr() | FloatAttr():
            return repr(attribute.value.data)
        case StringAttr():
            return repr(attribute.data)
        case ArrayAttr():
            return f"[{', '.join(literal(each) for each in attribute)}]"
        case AffineMapAttr():
            names = index_names(attribute.data.num_dims)
            exprs = ", ".join(expression(expr, names) for expr in attribute.data.results)
            return f"lambda {', '.join(names)}: [{exprs}]"
        case DictionaryAttr(data=entries):
            return f"{{{', '.join(f'{key!r}: {literal(value)}' for key, value in entries.items())}}}"
        case _:
            return attribute_text(attribute)


def attribute_text(attribute: Attribute) -> str:
    """The call of `attribute` that gives an attribute."""
    return f"te.schedule.attribute({str(attribute)!r})"


def attribute(text: str) -> Attribute:
    """Return the attribute that a text spells. Raises ScheduleError for another text."""
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    try:
        return Parser(context, text).parse_attribute()
    except ParseError as error:
        raise ScheduleError(message("te.schedule.attribute", "the text of an attribute", repr(text))) from error


def index_names(count: int) -> list[str]:
    """Names of the indices of a layout or condition."""
    return [f"i{number}" for number in range(count)]


def expression(expr: AffineExpr, names: Sequence[str]) -> str:
    """Return an affine expression as Python spells it."""
    return spell(expr, names).replace(" floordiv ", " // ").replace(" mod ", " % ")


class PythonText:
    """Lines under way.

    schedule: the name of the schedule in them. taken: other names that they must not give to anything. name: a value's
    own name for each value that is defined; None: it is made of its name in the sequence.
    """

    def __init__(self, schedule: str, taken: Sequence[str] = (), name: Callable[[SSAValue], str] | None = None):
        self.schedule = schedule
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self._taken = {schedule, *taken}
        self._name = name

    def define(self, value: SSAValue) -> str:
        """Return a new name for a value."""
        self.names[value] = self._name(value) if self._name is not None else self._identifier(value.name_hint or "v")
        return self.names[value]

    def _identifier(self, hint: str) -> str:
        base = re.sub(r"\W", "_", hint, flags=re.ASCII)
        base = f"v{base}" if base[:1].isdigit() or keyword.iskeyword(base) else base
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def of(self, item: Input | int) -> str:
        """Return the text of an input: a name, or a constant."""
        return str(item) if isinstance(item, int) else self.names[item] if isinstance(item, SSAValue) else literal(item)

    def assign(self, results: Sequence[SSAValue], text: str, *, unpack: bool = False) -> None:
        """Append a line that names the results of an expression; unpack: it is a list, also of one."""
        names = [self.define(value) for value in results]
        left = f"{names[0]}, = " if unpack and len(names) == 1 else f"{', '.join(names)} = " if names else ""
        self.lines.append(left + text)

    def knob(self, op: KnobOp) -> None:
        """Append the line of a knob, or of a sample."""
        if (probs := op.attributes.get("probs")) is not None:
            decision = op.values.index(op.decision.value.data)
            parts = f"candidates={list(op.values)}, probs={literal(probs)}, decision={decision}"
            return self.assign([op.value], f"{self.schedule}.sample_categorical({parts})")
        call = f"{self.schedule}.knob({op.knob.data!r}, {list(op.values)}, {op.decision.value.data})"
        self.assign([op.value], f"te.schedule.looked_at({call})" if op.is_fixed else call)

    def arith(self, op: ArithOp) -> None:
        """Append the line of a number computed of others."""
        first, second = (f"({text})" if text.startswith("-") else text for text in map(self.of, op.inputs))
        pattern = _OPERATORS.get(op.kind.data, "te.schedule.least({}, {})")
        self.assign([op.value], pattern.format(first, second))

    def function(self, name: str, parameters: str) -> str:
        """Return the lines as a function."""
        body = [f"    {line}" for line in self.lines or ["pass"]]
        return "\n".join([f"def {name}({parameters}):", *body]) + "\n"
