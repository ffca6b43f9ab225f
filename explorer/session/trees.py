"""Rows of a schedule tree: the stages of a schedule as it is, with loops, iteration variables and relations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects import te
from ...dialects.element_types import dtype_name
from ...dialects.sizes import Size
from ...dialects.sizes.types import extents_of
from ...lowering.kernel.slots import slots_of
from ...provenance.span import leaf_name, leaves
from ...te.schedule.itervar import IterVar
from ...te.schedule.schedule import Schedule
from ...te.schedule.spelling import formula, tensor_name
from ...te.schedule.stage import Stage
from ...te.schedule.view import loops, place
from ..schedule.tedd_json import ITER_TYPES, iteration_type
from .films import LoopRow, Relation, TreeStage, Variable


def type_text(tensor: SSAValue) -> str:
    """`float32[64, 128]`."""
    type_ = cast("TensorType[Attribute]", tensor.type)
    return f"{dtype_name(type_.element_type)}[{', '.join(map(str, extents_of(type_)))}]"


class Forester:
    """Makes rows of the stages of one schedule again and again, while primitives change it."""

    def __init__(self, schedule: Schedule):
        self.schedule = schedule
        self._formulas: dict[tuple[Operation, tuple[str, ...]], list[str]] = {}

    def rows(self, extents: Mapping[IterVar, Size]) -> dict[str, TreeStage]:
        """The stages by label, producers first; extents are those of loops that run, where they are known."""
        return {stage.label: self._row(stage, extents) for stage in self.schedule.stages}

    def _row(self, stage: Stage, extents: Mapping[IterVar, Size]) -> TreeStage:
        axes = stage.all_iter_vars
        number = {axis: position for position, axis in enumerate(axes)}
        shown = [axis for axis in stage.leaf if stage.is_compute or axis.sort != "opaque"]
        extent_of = {axis: extents.get(axis, axis.extent) for axis in axes}
        reads = [tensor_name(tensor) for tensor in stage.inputs]
        return TreeStage(
            label=stage.label,
            place=place(stage),
            scope=stage.scope,
            storage=str(stage.storage),
            compute=self._formula(stage, reads),
            loops=[
                LoopRow(
                    name=loop.name,
                    extent=str(loop.extent),
                    kind=loop.kind,
                    type=ITER_TYPES[iteration_type(axis)][0],
                    reduce=loop.reduce,
                    computes=list(loop.computes),
                    notes=list(loop.notes),
                    depth=position if loop.depth is None else loop.depth,
                    variable=number.get(axis, -1),
                )
                for position, (axis, loop) in enumerate(zip(shown, loops(self.schedule, stage, extent_of), strict=True))
            ],
            variables=[Variable(axis.name, str(extent_of[axis]), ITER_TYPES[iteration_type(axis)][0]) for axis in axes],
            relations=[
                Relation(
                    type(relation).__name__.lower(),
                    [number[axis] for axis in relation.parents],
                    [number[axis] for axis in relation.children],
                )
                for relation in stage.relations
            ],
            slots=_slots(stage),
            reads=reads,
            outputs=[type_text(output) for output in stage.outputs],
        )

    def _formula(self, stage: Stage, reads: list[str]) -> list[str]:
        """The formula of a stage; it is told anew where it reads other tensors than before."""
        producer = stage.producer
        if isinstance(producer, BlockArgument):
            return []
        key = producer, tuple(reads)
        if key not in self._formulas:
            self._formulas[key] = formula(producer)
        return self._formulas[key]


def _slots(stage: Stage) -> list[int]:
    """The slots behind a stage of a kernel; none behind one of a schedule that a user wrote."""
    numbered = all(leaf_name(leaf).startswith("#") for leaf in leaves(stage.location))
    return list(slots_of(stage.location)) if numbered else []


def arguments_of(func: te.FuncOp) -> list[tuple[str, str]]:
    """Name and type of each argument of a function."""
    return [(tensor_name(argument), type_text(argument)) for argument in func.block.args]
