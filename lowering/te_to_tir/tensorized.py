"""Tensorized loops: the loops of an intrinsic's replacement in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import tir
from ...dialects.affine import ZERO, substitute
from ...te.schedule.itervar import IterVar
from ...te.schedule.relations import axis_values
from ...te.schedule.stage_state import StageState
from ...te.schedule.tensor_intrin import TensorIntrin
from ...te.schedule.tensorize import match_tile
from .parts import copy_arguments
from .stores import Nest, Part, StoreLowering
from .tiles import Place, inline_kernel, lies_packed

LowerIntrin = Callable[[TensorIntrin, Part], tir.PrimFuncOp]
"""The loops of an intrinsic."""


class TileLowering(StoreLowering):
    """Emits what intrinsics do."""

    def __init__(self, func: tir.PrimFuncOp, lower_intrin: LowerIntrin):
        super().__init__(func)
        self.lower_intrin = lower_intrin

    def tile(
        self,
        nest: Nest,
        bound: Mapping[IterVar, AffineExpr],
        axis: IterVar,
        part: Part,
        children: Mapping[IterVar, Sequence[StageState]],
    ) -> None:
        """Emit the code of an intrinsic in place of the loops from `axis` on."""
        stage, extents, intrin = nest.stage, nest.extents, axis.intrin
        assert intrin is not None
        inside = stage.leaf[stage.leaf.index(axis) :]
        if held := [child.label for loop in inside for child in children.get(loop, [])]:
            stage.fail("tensorize", f"expected no stage inside the tile, got {', '.join(held)}")
        match = match_tile(stage, axis, intrin, extents)
        depth = len(self.ranges)
        leaves = {**bound} | {loop: self.free(extents[loop]) for loop in stage.leaf if loop not in bound}
        values = axis_values(stage, extents, leaves)
        if self.guards(nest, values, self.points(stage, nest.region, values), part == "init"):
            stage.fail("tensorize", "expected whole tiles, got one that reaches past the end")
        del self.ranges[depth:]
        leaves = {**bound} | {loop: ZERO for loop in stage.leaf if loop not in bound}
        points = self.points(stage, nest.region, axis_values(stage, extents, leaves))

        def place(tensor: SSAValue, start: Sequence[AffineExpr], dims: Sequence[int]) -> Place:
            stored = self.storage[tensor]

            def at(local: Sequence[AffineExpr]) -> list[AffineExpr]:
                point = list(start)
                for dim, expr in zip(dims, local, strict=True):
                    point[dim] = point[dim] + expr
                return stored.place(point)

            return stored.buffer, at

        func = self.lower_intrin(intrin, part)
        *inputs, output = func.block.args
        places: dict[SSAValue, Place] = {
            output: place(stage.compute.result, [points[a] for a in stage.compute.axes], match.output)
        }
        for argument, pattern in zip(inputs, intrin.pattern.block.args, strict=True):
            read, dims = match.inputs[pattern]
            start = [substitute(expr, [points[i] for i in read.indices]) for expr in read.map.data.results]
            places[argument] = place(read.tensor, start, dims)
        packed = [argument for argument in places if lies_packed(self, argument, places[argument])]
        copy_arguments(func, packed, intrin.name, keeps=part == "update")
        with self.builder.located(stage.compute.location):
            inline_kernel(self, func, places)
