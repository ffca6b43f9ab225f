"""The primitives that make, order and mark the loops of a stage."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import SupportsInt, cast, get_args

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation

from ...dialects import schedule as ops
from ...dialects import te
from ...support.errors import ScheduleError
from ..language.expr import Axis, ExprLike
from ..language.layouts import inverse_layout
from .choices import Choice, least, plain
from .intrin_parameters import OpenIntrin
from .itervar import TYPES, Fuse, IterVar, Kind, Singleton, Sort, Split, Tail, ThreadAxis, Transform
from .leaves import LeafIterVars
from .opaque import Producer
from .record import Record
from .script_loops import ScriptLoops
from .split_counts import split_count
from .stage_state import StageState
from .stage_table import Key
from .tensor_intrin import TensorIntrin
from .tensorize import match_tile

CUT = "pragma_loop_partition_hint"
"""The hint of a loop whose passes without guards get code of their own."""

_PRIMITIVE: dict[Kind, str] = {"vectorized": "vectorize", "unrolled": "unroll", "parallel": "parallel"}
_MARKED: dict[Kind, str] = {
    "vectorized": "Vectorized",
    "unrolled": "Unrolled",
    "parallel": "Parallelized",
    "tensorized": "Tensorized",
}
_ITERATED: tuple[Sort, ...] = ("data", "reduce", "ordered")
"""The sorts of iteration variables that have loops of their own to change."""


def _type(axis: IterVar) -> str:
    """TVM's name of what an axis is now."""
    return TYPES["thread"] if axis.thread is not None else _MARKED.get(axis.kind, TYPES[axis.sort])


def _plain(axis: IterVar) -> bool:
    """Return whether an axis is a serial loop."""
    return axis.kind == "serial" and axis.thread is None and axis.sort in _ITERATED


def _fusible(axis: IterVar, other: IterVar) -> bool:
    """Return whether `other` is a serial loop that makes one with `axis`."""
    return _plain(other) and (axis.sort == other.sort or {axis.sort, other.sort} == {"data", "reduce"})


class LoopPrimitives(StageState):
    """A stage's loops."""

    def __init__(self, record: Record, producer: Producer):
        super().__init__(producer)
        self.record = record
        self.script = ScriptLoops(producer, self.axes) if isinstance(producer, te.HybridOp) else None
        """The loops that a hybrid script has."""

    def axis_of(self, axis: IterVar | Axis) -> IterVar:
        """The iteration variable of an axis of the te operation that this stage computes."""
        if isinstance(axis, IterVar):
            return self.record.table.before.get(axis, axis)
        if not isinstance(axis, Axis):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("schedule", f"expected an axis, got {axis!r}")
        if (position := self.record.table.place_of(axis)) is not None:
            # A stage that became a copy has data axes of its own; the reduction went with its cache.
            stage, index = position
            roots = [*stage.axes, *stage.reduce_axes]
            if index < len(roots):
                return roots[index]
            if (cache := stage.cache) is not None:
                reduction = index - len(stage.axes)
                if cache is self:
                    return self.reduce_axes[reduction]
                held = f"s['{cache.label}'].op.reduce_axis[{reduction}]"
                text = f"is not part of the schedule: cache_write made it {held}, and this stage a copy"
                self.fail("schedule", f"axis {axis.name} {text}")
        self.fail("schedule", f"axis {axis.name} is not part of the schedule")

    @property
    def leaf_iter_vars(self) -> LeafIterVars:
        """The loops, outermost first."""
        return LeafIterVars(self, self.record.table)

    def integer(self, primitive: str, what: str, value: object) -> int:
        """An argument as an int, which numpy's are too; fails for other kinds of values, and for bools."""
        if isinstance(value, Choice):
            return value
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(cast(SupportsInt, value))
        self.fail(primitive, f"expected an int as {what}, got {value!r}")

    def position(self, primitive: str, axis: IterVar) -> int:
        """The position of a loop of this stage."""
        if axis in self.leaf:
            return self.leaf.index(axis)
        if axis in self.all_iter_vars:
            self.fail(primitive, f"Operate on iter var {axis.name} that has already been split or fused")
        self.fail(primitive, f"axis {axis.name} is not part of the schedule of this stage")

    def handle(self, axis: IterVar) -> SSAValue:
        """Return the value of an axis of this stage in the sequence."""
        return self.record.axis(self, axis)

    def _serial(self, primitive: str, axis: IterVar) -> int:
        """The position of a loop of this stage that nothing was made of yet."""
        position = self.position(primitive, axis)
        if not _plain(axis):
            self.fail(primitive, f"Cannot {primitive} on {_type(axis)} axis {axis.name}")
        return position

    def _looped(self, primitive: str, axis: IterVar | Axis) -> IterVar:
        """A loop of this stage that hints can be given to."""
        axis = self.axis_of(axis)
        self.position(primitive, axis)
        if axis.sort not in _ITERATED:
            self.fail(primitive, f"Cannot {primitive} on {_type(axis)} axis {axis.name}")
        return axis

    def _perfect(self, primitive: str, first: int, last: int) -> None:
        """Fail unless each of the loops from one position to another is all that the one before has inside."""
        if self.script is not None and not self.script.perfect(axes := self.leaf[first : last + 1]):
            names = ", ".join(axis.name for axis in axes)
            self.fail(primitive, f"expected loops of the script that are nested perfectly, got {names}")

    def _own(self, primitive: str, axis: IterVar, script: ScriptLoops, parallel: bool) -> None:
        """Fail for a loop of a script whose iterations all store the same element, or share memory made in parallel."""
        if (text := script.sharing(axis, parallel)) is not None:
            self.fail(primitive, text)

    def split(
        self,
        axis: IterVar | Axis,
        factor: ExprLike | None = None,
        *,
        nparts: ExprLike | None = None,
        tail: Tail | None = None,
    ) -> tuple[IterVar, IterVar]:
        """`for i in 32` -> `for i.outer in 4 { for i.inner in 8 {`, with factor 8 or with nparts 4.

        Returns (outer, inner). tail: what an uneven factor makes of the last iteration. "guard": its body is guarded,
        in every iteration; "cut": code of its own comes after a main loop without guards; "round_up": stages computed
        inside compute whole tiles, reading zeros past the end, and only what this stage itself stores is guarded.
        Without it a guard that later passes may cut. A factor of variables is a size of a call. Raises ScheduleError
        for an axis that is no serial loop of this stage, an unknown tail, to round up a reduction, and unless exactly
        one of factor and nparts is given.
        """
        axis = self.axis_of(axis)
        position = self._serial("split", axis)
        if (factor is None) == (nparts is None):
            self.fail("split", f"expected either factor or nparts, got factor={factor}, nparts={nparts}")
        if tail not in (None, *get_args(Tail)):
            self.fail("split", f"expected the tail {', '.join(get_args(Tail))}, got {tail}")
        if tail == "round_up" and axis.reduce:
            self.fail("split", f"expected a tail of guard or cut for the reduction {axis.name}, got round_up")
        what, value = ("factor", factor) if nparts is None else ("nparts", nparts)
        count, wanted = split_count(self, self.record, f"the {what}", value)
        # The factor as given, not as the axis allows: where the stage computes a part, so does the axis.
        size, parts = (count, None) if nparts is None else (0, count)
        counts = Split(axis, axis, axis, size, parts).extents(axis.extent)
        outer = IterVar(f"{axis.name}.outer", counts[0], axis.sort)
        inner = IterVar(f"{axis.name}.inner", counts[1], axis.sort)
        self.leaf[position : position + 1] = [outer, inner]
        self.relations.append(Split(axis, outer, inner, counts[1] if parts is None else 0, parts, tail))
        if isinstance(wanted, int) and parts is None and count != counts[1]:
            wanted = least(wanted, cast(int, counts[1]))
        handle = self.handle(axis)
        recorded = wanted if isinstance(wanted, str) else self.record.number(wanted, self)
        split = ops.SplitOp(handle, recorded) if parts is None else ops.SplitByNPartsOp(handle, recorded)
        if tail is not None:
            split.attributes["tail"] = StringAttr(tail)
        if tail == "cut":
            outer.hints[CUT] = IntegerAttr(1, i64)
        if self.script is not None:
            self.script.split(axis, outer, inner)
        op = self.record.add(split, self)
        self.record.name_axis(outer, op.outer)
        self.record.name_axis(inner, op.inner)
        return outer, inner

    def fuse(self, *axes: IterVar | Axis) -> IterVar:
        """`for i in 4 { for j in 8 {` -> `for i.j.fused in 32`. The axes must be neighbours.

        Of no axes: a new outermost loop `singleton` of one iteration. Recorded as one `fuse` per axis given: each
        pair, and the whole. A loop over data and terms is one of the reduction. Raises ScheduleError unless they are
        consecutive serial loops over data or terms.
        """
        if not axes:
            return self._singleton()
        loops = [self.axis_of(axis) for axis in axes]
        low = high = self.position("fuse", loops[0])
        for axis in loops:
            position = self.position("fuse", axis)
            if axis is not loops[0] and position not in (low - 1, high + 1):
                self.fail("fuse", "Can only fuse iterations that are consecutive between each other")
            if not _fusible(loops[0], axis):
                self.fail("fuse", f"expected serial axes of one sort, got {', '.join(map(str, loops))}")
            low, high = min(low, position), max(high, position)
        self._perfect("fuse", low, high)
        fused = loops[0]
        for axis in loops[1:]:
            fused = self.fuse_pair(fused, axis)
        self.end_fuse(fused)
        return fused

    def _singleton(self) -> IterVar:
        self.the_compute("fuse")
        axis = IterVar("singleton", 1)
        self.leaf.insert(0, axis)
        self.relations.append(Singleton(axis))
        op = self.record.add(ops.SingletonOp(self.record.stage(self)), self)
        self.record.name_axis(axis, op.axis)
        return axis

    def fuse_pair(self, outer: IterVar, inner: IterVar) -> IterVar:
        """Fuse two neighbours, in whichever order they are given."""
        first, second = self.position("fuse", outer), self.position("fuse", inner)
        if abs(second - first) != 1:
            self.fail("fuse", "Can only fuse iterations that are consecutive between each other")
        if not _fusible(outer, inner) or not _plain(outer):
            self.fail("fuse", f"expected serial axes of one sort, got {outer}, {inner}")
        if second < first:
            outer, inner, first, second = inner, outer, second, first
        self._perfect("fuse", first, second)
        fused = IterVar(
            f"{outer.name}.{inner.name}.fused", outer.extent * inner.extent, "reduce" if outer.reduce else inner.sort
        )
        self.leaf[first : second + 1] = [fused]
        self.relations.append(Fuse(outer, inner, fused))
        if self.script is not None:
            self.script.fuse(outer, inner, fused)
        op = self.record.add(ops.FuseOp(self.handle(outer), self.handle(inner)), self)
        self.record.name_axis(fused, op.fused)
        return fused

    def follow_layout(self, layout: AffineMap) -> list[IterVar]:
        """The loops along the dimensions of a layout in place of those over the axes; none when they cannot be."""
        before = next((r.transformed for r in reversed(self.relations) if isinstance(r, Transform)), tuple(self.axes))
        if not before or before[0] not in self.leaf or len(before) != layout.num_dims:
            return []
        first = self.leaf.index(before[0])
        if tuple(self.leaf[first : first + len(before)]) != before or any(a.hints or not _plain(a) for a in before):
            return []
        inverse = inverse_layout(layout, [axis.extent for axis in before])
        if inverse is None:
            return []
        draft = Transform(before, (), layout.results, inverse)
        extents = draft.extents([axis.extent for axis in before])
        new_axes = [IterVar(f"axis{i}", extent) for i, extent in enumerate(extents)]
        self.leaf[first : first + len(before)] = new_axes
        self.relations.append(replace(draft, transformed=tuple(new_axes)))
        return new_axes

    def end_fuse(self, fused: IterVar) -> None:
        """Record a fuse, after its pairs."""
        self.record.add(ops.FusedOp(self.handle(fused)), self)

    def reorder(self, *order: IterVar | Axis) -> None:
        """`for i { for j { for k {` -> `for k { for j { for i {` with (k, i): those given swap places.

        The given axes take, in the given order, the places that they occupy now. Raises ScheduleError for an axis given
        twice, or that is no loop of this stage.
        """
        if not (axes := [self.axis_of(axis) for axis in order]):
            return
        positions = [self.position("reorder", axis) for axis in axes]
        if len(set(axes)) != len(axes):
            self.fail("reorder", "Same axis can not appear more than once")
        if fixed := [axis for axis in axes if axis.kind == "tensorized" or axis.sort not in ("data", "reduce")]:
            self.fail("reorder", f"Cannot reorder on {_type(fixed[0])} axis {fixed[0].name}")
        self._perfect("reorder", min(positions), max(positions))
        before = list(self.leaf)
        for position, axis in zip(sorted(positions), axes, strict=True):
            self.leaf[position] = axis
        if self.script is not None:
            span = slice(min(positions), max(positions) + 1)
            self.script.reorder(before[span], self.leaf[span])
        self.record.add(ops.ReorderOp([self.handle(axis) for axis in axes]), self)

    def tile(
        self, x: IterVar | Axis, y: IterVar | Axis, x_factor: ExprLike, y_factor: ExprLike
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """`for x { for y {` -> `for x.outer { for y.outer { for x.inner { for y.inner {`.

        Recorded as split, split, reorder. Raises ScheduleError as they do.
        """
        x, y = self.axis_of(x), self.axis_of(y)
        for axis, factor in ((x, x_factor), (y, y_factor)):
            self._serial("split", axis)
            split_count(self, self.record, "the factor", factor)
        if x is y:
            self.fail("tile", f"expected two axes, got {x.name} twice")
        x_outer, x_inner = self.split(x, x_factor)
        y_outer, y_inner = self.split(y, y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def _mark(self, axis: IterVar | Axis, kind: Kind, op: Callable[[SSAValue], IRDLOperation]) -> None:
        primitive = _PRIMITIVE[kind]
        axis = self.axis_of(axis)
        self.position(primitive, axis)
        if axis.sort not in (_ITERATED if kind == "unrolled" else ("data",)):
            self.fail(primitive, f"Cannot {primitive} on {TYPES[axis.sort]} axis {axis.name}")
        if axis.thread is not None or axis.kind == "tensorized":
            self.fail(primitive, f"Cannot {primitive} on {_type(axis)} axis {axis.name}")
        if self.script is not None:
            if kind != "unrolled":
                self._own(primitive, axis, self.script, kind == "parallel")
            self.script.mark(axis, kind)
        axis.kind = kind
        self.record.add(op(self.handle(axis)), self)

    def vectorize(self, axis: IterVar | Axis) -> None:
        """`for i in 16` -> `for vectorized i in 16`: vector operations of 16 lanes.

        Raises ScheduleError for an axis of a reduction, or that is no loop of this stage.
        """
        self._mark(axis, "vectorized", ops.VectorizeOp)

    def unroll(self, axis: IterVar | Axis) -> None:
        """`for i in 4` -> `for unrolled i in 4`: four copies of the body. Raises ScheduleError if i is no loop."""
        self._mark(axis, "unrolled", ops.UnrollOp)

    def parallel(self, axis: IterVar | Axis) -> None:
        """`for i in 64` -> `for parallel i in 64`: the iterations are shared among threads.

        Raises ScheduleError for an axis of a reduction, or that is no loop of this stage.
        """
        self._mark(axis, "parallel", ops.ParallelOp)

    def bind(self, axis: IterVar | Axis, thread: ThreadAxis) -> None:
        """`for i in 64` -> `for parallel i in 64` when bound to `blockIdx.x`, serial when to `threadIdx.x`.

        All loops bound to one thread have one extent, which is checked when the schedule is lowered. Raises
        ScheduleError for what is no thread, no serial loop of this stage, or a reduction that would run in parallel.
        Warns when the axis is bound already; the new thread counts.
        """
        axis = self.axis_of(axis)
        self.position("bind", axis)
        if not isinstance(thread, ThreadAxis):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("bind", f"Cannot rebase by {thread}, only thread axis is allowed so far")
        if axis.kind != "serial" or axis.sort not in ("data", "reduce"):
            self.fail("bind", f"Cannot bind {_type(axis)} axis {axis.name}, only DataPar and CommReduce")
        if axis.reduce and thread.is_block:
            self.fail(
                "bind", f"Cannot bind CommReduce axis {axis.name} to {thread.tag}, whose iterations run in parallel"
            )
        if axis.thread is not None and not self.record.quiet:
            warnings.warn(f"bind: {axis.name} was bound to {axis.thread.tag}, is now to {thread.tag}", stacklevel=2)
        if self.script is not None:
            if thread.extent not in (None, axis.extent):
                self.fail("bind", f"expected the extent {thread.extent}, of {thread.tag}, got {axis.extent}")
            if thread.is_block:
                self._own("bind", axis, self.script, True)
                self.script.mark(axis, "serial" if self.script.is_parallel(axis) else "parallel")
        axis.thread = thread
        self.record.add(ops.BindOp(self.handle(axis), self.record.thread(thread)), self)

    def env_threads(self, threads: ThreadAxis | Sequence[ThreadAxis]) -> None:
        """`for t {for i {..}}` -> `for thread {for t {..}}`: the steps of a scan run in each of the threads.

        Loops of the update that are bound to one of them run in it; on a CPU one after the other in each step. Raises
        ScheduleError for a stage that is no scan, and the second time.
        """
        thread_axes = list(threads) if isinstance(threads, Sequence) else [threads]
        if not isinstance(self.producer, te.ScanOp):
            self.fail("env_threads", "env_threads is only valid for composite ops such as ScanOp")
        if self.threads:
            self.fail("env_threads", "Already set env_threads")
        if not thread_axes or any(not isinstance(thread, ThreadAxis) for thread in thread_axes):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("env_threads", f"expected threads, got {threads}")
        for thread in thread_axes:
            axis = IterVar(thread.name, 1 if thread.extent is None else thread.extent, "thread")
            axis.thread = thread
            self.threads.append(axis)
        self.leaf[:0] = self.threads
        handles = [self.record.thread(thread) for thread in thread_axes]
        op = self.record.add(ops.EnvThreadsOp(self.record.stage(self), handles), self)
        for axis, value in zip(self.threads, op.axes, strict=True):
            self.record.name_axis(axis, value)

    def tensorize(self, axis: IterVar | Axis, intrin: TensorIntrin | OpenIntrin) -> None:
        """`for i in 4 { for j in 8 { .. }}` -> the body of an intrinsic that computes a tile of 4x8.

        Raises ScheduleError when the loops from `axis` on do not compute what the intrinsic does.
        """
        self.the_compute("tensorize")
        if isinstance(intrin, OpenIntrin):
            self.fail("tensorize", f"expected numbers for its parameters: {intrin.name}.with_scalars(..)")
        if not isinstance(intrin, TensorIntrin):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("tensorize", f"expected a tensor intrinsic, got {intrin!r}")
        axis = self.axis_of(axis)
        self._serial("tensorize", axis)
        match_tile(self, axis, intrin)
        axis.kind, axis.intrin = "tensorized", intrin
        name = self.record.intrinsic(intrin)
        self.record.add(ops.TensorizeOp(self.handle(axis), name), self)

    def tensor_compute(self, intrin: TensorIntrin, outer: int) -> None:
        """`for i { for j in 16 { .. }}` -> `for i { intrinsic }` with outer 1: what the stage is from its beginning.

        Its axes from number `outer` on, and the last of a reduction, as many as the intrinsic has, are the intrinsic's:
        nothing can be done to them. Not in the record. Raises ScheduleError when they do not compute what it does.
        """
        self.make_of(intrin, outer)
        name = self.record.intrinsic(intrin)
        self.record.add(ops.TensorComputeOp(self.record.stage(self), name, outer), self)

    def make_of(self, intrin: TensorIntrin, outer: int) -> None:
        """`tensor_compute` for a stage that another primitive made, which records it."""
        self.the_compute("tensor_compute")
        cut = len(self.reduce_axes) - len(intrin.compute.reduce_axes)
        inner = [*self.axes[outer:], *self.reduce_axes[max(0, cut) :]]
        if self.scheduled or cut < 0 or not inner:
            self.fail("tensor_compute", f"expected an unscheduled stage with axes of '{intrin.name}'")
        before = self.leaf
        self.leaf = [*self.axes[:outer], *self.reduce_axes[:cut], *inner]
        try:
            match_tile(self, inner[0], intrin)
        except ScheduleError:
            self.leaf = before
            raise
        for axis in inner:
            axis.sort = "opaque"
        inner[0].kind, inner[0].intrin = "tensorized", intrin
        self.made_of = intrin, outer

    def pragma(self, axis: IterVar | Axis, key: str, value: int | str | Attribute | None = None) -> None:
        """`for i` -> `for i attributes {pragma_KEY = value}`; "unroll" and "vectorize" are those primitives.

        Raises ScheduleError for an axis that is no loop of this stage, and for `import_llvm` and `import_c`.
        """
        if key == "unroll":
            return self.unroll(axis)
        if key == "vectorize":
            return self.vectorize(axis)
        axis = self._looped("pragma", axis)
        if not isinstance(key, str) or not SSAValue.is_valid_name(key):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("pragma", f"expected the name of a pragma, got {key!r}")
        if key.startswith("import_"):
            self.fail("pragma", f"expected code as te or tir, as nothing links other code, got '{key}'")
        source = self.record.number(value, self) if isinstance(value, Choice) else None
        if isinstance(value, int | np.integer | str):
            number = plain(value) if isinstance(value, Choice) else value
            value = StringAttr(value) if isinstance(value, str) else IntegerAttr(int(number), i64)
        elif value is not None and not isinstance(value, Attribute):  # pyright: ignore[reportUnnecessaryIsInstance]
            self.fail("pragma", f"expected an int, a text or an attribute as the value, got {value!r}")
        axis.hints[f"pragma_{key}"] = value if value is not None else UnitAttr()
        if self.script is not None:
            self.script.mark(axis, axis.kind)
        source = source if isinstance(source, SSAValue) else value
        self.record.add(ops.PragmaOp(self.handle(axis), key, source), self)

    def prefetch(self, tensor: Key, axis: IterVar | Axis, offset: int) -> None:
        """`for i` -> `for i attributes {prefetch = [["A", offset]]}`: fetch what iteration i + offset reads.

        Raises ScheduleError for a tensor that is none of the function's, or an axis that is no loop of this stage.
        """
        if self.script is not None:
            self.the_compute("prefetch")
        axis = self._looped("prefetch", axis)
        offset = self.integer("prefetch", "the offset", offset)
        try:
            source = self.record.table.tensor_of(tensor)
        except ScheduleError as error:
            self.fail("prefetch", str(error))
        hints = axis.hints.get("prefetch")
        entry = ArrayAttr[Attribute]([StringAttr(self.record.table.tensor_name(source)), IntegerAttr(offset, i64)])
        before = list(cast(ArrayAttr[Attribute], hints)) if hints is not None else []
        axis.hints["prefetch"] = ArrayAttr([*before, entry])
        handle = self.record.tensor(source)
        self.record.add(ops.PrefetchOp(handle, self.handle(axis), offset), self)
