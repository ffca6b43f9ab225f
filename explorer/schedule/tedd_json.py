"""The contents of TEDD's drawings, as data: a schedule's stages, iteration variables, relations and tensors.

Stages are numbered from the inputs on, the placeholders (function arguments that are read) among them, each before its
first reader. A part is referred to by a path of numbers: `[stage]`, `[stage, itervar]`, `[stage, tensor]`.
"""

from __future__ import annotations

import warnings
from typing import Literal, TypeAlias, TypedDict, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from ...dialects import te
from ...dialects.element_types import dtype_name
from ...support.errors import ScheduleError
from ...te.schedule.bounds import LoopRange, attach_axis, infer_ranges
from ...te.schedule.itervar import Fuse, IterVar, Kind, Relation, Singleton, Sort, Split, Transform
from ...te.schedule.opaque import Producer
from ...te.schedule.schedule import Schedule
from ...te.schedule.spelling import expression, tensor_name
from ...te.schedule.stage import Stage

Path: TypeAlias = list[int]
ITER_TYPES = (
    ("kDataPar", "#FFFFFF"),
    ("kThreadIndex", "#2980B9"),
    ("kCommReduce", "#FAD7A0"),
    ("kOrdered", "#D35400"),
    ("kOpaque", "#ABB2B9"),
    ("kUnrolled", "#D2B4DE"),
    ("kVectorized", "#AED6F1"),
    ("kParallelized", "#F5B7B1"),
    ("kTensorized", "#A9DFBF"),
)
"""TVM's iteration types: number -> name and colour."""

KIND_TYPES: dict[Kind, int] = {"serial": 0, "unrolled": 5, "vectorized": 6, "parallel": 7, "tensorized": 8}
"""The kind of a loop -> its iteration type; of a serial one `SORT_TYPES` says more."""

SORT_TYPES: dict[Sort, int] = {"data": 0, "thread": 1, "reduce": 2, "ordered": 3, "opaque": 4}
"""The kind of axis that an iteration variable runs over -> its iteration type, while it is a serial loop."""


class IterVarProperties(TypedDict):
    thread: str | None
    """The thread that the variable is bound to."""
    intrin: str | None
    """The intrinsic that replaces the loop."""
    range: str | None
    """`range(min=0, ext=4)`; None where it is not known, as in stages without loops."""


class IterVarEntry(TypedDict):
    type: Literal["IterVar"]
    index: int
    """The position among the loops, -1 when it is none."""
    name: str
    itervar_type: int
    properties: IterVarProperties


class SplitEntry(TypedDict):
    type: Literal["Split_Relation"]
    parent: Path
    outer: Path
    inner: Path


class FuseEntry(TypedDict):
    type: Literal["Fuse_Relation"]
    fused: Path
    outer: Path
    inner: Path


class SingletonEntry(TypedDict):
    type: Literal["Singleton_Relation"]
    iter: Path


class TransformEntry(TypedDict):
    type: Literal["Transform_Relation"]
    originals: list[Path]
    transformed: list[Path]


RelationEntry: TypeAlias = SplitEntry | FuseEntry | SingletonEntry | TransformEntry


class TensorEntry(TypedDict):
    type: Literal["Tensor"]
    source: Path
    value_index: int
    shape: list[int]
    data_type: str


class StageProperties(TypedDict):
    scope: str


class StageEntry(TypedDict):
    type: Literal["Stage"]
    name: str
    attaching_to: Path | None
    compute: str | None
    properties: StageProperties
    all_itervars: list[IterVarEntry]
    relations: list[RelationEntry]
    input_tensors: list[Path]
    output_tensors: list[TensorEntry]


class ScheduleEntry(TypedDict):
    type: Literal["Schedule"]
    stages: list[StageEntry]


def dump_json(sch: Schedule) -> ScheduleEntry:
    """The schedule as plain dicts and lists.

    Warns when no ranges can be inferred because a stage is computed where that is impossible; they are None then.
    """
    return _Dump(sch).run()


def sources(producer: Producer) -> list[SSAValue]:
    """The tensors that an operation reads, in order of first read; an argument reads none."""
    return [] if isinstance(producer, BlockArgument) else te.inputs_of(producer)


def _producer(tensor: SSAValue) -> Producer:
    made_by = tensor if isinstance(tensor, BlockArgument) else tensor.owner
    assert isinstance(made_by, (BlockArgument, *te.STAGES))
    return made_by


def producers(sch: Schedule) -> list[Producer]:
    """Operations and arguments that are read, in the order in which a depth-first walk from the outputs leaves them."""
    roots = [*map(_producer, sch.func.return_op.values), *(stage.producer for stage in sch.stages)]
    done: dict[Producer, None] = {}
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        producer, left = stack.pop()
        if left:
            done[producer] = None
        elif producer not in done:
            stack.append((producer, True))
            stack.extend((_producer(source), False) for source in reversed(sources(producer)))
    return list(done)


def iteration_type(axis: IterVar) -> int:
    """The number of what an iteration variable is, in `ITER_TYPES`."""
    if axis.thread is not None:
        return SORT_TYPES["thread"]
    return SORT_TYPES[axis.sort] if axis.kind == "serial" or axis.sort == "opaque" else KIND_TYPES[axis.kind]


class _Dump:
    def __init__(self, sch: Schedule):
        self.sch = sch
        self.number = {producer: i for i, producer in enumerate(producers(sch))}
        self.paths: dict[IterVar, Path] = {
            axis: [self.number[stage.producer], i] for stage in sch.stages for i, axis in enumerate(stage.all_iter_vars)
        }
        self.ranges: dict[IterVar, LoopRange] = {}

    def run(self) -> ScheduleEntry:
        try:
            self.ranges = infer_ranges(self.sch)
        except ScheduleError as error:
            text = f"Ranges are not available, because InferBound fails with the following error:\n{error}"
            warnings.warn(text, stacklevel=4)
        stage_of: dict[Producer, Stage] = {stage.producer: stage for stage in self.sch.stages}
        stages = [self._stage(producer, stage_of.get(producer)) for producer in self.number]
        return {"type": "Schedule", "stages": stages}

    def _path(self, tensor: SSAValue) -> Path:
        return [self.number[_producer(tensor)], tensor.index if isinstance(tensor, OpResult) else 0]

    def _tensor(self, tensor: SSAValue) -> TensorEntry:
        type_ = cast(TensorType[Attribute], tensor.type)
        source, value_index = self._path(tensor)
        return {
            "type": "Tensor",
            "source": [source],
            "value_index": value_index,
            "shape": list(type_.get_shape()),
            "data_type": dtype_name(type_.element_type),
        }

    def _stage(self, producer: Producer, stage: Stage | None) -> StageEntry:
        """A stage, or the placeholder that an argument is."""
        axis = attach_axis(stage.attach) if stage is not None and stage.attach is not None else None
        outputs = [producer] if isinstance(producer, BlockArgument) else list(producer.results)
        return {
            "type": "Stage",
            "name": tensor_name(producer) if isinstance(producer, BlockArgument) else producer.label.data,
            "attaching_to": None if axis is None else self.paths[axis],
            "compute": expression(stage.compute) if stage is not None and stage.is_compute else None,
            "properties": {"scope": "global" if stage is None else stage.scope},
            "all_itervars": [] if stage is None else [self._itervar(stage, axis) for axis in stage.all_iter_vars],
            "relations": [] if stage is None else [self._relation(relation) for relation in stage.relations],
            "input_tensors": [self._path(source) for source in sources(producer)],
            "output_tensors": [self._tensor(output) for output in outputs],
        }

    def _itervar(self, stage: Stage, axis: IterVar) -> IterVarEntry:
        extent = self.ranges.get(axis)
        leaf = stage.leaf
        return {
            "type": "IterVar",
            "index": leaf.index(axis) if axis in leaf else -1,
            "name": axis.name,
            "itervar_type": iteration_type(axis),
            "properties": {
                "thread": axis.thread.tag if axis.thread is not None else None,
                "intrin": axis.intrin.name if axis.intrin is not None else None,
                "range": None if extent is None else str(extent),
            },
        }

    def _relation(self, relation: Relation) -> RelationEntry:
        path = self.paths
        match relation:
            case Split(parent=parent, outer=outer, inner=inner):
                return {"type": "Split_Relation", "parent": path[parent], "outer": path[outer], "inner": path[inner]}
            case Fuse(fused=fused, outer=outer, inner=inner):
                return {"type": "Fuse_Relation", "fused": path[fused], "outer": path[outer], "inner": path[inner]}
            case Singleton(axis=axis):
                return {"type": "Singleton_Relation", "iter": path[axis]}
            case Transform(originals=originals, transformed=transformed):
                sides = [path[axis] for axis in originals], [path[axis] for axis in transformed]
                return {"type": "Transform_Relation", "originals": sides[0], "transformed": sides[1]}
