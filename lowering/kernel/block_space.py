"""Spaces of schedules for kernels that somebody wrote: rules on blocks, whose numbers are the knobs of one record.

A nest of a block gets, as far as the exact dependences of its iterations allow it:

    for parallel o { for r.0 { for v.0 { for k { for unrolled r.1 { for unrolled v.1 { for vectorized v.2 { block

`v` is the loop along which elements lie side by side, `r` another one over data around a reduction, and `k` is what is
left. A reduction starts before `k`, in the tile. A candidate is the record with other decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineDimExpr
from xdsl.traits import Pure

from ...dialects.affine import flatten, linear
from ...dialects.sizes.kernel import nominal
from ...dialects.tir import BlockOp, ForOp, LoadOp, PrimFuncOp, StoreOp, buffer_of, prim_funcs
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from ...support.machine import Machine
from ...te.blocks.bindings import place_of
from ...te.blocks.legality import check_parallel, check_reorder
from ...te.blocks.schedule import BlockSchedule
from ...te.blocks.state import LoopRV, loops_of, only_child
from ..relay_to_te.cost import Cost, where
from ..relay_to_te.knobs import Decisions, Formula, Knob, Names, Space, Values
from .by_strategies import by_strategies

_ROWS = (1, 2, 3, 4, 6, 8)
_VECTORS = (1, 2, 4)
_STEPS = (1, 2, 4, 8)
_FLOAT = 4
_LEAST_LANES = 4
_SHARED = 1 << 14
"""Points of a nest from which threads share it."""


class Nest(NamedTuple):
    """The loops directly around a block, each all that the one before has inside, and what they are for."""

    block: BlockOp
    loops: list[ForOp]
    data: list[ForOp]
    """Those whose iterations may run at once."""
    vector: ForOp | None
    """The one along which elements lie side by side."""

    @property
    def others(self) -> list[ForOp]:
        """Those whose iterations depend on each other."""
        return [loop for loop in self.loops if loop not in self.data]

    @property
    def rows(self) -> ForOp | None:
        """A loop over data beside `vector`, of which several iterations have their own registers."""
        loops = [loop for loop in self.data if loop is not self.vector]
        return loops[-1] if loops and self.others and self.vector is not None else None


RULES = "rules"
"""The knob that is 0 for a kernel as a build makes it by itself."""


class BlockSpace(NamedTuple):
    """A kernel, a record of what rules do to it, and what may be decided."""

    func: PrimFuncOp
    """The kernel as a build makes it by itself: by strategies, else as it is written."""
    schedule: BlockSchedule
    space: Space

    def schedule_of(self, decisions: Decisions) -> BlockSchedule:
        """The schedule of some decisions; without primitives for a kernel as it is written. Errors as `decided`."""
        numbers = dict(decisions)
        by_rules = numbers.pop(RULES, 0)
        return self.schedule.with_decisions(numbers) if by_rules else self.schedule.snapshot(0)

    def decided(self, decisions: Decisions) -> PrimFuncOp:
        """A copy of the kernel by some decisions. Raises ScheduleError for those that do not fit."""
        if not decisions.get(RULES, 0):
            return self.func.clone()
        return next(iter(prim_funcs(self.schedule_of(decisions).module))).clone()


def block_space(func: PrimFuncOp, machine: Machine) -> BlockSpace:
    """The space of a kernel that holds blocks; it has no knobs where rules do nothing for the kernel."""
    default = by_strategies(func, machine)
    schedule, knobs, formulas = BlockSchedule(ModuleOp([func.clone()])), list[Knob](), list[tuple[Formula, Names]]()
    for label in _labels(schedule):
        rule = _Rule(schedule.snapshot(), label, machine)
        try:
            rule.apply()
        except ScheduleError:
            # The nest stays as it is: the schedule that the rule began is dropped.
            continue
        schedule = rule.schedule
        knobs += rule.knobs
        formulas.append((rule.formula(), Names({each: each for each in (RULES, *(knob.name for knob in knobs))})))
    if not formulas:
        return BlockSpace(default, schedule, Space(()))
    rules = Knob(RULES, (0, 1), 0, lambda at: True, Names({RULES: RULES}))
    return BlockSpace(default, schedule, Space((rules, *map(_by_rules, knobs)), tuple(formulas)))


def _by_rules(knob: Knob) -> Knob:
    """A knob that has its default in a kernel as it is written."""
    before = knob.legal

    def legal(at: Values) -> Any:
        fits = (at[RULES] == 1) | (at[knob.name] == knob.default)
        return fits if before is None else fits & before(at)

    return replace(knob, legal=legal, names=Names({**knob.names.knobs, RULES: RULES}))


def _labels(schedule: BlockSchedule) -> list[str]:
    """The names that one block has, of those without blocks inside."""
    blocks = [op for func in prim_funcs(schedule.module) for op in walk(func) if isinstance(op, BlockOp)]
    labels = [op.label.data for op in blocks]
    inner = [op for op in blocks if not any(isinstance(below, BlockOp) for below in walk(op) if below is not op)]
    return [op.label.data for op in inner if labels.count(op.label.data) == 1]


def _perfect(block: BlockOp) -> list[ForOp]:
    """The innermost loops around a block that hold one thing each, outermost first; without marks and notes."""
    found: list[ForOp] = []
    inner: Operation = block
    for loop in reversed(loops_of(block)):
        known = isinstance(loop.trip_count, int) and loop.kind.data == "serial" and not loop.attributes
        if only_child(loop) is not inner or not known:
            break
        found.insert(0, loop)
        inner = loop
    return found


def nest_of(block: BlockOp, machine: Machine) -> Nest:
    """The nest of a block."""
    loops = _perfect(block)
    data = [loop for loop in loops if _is_free(loop)]
    strides = {loop: _strides(block, loop) for loop in data}
    along = [loop for loop in data if all(step in (0, 1) for step in strides[loop]) and _extent(loop) >= _LEAST_LANES]
    stored = [loop for loop in along if 1 in strides[loop][-1:]]
    return Nest(block, loops, data, stored[-1] if stored else None)


def _is_free(loop: ForOp) -> bool:
    try:
        check_parallel("space", loop)
    except ScheduleError:
        return False
    return True


def _accesses(block: BlockOp) -> list[LoadOp | StoreOp]:
    """The accesses of a block, its stores last."""
    found = [op for op in walk(block) if isinstance(op, LoadOp | StoreOp)]
    return sorted(found, key=lambda op: isinstance(op, StoreOp))


def _strides(block: BlockOp, loop: ForOp) -> list[int | None]:
    """The distance in memory of what each access names in neighbouring iterations; None where it is not even."""
    return [_stride(op, loop) for op in _accesses(block)]


def _stride(op: LoadOp | StoreOp, loop: ForOp) -> int | None:
    place = place_of(op)
    if loop.var not in place.values:
        return 0
    flat, dim = flatten(place.exprs, buffer_of(op.buffer).strides), place.values.index(loop.var)
    terms = [(atom, factor) for atom, factor in linear(flat, place.ranges).terms if dim in atom.used_dims()]
    even = len(terms) == 1 and terms[0][0] == AffineDimExpr(dim) and isinstance(terms[0][1], int)
    return cast(int, terms[0][1]) if even else None


def _extent(loop: ForOp) -> int:
    count = loop.trip_count
    assert isinstance(count, int)
    return count


def _fitting(numbers: Sequence[int], extent: int) -> tuple[int, ...]:
    """The numbers that divide an extent; where only 1 does, all that are not larger."""
    even = tuple(number for number in numbers if extent % number == 0)
    return even if len(even) > 1 else tuple(number for number in numbers if number <= extent)


class _Rule:
    """The rule for one block, on a schedule that it changes."""

    def __init__(self, schedule: BlockSchedule, label: str, machine: Machine):
        self.schedule, self.label, self.machine = schedule, label, machine
        block = schedule.state.block("space", schedule.get_sblock(label))
        self.nest = nest_of(block, machine)
        self.knobs: list[Knob] = []
        self.lanes = 1
        self.points = prod(map(_extent, self.nest.loops))
        self.around = prod(nominal(loop.trip_count) for loop in loops_of(self.nest.block)) // max(1, self.points)
        vector = self.nest.vector
        self.steps = {loop: _strides(block, loop) for loop in self.nest.loops}
        self.work = sum(1 for op in walk(block) if op.has_trait(Pure) and op.operands and op.results)
        if vector is not None:
            most = machine.lanes(_FLOAT)
            self.lanes = next((most >> n for n in range(3) if _extent(vector) % (most >> n) == 0), most)

    def apply(self) -> None:
        """Apply the primitives. Raises ScheduleError where one does not fit."""
        s, nest = self.schedule, self.nest
        around = len(loops_of(nest.block)) - len(nest.loops)
        handles = dict(zip(nest.loops, s.get_loops(self.label)[around:], strict=True))
        outer = [loop for loop in nest.data if loop not in (nest.vector, nest.rows)]
        check_reorder("space", nest.loops, [*outer, *filter(None, (nest.rows, nest.vector)), *nest.others])
        front, inner, back = [handles[loop] for loop in outer], [handles[loop] for loop in nest.others], list[LoopRV]()
        unrolled = list[LoopRV]()
        if nest.rows is not None:
            tiles, row = s.split(handles[nest.rows], [None, self._knob("rows", _ROWS, _extent(nest.rows), 4)])
            front.append(tiles)
            back.append(row)
            unrolled.append(row)
        if nest.vector is not None:
            count = self._knob("vectors", _VECTORS, max(1, _extent(nest.vector) // self.lanes), 2)
            panels, several, lanes = s.split(handles[nest.vector], [None, count, self.lanes])
            front.append(panels)
            back += [several, lanes]
            unrolled.append(several)
        if inner and nest.vector is not None:
            passes, step = s.split(inner[-1], [None, self._knob("steps", _STEPS, _extent(nest.others[-1]), 1)])
            inner[-1:] = [passes, step]
            unrolled.append(step)
        s.reorder(*front, *inner, *back)
        if nest.vector is not None:
            s.vectorize(back[-1])
        for loop in unrolled:
            s.unroll(loop)
        if front and self.points >= _SHARED:
            s.parallel(front[0])

    def _knob(self, name: str, numbers: Sequence[int], extent: int, usual: int) -> int:
        candidates = _fitting(numbers, extent)
        default = max((number for number in candidates if number <= usual), default=candidates[0])
        if len(candidates) < 2:
            return default
        full, rows = f"{name}.{self.label}", f"rows.{self.label}"
        known = {knob.name for knob in self.knobs}
        legal = None
        if name == "vectors" and rows in known:
            most = self.machine.accumulators

            def fits(at: Values) -> bool:
                return at[rows] * at[full] <= most

            legal = fits
        names = Names({each: each for each in (*known, full)})
        self.knobs.append(Knob(full, tuple(sorted(candidates)), default, legal, names))
        return self.schedule.knob(full, sorted(candidates), default)

    def formula(self) -> Formula:
        """The cost of the nest: what it computes, what it loads and stores beside what a tile shares, and passes."""
        nest, label, lanes, points = self.nest, self.label, self.lanes, self.points
        count = len(_accesses(nest.block))
        runs = points * self.around
        shared = nest.data[0] if nest.data and points >= _SHARED else None

        def cost(at: Values) -> Cost:
            rows, vectors, steps = (at.get(f"{name}.{label}", 1) for name in ("rows", "vectors", "steps"))
            loads = 0.0
            for number in range(count):
                by_row = nest.rows is not None and self.steps[nest.rows][number] == 0
                by_lane = nest.vector is not None and self.steps[nest.vector][number] == 0
                loads = loads + 1 / ((rows if by_row else 1) * (vectors if by_lane else 1))
            written = at[RULES] == 0
            vectors_run = runs / where(written, 1, lanes)
            return Cost(
                products=vectors_run * max(self.work, 1),
                sums=where(written, 1, rows * vectors) if nest.others else float("inf"),
                loads=vectors_run * where(written, count, loads),
                steps=vectors_run / where(written, 1, rows * vectors * steps),
                passes=where(written, 0, _extent(shared)) if shared is not None else 0,
            )

        return cost
