"""Films of block schedules: a frame for each primitive, with the blocks, the loops around them, and the text."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.element_types import dtype_name
from ...dialects.tir import BlockOp, ForOp, buffer_of, prim_funcs
from ...lowering.kernel.printing import print_with_lines, printed
from ...te.blocks.accesses import buffers_of, name_of_buffer
from ...te.blocks.base import Scheduling
from ...te.blocks.state import loops_of, name_of
from ...te.blocks.view import blocks_of, marks
from ...te.schedule.itervar import Kind
from ..schedule.tedd_json import ITER_TYPES, KIND_TYPES, SORT_TYPES
from .films import Frame, LoopRow, TreeStage, Variable
from .films import Schedule as Film
from .line_edits import edits_between


def block_film(schedule: Scheduling, kernel: int = -1) -> Film:
    """The film of a block schedule, which stays as it is: no estimates, and no primitives that may come next.

    Where the schedule knows by which lines of Python its primitives were issued (`te.keep_primitive_lines`), the frames
    have them.
    """
    first = schedule.snapshot(0)
    head = "".join(f"{printed(func)}\n" for func in prim_funcs(first.module))
    sequence, placed = print_with_lines(schedule.sequence)
    lines = {op: line + head.count("\n") for op, line in placed.items() if op.parent is schedule.sequence.block}
    text, issued = (head + sequence).splitlines(), schedule.record.lines or {}
    (func, *_) = prim_funcs(first.module)
    arguments = [(name_of_buffer(each), _type(each)) for each in func.block.args]
    film = Film(kernel, head + sequence, arguments, [], [])
    rows: dict[str, tuple[TreeStage, int]] = {}
    loops: list[str] = []
    steps: list[Operation | None] = [None, *schedule.primitives]
    for number, step in enumerate(steps):
        now = first if step is None else schedule.snapshot(number)
        before, rows = rows, {}
        for label, row in _rows(now.module).items():
            if label in before and before[label][0] == row:
                rows[label] = before[label]
            else:
                rows[label] = row, len(film.stages)
                film.stages.append(row)
        changed = [label for label in before | rows if before.get(label) != rows.get(label)]
        after = printed(now.module).splitlines()
        film.frames.append(
            Frame(
                primitive="" if step is None else text[lines[step] - 1].strip(),
                at="" if step is None else issued.get(step, ""),
                lines=head.count("\n") + 1 if step is None else lines[step],
                tree=[index for _, index in rows.values()],
                changed=changed if number else [],
                loaded=True,
                tir=edits_between(loops, after),
                error="",
                cost=None,
                next=[],
            )
        )
        loops = after
    return film


def _rows(module: ModuleOp) -> dict[str, TreeStage]:
    """The blocks by their names, in order."""
    return {label: _row(label, block) for label, block in blocks_of(module)}


def _row(label: str, block: BlockOp) -> TreeStage:
    loops, written = loops_of(block), buffers_of(block, writes=True)
    reduces = _reducing(block)
    return TreeStage(
        label=label,
        place="root",
        scope="global",
        storage="",
        compute=printed(block).splitlines()[:1],
        loops=[
            LoopRow(
                name=name_of(loop),
                extent=str(loop.trip_count),
                kind=loop.kind.data,
                type=_iteration(loop, loop in reduces),
                reduce=loop in reduces,
                computes=[],
                notes=marks(loop)[loop.kind.data != "serial" :],
                depth=depth,
                variable=depth,
            )
            for depth, loop in enumerate(loops)
        ],
        variables=[Variable(name_of(loop), str(loop.trip_count), _iteration(loop, loop in reduces)) for loop in loops],
        relations=[],
        slots=[],
        reads=[name_of_buffer(buffer) for buffer in buffers_of(block, writes=False)],
        outputs=[_type(buffer) for buffer in written],
    )


def _reducing(block: BlockOp) -> set[Operation]:
    """The loops that only variables of a reduction are bound to."""
    kinds: dict[Operation, set[str]] = {}
    for expr, kind in zip(block.map.data.results, block.kinds, strict=True):
        for dim in expr.used_dims():
            owner = block.indices[dim].owner
            parent = owner.parent_op() if not isinstance(owner, Operation) else None
            if isinstance(parent, ForOp):
                kinds.setdefault(parent, set()).add(kind.data)
    return {loop for loop, found in kinds.items() if found == {"reduce"}}


def _iteration(loop: ForOp, reduce: bool) -> str:
    number = (
        SORT_TYPES["reduce" if reduce else "data"]
        if loop.kind.data == "serial"
        else KIND_TYPES[cast(Kind, loop.kind.data)]
    )
    return ITER_TYPES[number][0]


def _type(buffer: SSAValue) -> str:
    type_ = buffer_of(buffer)
    return f"{dtype_name(type_.element_type)}[{', '.join(map(str, type_.get_shape()))}]"
