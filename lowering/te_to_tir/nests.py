"""Loop nests: the loops of a stage, with the stages computed inside them, around what the stage stores."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import tir
from ...dialects.affine import ZERO, below, bounds, linear, simplify, substitute
from ...dialects.sizes import Size, proves, same
from ...dialects.sizes.kernel import at_least, lifted
from ...dialects.tir.block import InitOp
from ...provenance.span import fuse
from ...support.context import PassContext
from ...te.schedule.bounds import Bounds
from ...te.schedule.itervar import IterVar, Split, ThreadAxis
from ...te.schedule.relations import Interval, axis_values, loop_extents, mixed_axes
from ...te.schedule.schedule import Schedule
from ...te.schedule.stage_state import StageState
from .bodies import start_location
from .padding import SKIP, inside
from .skipping import SKIP_MASKED, SKIP_ZEROS, SkipLowering, chosen
from .storage import Stored, layout_of
from .stores import Nest, Part
from .tensorized import LowerIntrin

_SKIPS = (SKIP, SKIP_MASKED, SKIP_ZEROS)


class NestLowering(SkipLowering):
    """Emits stages where they are computed."""

    def __init__(
        self,
        func: tir.PrimFuncOp,
        lower_intrin: LowerIntrin,
        schedule: Schedule,
        bounds: Mapping[StageState, Bounds],
        part: Part,
        *,
        blocks: bool = False,
    ):
        super().__init__(func, lower_intrin)
        self.schedule = schedule
        self.bounds = bounds
        self.part: Part = part
        self.around: list[AffineExpr] = []
        """The values of the loops around, those of one pass too, in the order of `Bounds.around`."""
        self.children: dict[IterVar, list[StageState]] = {}
        """The stages computed inside each loop."""
        for stage in schedule.computes:
            if stage.attach is not None:
                self.children.setdefault(stage.attach.loop, []).append(stage)
        self.exposed: set[StageState] = set()
        """The stages that write arguments of the function though it does not return their tensors."""
        self.threads: dict[ThreadAxis, Size] = {}
        self._locations: dict[StageState, LocationAttr] = {}
        self._wanted: dict[StageState, SSAValue] = {}
        """The flags of sums whose terms are added only where that is raised."""
        self.blocks = blocks
        self._keep_trivial = blocks or bool(PassContext.current().option("tir.debug_keep_trivial_loop"))

    def place(self, stage: StageState) -> None:
        """A stage with its buffers, at the place where the builder is."""
        region = [Interval(substitute(i.start, self.around), i.extent) for i in self.bounds[stage].region]
        if stage.storage.rolling_buffer:
            if stage.attach is None:
                stage.fail("rolling_buffer", "expected a stage that is computed in a loop, got one at the root")
            self._roll(stage, region)
        else:
            self.allocate(stage, region, self._rounded(stage))
            self._emit(stage, region)

    def _rounded(self, stage: StageState) -> frozenset[int]:
        """The dimensions of a stage's region whose place is decided by loops that a split rounded up.

        None for a stage that writes an argument, which ends where the tensor does.
        """
        if stage in self.exposed:
            return frozenset()
        bounds = self.bounds[stage]
        rounded = set[IterVar]()
        for relation in (relation for host in self.schedule.stages for relation in host.relations):
            if isinstance(relation, Split) and relation.tail == "round_up":
                rounded.add(relation.outer)
            if not rounded.isdisjoint(relation.parents):
                rounded.update(relation.children)
        dims = {i for i, axis in enumerate(bounds.around) if axis in rounded}
        return frozenset(i for i, interval in enumerate(bounds.region) if dims & interval.start.used_dims())

    def _emit(self, stage: StageState, region: Sequence[Interval]) -> None:
        nest = Nest(stage, region, loop_extents(stage, region), self._rounded(stage))
        bound: dict[IterVar, AffineExpr] = {}
        if self.blocks:
            self._block(nest, bound)
            return
        tiled = next((axis for axis in stage.leaf if axis.intrin is not None), None)
        loops = stage.leaf[: stage.leaf.index(tiled)] if tiled is not None else stage.leaf
        reduction = next((i for i, axis in enumerate(loops) if axis.reduce), len(loops))
        # A tile with the whole of a reduction starts it too.
        apart = reduction < len(loops) if tiled is not None else stage.compute.reducer is not None
        part = self.part if self.schedule.is_output(stage) else "all"
        with self._loops(nest, loops[:reduction], bound):
            if apart and part != "update":
                start = dict(bound)
                mixed = mixed_axes(stage)
                data = [axis for axis in loops[reduction:] if not axis.reduce or axis in mixed]
                first = nest
                if mixed and tiled is None and not all(proves(axis.extent, ">=", 1) for axis in stage.reduce_axes):
                    # Loops over data and terms are for one term more: where there are none, the data start as well.
                    first = replace(nest, extents=loop_extents(stage, region, 1))
                with self._loops(first, data, start, attach=False):
                    if tiled is not None:
                        self.tile(first, start, tiled, "init", self.children)
                    else:
                        self.store(first, start, init=True)
            if part != "init":
                if (flag := self._wanted.pop(stage, None)) is not None:
                    with self.builder.located(stage.compute.location):
                        self.builder.block = self.branch(flag).block
                with self._loops(nest, loops[reduction:], bound):
                    if tiled is not None:
                        self.tile(nest, bound, tiled, "update" if apart else "all", self.children)
                    else:
                        self.store(nest, bound, init=False)

    def _block(self, nest: Nest, bound: dict[IterVar, AffineExpr]) -> None:
        """All loops of a stage, around a block over the axes of its tensor and of its reduction."""
        stage, compute = nest.stage, nest.stage.compute
        if stage.relations or any(axis.intrin is not None for axis in stage.leaf) or mixed_axes(stage):
            stage.fail("blocks", "expected a stage whose loops are the axes of its tensor, as without a schedule")
        with self._loops(nest, stage.leaf, bound), self.builder.located(compute.location):
            axes = [
                *zip(compute.axes, stage.axes, strict=True),
                *zip(compute.reduce_axes, stage.reduce_axes, strict=True),
            ]
            kinds = [("reduce" if axis.reduce else "spatial", nest.extents[axis]) for _, axis in axes]
            map, operands = self.access([bound[axis] for _, axis in axes])
            hints = [f"v_{axis.name}" for _, axis in axes]
            block = self.builder.add(tir.BlockOp.make(compute.label.data, kinds, map, operands, hints=hints))
            inner, points = len(self.vars), dict[SSAValue, AffineExpr]()
            for (argument, _), (_, extent), value in zip(axes, kinds, block.block.args, strict=True):
                points[argument] = AffineDimExpr(len(self.vars))
                self.vars.append(value)
                self.ranges.append((0, extent - 1))
            if compute.reducer is not None:
                with self.builder.at(block.block):
                    init = self.builder.add(InitOp.make())
                with self.builder.at(init.block):
                    self.stores_at(stage, points, init=True)
            with self.builder.at(block.block):
                self.stores_at(stage, points, init=False)
            del self.vars[inner:], self.ranges[inner:]

    @contextmanager
    def _loops(
        self, nest: Nest, axes: Sequence[IterVar], bound: dict[IterVar, AffineExpr], attach: bool = True
    ) -> Generator[None]:
        """The loops of `axes`, outermost first; inside, their values are in `bound`."""
        depth, around, block, parallel = len(self.vars), len(self.around), self.builder.block, self.parallel_depth
        stage = nest.stage
        for axis in axes:
            children = self.children.get(axis, []) if attach else []
            extent = nest.extents[axis]
            if same(extent, 1) and not self._keep_trivial:
                bound[axis] = ZERO
            else:
                loop = tir.ForOp.make(extent, self._kind(stage, axis, extent), axis.name)
                if attach:
                    loop.attributes.update({hint: value for hint, value in axis.hints.items() if hint not in _SKIPS})
                with self.builder.located(self._location(stage, axis) if attach else start_location(stage.compute)):
                    self.builder.add(loop)
                self.builder.block = loop.block
                bound[axis] = AffineDimExpr(len(self.vars))
                self.vars.append(loop.var)
                self.ranges.append((0, extent - 1))
                self.parallel_depth += loop.kind.data == "parallel"
                if attach and SKIP in axis.hints:
                    self._skip_padding(nest, axis, bound)
                if attach and SKIP_ZEROS in axis.hints:
                    self.skip_zeros(nest, axis, bound)
            self.around.append(bound[axis])
            for child in children:
                if SKIP_MASKED in axis.hints:
                    self._skip_masked(nest, axis, bound, child)
                self.place(child)
        yield
        del self.vars[depth:], self.ranges[depth:], self.around[around:]
        self.builder.block, self.parallel_depth = block, parallel

    def _skip_padding(self, nest: Nest, axis: IterVar, bound: dict[IterVar, AffineExpr]) -> None:
        """Go on inside a branch for the passes of a reduction's loop that have other terms than products with zeros."""
        stage = nest.stage
        if axis not in stage.reduce_axes:
            stage.fail("pragma", f"expected an axis of a reduction for skip_padding, got {axis.name}")
        ends: list[dict[SSAValue, AffineExpr]] = []
        for last in (False, True):
            free = {leaf: lifted(nest.extents[leaf] - 1) if last else ZERO for leaf in stage.leaf if leaf not in bound}
            ends.append(self.points(stage, nest.region, axis_values(stage, nest.extents, bound | free)))
        argument = stage.compute.reduce_axes[stage.reduce_axes.index(axis)]
        exprs = [simplify(expr, self.ranges) for expr in inside(stage.compute, argument, *ends)]
        if guard := [expr for expr in exprs if not at_least(bounds(expr, self.ranges)[0], 0)]:
            map, operands = self.access(guard)
            with self.builder.located(stage.compute.location):
                self.builder.block = self.builder.add(tir.IfOp.make(map, operands)).block

    def _skip_masked(self, nest: Nest, axis: IterVar, bound: dict[IterVar, AffineExpr], product: StageState) -> None:
        """Raise a flag where a stage chooses any element of a product that is computed in one of its loops."""
        stage = nest.stage
        inside = stage.leaf[stage.leaf.index(axis) + 1 :]
        lanes = nest.extents[inside[-1]] if inside else None
        if not isinstance(lanes, int) or (choice := chosen(stage.compute, product.compute)) is None:
            return
        here = dict(bound)
        with self.builder.located(stage.compute.location):
            flags = self.flags(lanes)
            with self._loops(nest, inside, here, attach=False):
                points = self.points(stage, nest.region, axis_values(stage, nest.extents, here))
                condition, raised = choice
                value = self.condition(stage.compute, points, condition)
                self.raise_flag(flags, here[inside[-1]], value, raised)
            self._wanted[product] = self.any_of(flags)

    def _roll(self, stage: StageState, region: Sequence[Interval]) -> None:
        """The first pass of the innermost loop computes all of the region, the others what the one before did not."""
        assert stage.attach is not None
        axis = stage.attach.loop
        if self.around[-1] == ZERO:
            self.allocate(stage, region)
            self._emit(stage, region)
            return
        loop = self.builder.block.parent_op()
        assert isinstance(loop, tir.ForOp)
        moving: list[tuple[int, Size]] = []
        for i, interval in enumerate(region):
            for atom, factor in linear(interval.start, tuple(self.ranges)).terms:
                if len(self.vars) - 1 in atom.used_dims():
                    moving.append((i, factor if isinstance(atom, AffineDimExpr) else 0))
        if len(moving) != 1 or not at_least(moving[0][1], 1) or loop.kind.data not in ("serial", "unrolled"):
            stage.fail("rolling_buffer", f"expected a serial loop along one axis of the stage, got {axis.name}")
        if any(at in self.children for at in stage.leaf) or len(stage.compute.outputs) > 1:
            stage.fail("rolling_buffer", "expected a stage of one tensor without others inside")
        (dim, step), outer = moving[0], loop.parent
        assert outer is not None
        length = region[dim].extent
        with self.builder.at(outer):
            layout = layout_of(stage, [interval.extent for interval in region])
            buffer = self.buffer(stage, stage.compute.result.type.element_type, layout)
        buffer.name_hint = stage.compute.result.name_hint
        alloc = cast(tir.AllocOp, buffer.owner)
        if alloc.parent is outer and alloc is outer.last_op:
            alloc.detach()
            outer.insert_op_before(alloc, loop)
        self.storage[stage.compute.result] = Stored(buffer, [i.start for i in region], layout, (dim, length))
        if not below(step, length):
            self._emit(stage, region)
            return
        new = list(region)
        new[dim] = Interval(region[dim].start + lifted(length - step), step)
        with self.builder.located(stage.compute.location):
            first = AffineMap(1, 0, (AffineDimExpr(0) * -1,))
            branch = self.builder.add(tir.IfOp.make(first, [loop.var], orelse=True))
        for part, block in zip((region, new), (r.block for r in branch.regions), strict=True):
            with self.builder.at(block):
                self._emit(stage, part)

    def _kind(self, stage: StageState, axis: IterVar, extent: Size) -> str:
        """Return the kind of a loop; its thread has one extent wherever it is bound, and blocks run in parallel."""
        if (thread := axis.thread) is None:
            return axis.kind
        wanted = self.threads.setdefault(thread, extent if thread.extent is None else thread.extent)
        if not same(wanted, extent):
            stage.fail("bind", f"expected the extent {wanted} of {thread.tag}, got {extent} of {axis.name}")
        return "parallel" if thread.is_block and not self.parallel_depth else "serial"

    def _location(self, stage: StageState, axis: IterVar) -> LocationAttr:
        """The stage's location, and those of the stages computed inside this loop."""
        locations = [stage.compute.location]
        for inner in stage.leaf[stage.leaf.index(axis) :]:
            for child in self.children.get(inner, []):
                if child not in self._locations:
                    self._locations[child] = self._location(child, child.leaf[0])
                locations.append(self._locations[child])
        return fuse(locations)
