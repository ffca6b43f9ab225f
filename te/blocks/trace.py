"""The record of a block schedule by TVM's names: as JSON, as Python, and applied to other schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Operation

from ...dialects.schedule import ArithOp, KnobOp, SequenceOp, decided
from ...dialects.schedule.blocks import Instruction
from ...provenance.diagnostics import message
from ...support.doors import doors
from ...support.errors import ScheduleError
from ..schedule.python_text import PythonText
from .record import attribute_of, constant_in, replay
from .trace_json import Json, apply_json, handle_names, probabilities, to_json

Provider: TypeAlias = Callable[[Operation, Sequence[Any], Sequence[Any], Any], Any]
"""(instruction, inputs, attributes, decision) -> the decision to take."""


@doors(ScheduleError)
class Trace:
    """The primitives of a block schedule, in order."""

    def __init__(self, sequence: SequenceOp):
        self.sequence = sequence

    @property
    def insts(self) -> list[Operation]:
        """The instructions: knobs and primitives."""
        return [op for op in self.sequence.block.ops if not isinstance(op, ArithOp)]

    @property
    def decisions(self) -> dict[Operation, Any]:
        """Instruction -> what is decided, of those that draw numbers."""
        return {op: found for op in self.insts if (found := self.get_decision(op)) is not None}

    def get_decision(self, inst: Operation) -> Any:
        """Return what an instruction is decided to give: a position of a candidate, or numbers; None for others."""
        if isinstance(inst, KnobOp):
            return inst.values.index(inst.decision.value.data)
        if isinstance(inst, Instruction) and inst.KIND.decided:
            return constant_in(inst.attrs.data["decision"])
        return None

    def with_decision(self, inst: Operation, decision: Any, remove_postproc: bool = False) -> Trace:
        """A copy in which an instruction is decided otherwise.

        Raises ScheduleError for an instruction of another trace or without decisions, and a decision that cannot be.
        """
        if inst not in self.decisions:
            raise ScheduleError(message("with_decision", "an instruction of the trace that decides", inst.name))
        if isinstance(inst, KnobOp):
            if decision not in range(len(inst.values)):
                raise ScheduleError(message("with_decision", f"a position among {list(inst.values)}", repr(decision)))
            made = Trace(decided(self.sequence, {inst.knob.data: inst.values[int(decision)]}))
        else:
            made = Trace(self.sequence.clone())
            copy = dict(zip(self.sequence.block.ops, made.sequence.block.ops, strict=True))[inst]
            assert isinstance(copy, Instruction)
            copy.attrs = type(copy.attrs)({**copy.attrs.data, "decision": attribute_of(decision)})
        return made._without_postproc() if remove_postproc else made

    def as_json(self, remove_postproc: bool = False, version: str = "0.27") -> Json:
        """TVM's form of it. version: whose names it has, "0.27" or "0.14"; errors as `to_json`."""
        return to_json(self.sequence, version, remove_postproc)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """Lines of Python that repeat it on a schedule `sch`."""
        trace = self._without_postproc() if remove_postproc else self
        return python_of(trace.sequence, "sch", by_number=True).lines

    def apply_to_schedule(self, sch: Any, remove_postproc: bool, decision_provider: Provider | None = None) -> None:
        """Apply it to a schedule. decision_provider: what to decide, for each instruction that does.

        Raises ScheduleError for a primitive that does not fit.
        """
        trace = self._without_postproc() if remove_postproc else self
        for number, inst in enumerate(self.insts if decision_provider is not None else ()):
            if inst in self.decisions and number < len(trace.insts) and decision_provider is not None:
                inputs, attrs = _parts(inst)
                decision = decision_provider(inst, inputs, attrs, self.get_decision(inst))
                trace = trace.with_decision(trace.insts[number], decision)
        replay(sch, trace.sequence)

    @staticmethod
    def apply_json_to_schedule(json_obj: object, sch: Any) -> None:
        """Apply TVM's form to a schedule, as text or what it holds; errors as `apply_json`."""
        apply_json(json_obj, sch)

    def simplified(self, remove_postproc: bool = False) -> Trace:
        """A copy without what gives handles and numbers that nothing takes."""
        made = self._without_postproc() if remove_postproc else Trace(self.sequence.clone())
        for op in reversed(list(made.sequence.block.ops)):
            names = isinstance(op, KnobOp | ArithOp) or (isinstance(op, Instruction) and op.KIND.pure)
            if names and op.results and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        return made

    def _without_postproc(self) -> Trace:
        made = Trace(self.sequence.clone())
        ops = list(made.sequence.block.ops)
        ends = [n for n, op in enumerate(ops) if isinstance(op, Instruction) and op.KIND.name == "enter_postproc"]
        for op in reversed(ops[ends[0] :] if ends else []):
            op.detach()
            op.erase()
        return made

    def show(self) -> None:
        """Print it as Python."""
        print(self)

    def __str__(self) -> str:
        text = python_of(self.sequence, "sch", by_number=True).function("apply_trace", "sch: tir.Schedule")
        return f"from whence import te, tir\n\n\n{text}"


def _parts(inst: Operation) -> tuple[list[Any], list[Any]]:
    """The inputs and attributes of an instruction that decides, as its entry in JSON has them."""
    if isinstance(inst, KnobOp):
        return [], [list(inst.values), probabilities(inst)]
    assert isinstance(inst, Instruction)
    return list(inst.inputs), [constant_in(inst.attrs.data[key]) for key in inst.KIND.attrs]


def python_of(sequence: SequenceOp, schedule: str = "s", *, by_number: bool = False) -> PythonText:
    """Lines that repeat a sequence of primitives on blocks. by_number: values are named as in TVM's traces."""
    names = handle_names(sequence)
    text = PythonText(schedule, ("te", "tir"), _numbered(names) if by_number else None)
    for op in sequence.block.ops:
        match op:
            case KnobOp():
                text.knob(op)
            case ArithOp():
                text.arith(op)
            case Instruction():
                _instruction(text, op)
            case _:
                raise ScheduleError(message("as_python", "primitives on blocks", op.name, op.location))
    return text


def _numbered(names: Mapping[Any, str]) -> Callable[[Any], str]:
    count = iter(range(1 << 30))
    return lambda value: names[value] if value in names else f"n{next(count)}"


def _instruction(text: PythonText, op: Instruction) -> None:
    kind, items = op.KIND, [text.of(item) for item in op.inputs]
    arguments: list[str] = []
    for number, keyword in enumerate(kind.inputs):
        if keyword.startswith("*"):
            arguments += items[number:]
        elif keyword.startswith("["):
            arguments.append(f"{keyword[1:-1]}=[{', '.join(items[number:])}]")
        else:
            arguments.append(f"{keyword}={items[number]}")
    arguments += [f"{key}={text.of(value)}" for key, value in op.attrs.data.items()]
    call = f"{text.schedule}.{kind.name}({', '.join(arguments)})"
    text.assign(op.outputs, call, unpack=kind.many)
