"""The record of a block schedule: a `schedule.sequence` of instructions, and their replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NoneAttr,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.format import name_hint
from ...dialects.schedule import ArithOp, KnobOp, SequenceOp
from ...dialects.schedule.blocks import HANDLES, INSTRUCTIONS, Instruction, Kind
from ...dialects.schedule.inputs import Input
from ...provenance.builder import LocatedBuilder
from ...support.errors import ScheduleError
from ..schedule.choices import Choice, plain, repeated
from ..schedule.issued import issued
from .state import Handle


def attribute_of(value: object, primitive: str = "schedule") -> Attribute:
    """A constant of Python as an attribute. Raises ScheduleError for what has none, and integers beyond 64 bits."""
    match value:
        case Attribute():
            return value
        case None:
            return NoneAttr()
        case bool():
            return IntegerAttr(int(value), i1)
        case Integral():
            number = plain(cast("int", value))
            if not -(1 << 63) <= number < 1 << 63:
                raise ScheduleError(f"{primitive}: expected integers of 64 bits, got {number}")
            return IntegerAttr(number, i64)
        case Real():
            return FloatAttr(float(value), f64)
        case str():
            if value != value.encode(errors="replace").decode():
                raise ScheduleError(f"{primitive}: expected a text of whole letters, got {value!r}")
            return StringAttr(value)
        case list() | tuple():
            return ArrayAttr([attribute_of(each, primitive) for each in cast("Sequence[object]", value)])
        case dict():
            entries = cast("dict[object, object]", value)
            if all(isinstance(key, str) for key in entries):
                return DictionaryAttr({str(key): attribute_of(each, primitive) for key, each in entries.items()})
            raise ScheduleError(f"{primitive}: expected strings as keys of a dictionary, got {value!r}")
        case _:
            raise ScheduleError(f"{primitive}: expected numbers, strings, lists and dictionaries, got {value!r}")


def constant_in(attribute: Attribute) -> Any:
    """The constant that `attribute_of` made an attribute of."""
    match attribute:
        case NoneAttr():
            return None
        case IntegerAttr(type=IntegerType(width=width)) if width.data == 1:
            return bool(attribute.value.data)
        case IntegerAttr() | FloatAttr() | StringAttr():
            return getattr(attribute.value, "data", None) if not isinstance(attribute, StringAttr) else attribute.data
        case ArrayAttr():
            return [constant_in(each) for each in attribute]
        case DictionaryAttr():
            return {key: constant_in(each) for key, each in attribute.data.items()}
        case _:
            return attribute


class BlockRecord:
    """Appends instructions to the sequence of a block schedule."""

    def __init__(self, target: str, location: LocationAttr):
        self.sequence = SequenceOp(target)
        self.sequence.location = location
        self.values: dict[Handle, SSAValue] = {}
        self.lines: dict[Operation, str] | None = None
        """Instruction -> `file.py:12`, the line of Python that issued it; None: they are not kept."""
        self._builder = LocatedBuilder(self.sequence.block, location)

    def copy(self) -> BlockRecord:
        """Return a copy of the sequence, of which the handles are handles, too."""
        made = BlockRecord(self.sequence.target.data, self.sequence.location)
        copies: dict[SSAValue, SSAValue] = {}
        for op in self.sequence.block.ops:
            made.sequence.block.add_op(copy := op.clone(copies))
            copies.update(zip(op.results, copy.results, strict=True))
            if self.lines is not None:
                made.lines = made.lines or {}
                made.lines.update({copy: self.lines[op]} if op in self.lines else {})
        made.values = {handle: copies[value] for handle, value in self.values.items()}
        return made

    def add(
        self,
        name: str,
        inputs: Sequence[object],
        attrs: Mapping[str, object],
        outputs: Sequence[Handle | int],
        hints: Sequence[str],
        location: LocationAttr,
    ) -> list[Any]:
        """Record that a primitive was applied to `inputs` and gave `outputs`; returns these, numbers as choices."""
        with self._builder.located(location):
            items = [self._input(item) for item in inputs]
        types = [HANDLES["number" if isinstance(handle, int) else handle.kind] for handle in outputs]
        op = INSTRUCTIONS[name].make(items, {key: attribute_of(value) for key, value in attrs.items()}, types)
        if self.lines is not None:
            self.lines[op] = issued(__name__.rpartition(".")[0])
        with self._builder.located(location):
            self._builder.add(op)
        given: list[Any] = []
        for handle, value, hint in zip(outputs, op.outputs, hints, strict=True):
            value.name_hint = name_hint(hint)
            if isinstance(handle, Handle):
                self.values[handle] = value
            given.append(Choice.of(value, handle) if isinstance(handle, int) else handle)
        return given

    def _input(self, item: object) -> Input:
        """A handle's value, or one that follows from knobs; a constant for all else."""
        if isinstance(item, Handle):
            return self.values[item]
        if isinstance(item, Choice):
            value = item.value(self._builder, self.sequence)
            return attribute_of(plain(item)) if value is None else value
        return attribute_of(item)

    def knob(self, op: KnobOp, location: LocationAttr) -> Choice:
        """Record a choice, and return its number for primitives."""
        with self._builder.located(location):
            self._builder.add(op)
        return Choice.of(op.value, op.decision.value.data)

    @property
    def instructions(self) -> list[Instruction]:
        """The recorded instructions, in order."""
        return [op for op in self.sequence.block.ops if isinstance(op, Instruction)]


class Unrecorded:
    """In place of a record, where primitives are tried."""

    def add(
        self,
        name: str,
        inputs: Sequence[object],
        attrs: Mapping[str, object],
        outputs: Sequence[Handle | int],
        hints: Sequence[str],
        location: LocationAttr,
    ) -> list[Any]:
        """Return what a primitive gave."""
        del name, inputs, attrs, hints, location
        return list(outputs)


def arguments_of(kind: Kind, items: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The positional and keyword arguments of a schedule's method of a primitive, of its inputs and attributes."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for number, keyword in enumerate(kind.inputs):
        if keyword.startswith("*"):
            positional += items[number:]
        elif keyword.startswith("["):
            keywords[keyword[1:-1]] = items[number:]
        elif number < len(items):
            keywords[keyword] = items[number]
    return positional, keywords | dict(attrs)


def replay(schedule: Any, sequence: SequenceOp, count: int | None = None) -> None:
    """Apply the first `count` primitives of a sequence, all for None, to a schedule to which nothing was done.

    Raises ScheduleError for one that does not fit.
    """
    handles: dict[SSAValue, Handle | Choice] = {}
    done = 0
    for op in sequence.block.ops:
        match op:
            case KnobOp():
                copy = op.clone()
                handles[op.value] = schedule.record.knob(copy, op.location)
            case ArithOp():
                handles[op.value] = repeated(op, cast("dict[SSAValue, Choice]", handles))
            case Instruction():
                if not op.KIND.pure:
                    if done == count:
                        return
                    done += 1
                _repeat(schedule, op, handles)
            case _:
                raise ScheduleError(f"schedule.sequence: expected primitives on blocks, got {op.name}")


def _repeat(schedule: Any, op: Instruction, handles: dict[SSAValue, Handle | Choice]) -> None:
    """Do what one primitive says, and take up the handles that it gives."""
    items = [handles[item] if isinstance(item, SSAValue) else constant_in(item) for item in op.inputs]
    attrs = {key: constant_in(value) for key, value in op.attrs.data.items()}
    positional, keywords = arguments_of(op.KIND, items, attrs)
    result = getattr(schedule, op.KIND.name)(*positional, **keywords)
    results = [] if result is None else cast("list[Handle]", result if isinstance(result, list) else [result])
    if len(results) != len(op.outputs):
        raise ScheduleError(f"{op.KIND.name}: expected {len(op.outputs)} results, got {len(results)}")
    handles.update(zip(op.outputs, results, strict=True))
