"""Numbers that follow from the decisions of a schedule's knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import SSAValue

from ...dialects.schedule import ArithOp, KnobOp, SequenceOp
from ...dialects.schedule.inputs import Input
from ...dialects.schedule.knob import ARITHMETIC
from ...provenance.builder import LocatedBuilder

Number: TypeAlias = "int | Choice"
_Integer: TypeAlias = IntegerAttr[IntegerType]


class Choice(int):
    """The number that a knob is decided to be, or one computed of such numbers.

    Primitives record where their numbers come from. `*`, `+`, `-`, `//` with ints and `least` keep that; everything
    else that asks for the number (comparisons, `int(..)`) makes the schedule one for this decision: the knob is fixed.
    """

    source: SSAValue | None
    """The value in a sequence that it stands for; None where no primitive needed one yet."""
    kind: str
    parts: tuple[Number, ...]
    """The arithmetic that it is computed by, and of which numbers."""

    @classmethod
    def of(cls, source: SSAValue, number: int) -> Choice:
        """The number that a value of a sequence is decided to be."""
        made = super().__new__(cls, number)
        made.source, made.kind, made.parts = source, "", ()
        return made

    @classmethod
    def computed(cls, kind: str, *parts: Number) -> Choice:
        """A number computed of others, some of which are choices."""
        made = super().__new__(cls, ARITHMETIC[kind](*map(plain, parts)))
        made.source, made.kind, made.parts = None, kind, parts
        return made

    def fix(self) -> None:
        """Note that primitives are chosen by the decisions that it follows from."""
        if self.source is not None and isinstance(self.source.owner, KnobOp):
            self.source.owner.fix()
        for part in self.parts:
            if isinstance(part, Choice):
                part.fix()

    def fixed(self) -> int:
        """The number alone, for primitives that are chosen by it."""
        self.fix()
        return plain(self)

    def value(self, builder: LocatedBuilder, sequence: SequenceOp) -> SSAValue | None:
        """The value of it in a sequence, made at its end if need be; None where it follows from knobs of another."""
        if self.source is not None and self.source.owner.parent is sequence.block:
            return self.source
        if not self.parts:
            return None
        inputs = [
            part.value(builder, sequence) if isinstance(part, Choice) else IntegerAttr(part, i64) for part in self.parts
        ]
        if None in inputs:
            return None
        self.source = builder.add(ArithOp(self.kind, cast("list[Input]", inputs))).value
        return self.source

    def __neg__(self) -> Choice:
        if self.kind == "quotient" and (parts := _negated(self.parts[0])) is not None:
            return Choice.computed("parts", parts, self.parts[1])
        return Choice.computed("product", self, -1)

    def __sub__(self, other: int) -> int:
        return self + -other

    def __rsub__(self, other: int) -> int:
        return -self + other

    def __repr__(self) -> str:
        return repr(plain(self))

    __str__ = __repr__

    def __hash__(self) -> int:
        return hash(self.fixed())

    def __reduce__(self) -> tuple[Any, ...]:
        return (int, (plain(self),))


def _negated(number: Number) -> Number | None:
    """The number of which another one is the negative, where that is simple."""
    if not isinstance(number, Choice):
        return -number
    return number.parts[0] if number.kind == "product" and _is(number.parts[1], -1) else None


def _is(number: Number, constant: int) -> bool:
    return not isinstance(number, Choice) and number == constant


def plain(number: int) -> int:
    """A number without where it comes from."""
    return int.__pos__(number) if isinstance(number, Choice) else int(number)


def least(first: int, second: int) -> int:
    """The smaller of two numbers; of a choice, one that follows from it."""
    if isinstance(first, Choice) or isinstance(second, Choice):
        return Choice.computed("min", first, second)
    return min(first, second)


def looked_at(number: int) -> int:
    """Return a number whose effects a schedule looks at, such as the extents of loops: its knobs are fixed."""
    if isinstance(number, Choice):
        number.fix()
    return number


def repeated(op: ArithOp, numbers: Mapping[SSAValue, Choice]) -> Choice:
    """The number that an op computes, of those of other values."""
    parts = [numbers[item] if isinstance(item, SSAValue) else cast("_Integer", item).value.data for item in op.inputs]
    return Choice.computed(op.kind.data, *parts)


def _traced(kind: str, name: str) -> None:
    """Define an operator, from both sides, that keeps where numbers come from."""

    def forward(self: Choice, other: object) -> object:
        if isinstance(other, int):
            return Choice.computed(kind, self, other)
        return getattr(int, f"__{name}__")(self.fixed(), other)

    def backward(self: Choice, other: object) -> object:
        if isinstance(other, int):
            return Choice.computed(kind, other, self)
        return getattr(int, f"__r{name}__")(self.fixed(), other)

    setattr(Choice, f"__{name}__", forward)
    setattr(Choice, f"__r{name}__", backward)


def _fixing(name: str) -> None:
    """Define a method that asks for the number itself."""
    method = cast("Callable[..., object]", getattr(int, name))

    def of_number(self: Choice, *others: Any) -> object:
        return method(self.fixed(), *others)

    setattr(Choice, name, of_number)


for _kind, _name in (("product", "mul"), ("quotient", "floordiv"), ("sum", "add")):
    _traced(_kind, _name)
for _name in (
    *("eq", "ne", "lt", "le", "gt", "ge", "bool", "int", "float", "trunc", "abs", "round", "invert"),
    *("truediv", "rtruediv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow"),
    *("and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift", "rshift", "rrshift"),
):
    _fixing(f"__{_name}__")
