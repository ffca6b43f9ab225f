"""The kernels of a block schedule, handles, the record, and look-ups: the parts that all primitives share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Self, TypeAlias

from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import Operation

from ...dialects.schedule import KnobOp, SequenceOp, decided
from ...dialects.schedule.knob import check_knob
from ...dialects.tir import SCHEDULED, BlockOp, ForOp, PrimFuncOp, prim_funcs
from ...support.context import PassContext
from ...support.errors import ScheduleError
from ...support.rooms import name_in
from ..schedule.choices import Choice
from . import lookups, sampling
from .record import BlockRecord, Unrecorded, attribute_of, replay
from .remedies import Call, add_remedy
from .state import BlockRV, Handle, LoopRV, State, function_of, integer, loops_of, name_of
from .trace import Trace, python_of

BlockLike: TypeAlias = BlockRV | str
Factor: TypeAlias = int | None
"""An extent, which may follow from knobs; None for an open one."""


class Scheduling:
    """The kernels of a schedule, their handles and the record."""

    explains = True
    """An error about a primitive ends with a call that would work, which takes some calls to find."""

    def __init__(self, module: ModuleOp):
        kernels = list(prim_funcs(module))
        if not kernels:
            raise ScheduleError("Schedule: expected a kernel at least, got a module without any")
        self._origin = module
        self.state = State(module.clone())
        self.draws = Random()
        self.record = BlockRecord(kernels[0].sym_name.data, kernels[0].location)
        if PassContext.current().option("te.keep_primitive_lines"):
            self.record.lines = {}

    @property
    def module(self) -> ModuleOp:
        """The kernels as they are now; not a copy."""
        return self.state.module

    @property
    def sequence(self) -> SequenceOp:
        """The primitives that were applied, in order."""
        return self.record.sequence

    @property
    def primitives(self) -> list[Operation]:
        """The recorded primitives, in order, without look-ups."""
        return [op for op in self.record.instructions if not op.KIND.pure]

    def snapshot(self, count: int | None = None) -> Self:
        """Return the schedule after its first `count` primitives, 0 for none of them; a copy without it.

        Raises ScheduleError for more primitives than there are.
        """
        most = len(self.primitives)
        if count is not None and not 0 <= integer("snapshot", "count", count) <= most:
            raise ScheduleError(f"snapshot: expected a count from 0 to {most}, got {count}")
        return self._replayed(self.sequence, count)

    def copy(self) -> Self:
        """Return an independent copy of the schedule, with the same record; handles are those of both."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.state, made.record, made.draws = self.state.copy(), self.record.copy(), Random()
        made.draws.setstate(self.draws.getstate())
        made.__dict__.pop("_trace", None)
        return made

    def with_decisions(self, decisions: Mapping[str, int]) -> Self:
        """A copy in which knobs are decided otherwise: the same primitives, with other numbers.

        decisions: those that are not named stay. Raises ScheduleError for a knob that there is not, a number that is no
        candidate, another decision of a knob by which the primitives were chosen, and where a primitive does not fit.
        """
        return self._replayed(decided(self.sequence, decisions))

    def _replayed(self, sequence: SequenceOp, count: int | None = None) -> Self:
        made = type(self).__new__(type(self))
        Scheduling.__init__(made, self._origin)
        replay(made, sequence, count)
        return made

    def explain(self, **options: Any) -> Any:
        """Return what each primitive did: loops before and after, and the time; options and errors as `te.explain`."""
        return name_in("whence.te", "explain")(self, **options)

    def knob(self, name: str, candidates: Sequence[int], decision: int) -> int:
        """A number for primitives that might be another of the candidates: `split(i, [None, s.knob("rows", ..)])`.

        It is recorded; see `with_decisions`. `*`, `+`, `-`, `//` and `te.schedule.least` make others of it; a schedule
        that looks at it, as `if` does, is one for this decision alone. Raises ScheduleError for a name that a knob has
        already, and for a decision that is no candidate.
        """
        check_knob(self.sequence, name, candidates, decision)
        return self.record.knob(KnobOp(name, candidates, decision), self.sequence.location)

    def seed(self, seed: int | None = None) -> None:
        """Begin the samples anew; without a seed in a way of its own each time."""
        self.draws = Random(None if seed in (None, -1) else integer("seed", "seed", seed))

    def sample_categorical(self, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None) -> int:
        """A knob that is decided by chance, or is `candidates[decision]`.

        probs: how likely each candidate is. Raises ScheduleError for candidates or likelihoods that cannot be.
        """
        numbers, weights = sampling.likely(candidates, probs, decision)
        at = self.draws.choices(range(len(numbers)), weights)[0] if decision is None else decision
        op = KnobOp(sampling.name_of_sample(self.sequence), numbers, numbers[at])
        op.attributes["probs"] = attribute_of(weights)
        return self.record.knob(op, self.sequence.location)

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
    ) -> list[int]:
        """`n` numbers whose product is a loop's extent, by chance, or as near to `decision` as they can be.

        max_innermost_factor: the largest last number, -1 for any. Raises ScheduleError for a loop of open extent.
        """
        op = self.state.loop("sample_perfect_tile", loop)
        factors = sampling.perfect_tile(self.draws, op, n, max_innermost_factor, decision)
        attrs = {"n": n, "max_innermost_factor": max_innermost_factor, "decision": factors}
        hints = [f"factor.{number}" for number in range(n)]
        return self.record.add("sample_perfect_tile", [loop], attrs, factors, hints, op.location)

    def sample_compute_location(self, block: BlockLike, decision: int | None = None) -> LoopRV:
        """A loop of a block's readers in which `compute_at` may compute it, by chance.

        It may be the place where it is, or be inlined, too: `compute_at` of these does nothing, or inlines. decision:
        the number of the loop, from the outermost; -1 the place where it is, -2 inlined. One that is not possible
        becomes the nearest smaller one that is.
        """
        handle = self._name(block)
        op = self.state.block("sample_compute_location", handle)
        loops = dict(enumerate(self.state.handle_of(loop) for loop in lookups.loops_of_readers(op)))
        chosen = [n for n, loop in loops.items() if self._fits(Call("compute_at", (handle, loop, True)))]
        possible = [*([-2] if self._fits(Call("compute_inline", (handle,))) else []), -1, *chosen]
        if decision is None:
            decision = self.draws.choice(possible)
        elif decision not in possible:
            decision = max((number for number in possible if -1 <= number < decision), default=-1)
        place = {-1: LoopRV("root"), -2: LoopRV("inline")}
        made = place[decision] if decision in place else self.state.handle(self.state.ops[loops[decision]])
        hint = f"{op.label.data}_place"
        return self.record.add(
            "sample_compute_location", [handle], {"decision": decision}, [made], [hint], op.location
        )[0]

    def _fits(self, call: Call) -> bool:
        """Return whether a primitive would be applied."""
        try:
            self._try(self.state.copy(), call)
        except ScheduleError:
            return False
        return True

    def enter_postproc(self) -> None:
        """Note that what follows is no part of a space of schedules."""
        self.record.add("enter_postproc", [], {}, [], [], self.sequence.location)

    @property
    def trace(self) -> Trace:
        """The record, by TVM's names; the same object until something is recorded."""
        ops = list(self.sequence.block.ops)
        state = len(ops), sum(isinstance(op, KnobOp) and op.is_fixed for op in ops)
        known = self.__dict__.get("_trace")
        if known is None or known[0] != state:
            known = self.__dict__["_trace"] = state, Trace(self.sequence.clone())
        return known[1]

    def as_python(self) -> str:
        """Python that makes the same schedule: a function of a schedule to which nothing was done."""
        return python_of(self.sequence).function("apply_schedule", "s")

    def _apply(
        self,
        name: str,
        inputs: Sequence[object],
        attrs: Mapping[str, object],
        run: Callable[[], Sequence[Operation]],
        at: Operation | None = None,
    ) -> list[Any]:
        """Carry out a primitive, or none of it, and record it; returns handles of what it gives."""
        # What cannot be recorded is refused before anything changes.
        items = [each if isinstance(each, Handle | Choice) else attribute_of(each, name) for each in inputs]
        constants = {key: attribute_of(value, name) for key, value in attrs.items()}
        func = function_of(at) if at is not None else None
        try:
            with self.state.attempt():
                found = list(run())
                if func is not None:
                    func.attributes[SCHEDULED] = BoolAttr.from_bool(True)
        except ScheduleError as error:
            if self.explains:
                add_remedy(error, self.state.copy(), name, inputs, attrs, self._try)
            raise
        handles = self._note(name, items, constants, found, (at or self.sequence).location)
        self.state.inherit(handles)
        return handles

    def _try(self, state: State, call: Call) -> None:
        """Carry out a primitive on a copy of the kernels."""
        trial = type(self).__new__(type(self))
        trial.__dict__.update(self.__dict__)
        trial.state, trial.record, trial.explains = state, Unrecorded(), False
        getattr(trial, call.name)(*call.args)

    def _note(
        self, name: str, inputs: Sequence[object], attrs: Mapping[str, object], found: Sequence[Operation], at: Any
    ) -> list[Any]:
        handles = [self.state.handle(op) for op in found]
        hints = [op.label.data if isinstance(op, BlockOp) else name_of(op) for op in found]
        return self.record.add(name, inputs, attrs, handles, hints, at)

    def _on_block(
        self,
        name: str,
        block: BlockLike,
        attrs: Mapping[str, object],
        run: Callable[[BlockOp], Sequence[Operation]],
        more: Sequence[object] = (),
    ) -> list[Any]:
        """Carry out a primitive on a block. more: inputs behind the block."""
        handle = self._name(block)
        op = self.state.block(name, handle)
        return self._apply(name, [handle, *more], attrs, lambda: run(op), op)

    def _name(self, block: BlockLike) -> BlockRV:
        """Return the handle of a block that was given by its name."""
        if not isinstance(block, str):
            return block
        return self.get_sblock(block)

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block of a name; of "root", if no block has that name, the scope of a kernel's outermost blocks.

        Raises ScheduleError for none, or several.
        """
        block = self.state.named("get_sblock", name, func_name)
        attrs = {"name": name, "func_name": func_name or function_of(block).sym_name.data}
        return self._note("get_sblock", [], attrs, [block], block.location)[0]

    get_block = get_sblock
    """The name in TVM 0.14."""

    def get_loops(self, block: BlockLike) -> list[LoopRV]:
        """Return the loops around a block in its scope, outermost first."""
        handle = self._name(block)
        op = self.state.scope("get_loops", handle)
        return self._note("get_loops", [handle], {}, loops_of(op), op.location)

    def get_child_blocks(self, block_or_loop: BlockLike | LoopRV) -> list[BlockRV]:
        """Return the blocks directly in a block or loop, in order."""
        handle, op = self._target("get_child_blocks", block_or_loop)
        return self._note("get_child_blocks", [handle], {}, lookups.children(op), op.location)

    def get_producers(self, block: BlockLike) -> list[BlockRV]:
        """Return the blocks before a block that write what it reads."""
        handle = self._name(block)
        op = self.state.block("get_producers", handle)
        return self._note("get_producers", [handle], {}, lookups.producers(op), op.location)

    def get_consumers(self, block: BlockLike) -> list[BlockRV]:
        """Return the blocks behind a block that read what it writes."""
        handle = self._name(block)
        op = self.state.block("get_consumers", handle)
        return self._note("get_consumers", [handle], {}, lookups.consumers(op), op.location)

    def get_output_blocks(self, scope_block: BlockLike) -> list[BlockRV]:
        """Return the blocks in a block that write outputs of the kernel, in order; `"root"` stands for all of it."""
        handle = self._name(scope_block)
        op = self.state.scope("get_output_blocks", handle)
        return self._note("get_output_blocks", [handle], {}, lookups.outputs(op), op.location)

    def _target(self, primitive: str, target: BlockLike | LoopRV) -> tuple[Handle, BlockOp | ForOp | PrimFuncOp]:
        """The handle of a block, a loop or the root, and its op."""
        handle = self._name(target) if isinstance(target, str) else target
        if isinstance(handle, LoopRV):
            return handle, self.state.loop(primitive, handle)
        return handle, self.state.scope(primitive, handle)
