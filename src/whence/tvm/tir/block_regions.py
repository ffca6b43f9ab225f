"""The regions that blocks access, as TVMScript writes them, computed from the ops of a function."""

from __future__ import annotations

from collections.abc import Sequence

from whence.dialects.tir import AllocConstOp, AllocOp, BlockOp, ForOp, PrimFuncOp
from whence.passes.tir.analysis.regions import Region, regions_of
from whence.te.language.blocks import Block, BufferRegion, allocated, in_order
from whence.te.language.expr import Const, Expr, Range, Var, convert
from whence.te.language.statement_view import Viewer
from whence.te.language.statements import Buffer, For, Stmt
from whence.tir.script_blocks import Regions


def block_regions(func: PrimFuncOp, buffers: Sequence[Buffer], body: Stmt) -> dict[int, Regions]:
    """Return the regions of each block among the statements of a function, by the ids of blocks.

    body: the statements that `func` has the ops of.
    """
    ops = [op for op in func.walk() if isinstance(op, ForOp | BlockOp)]
    if not any(isinstance(op, BlockOp) for op in ops):
        return {}
    parts = list(in_order(body))
    statements = [stmt for stmt in parts if isinstance(stmt, For | Block)]
    made = [buffer for stmt in parts for buffer in allocated(stmt)]
    memories = [op.results[0] for op in func.walk() if isinstance(op, AllocOp | AllocConstOp)]
    if len(ops) != len(statements) or len(memories) != len(made):
        return {}
    names = Viewer(func)
    names.buffers.update(zip([*func.block.args, *memories], [*buffers, *made], strict=False))
    found: dict[int, Regions] = {}
    for op, stmt in zip(ops, statements, strict=True):
        match op, stmt:
            case ForOp(), For():
                names.values[op.var] = _from(stmt.loop_var, stmt.min)
            case BlockOp(), Block():
                for argument, variable in zip(op.block.args, stmt.iter_vars, strict=True):
                    names.values[argument] = _from(variable.var, convert(variable.dom.min))
                inside = {buffer for part in in_order(stmt) for buffer in allocated(part)}
                reads, writes = (
                    [one for one in side if names.buffers[one.buffer] not in inside] for side in regions_of(op)
                )
                if all(value in names.values for one in (*reads, *writes) for value in one.variables):
                    found[id(stmt)] = [_region(one, names) for one in reads], [_region(one, names) for one in writes]
            case _:
                return {}
    return found


def _from(variable: Var, begin: Expr) -> Expr:
    """The variable as counted from 0 on, as ops do."""
    return variable if isinstance(begin, Const) and begin.value == 0 else variable - begin


def _region(region: Region, names: Viewer) -> BufferRegion:
    ranges = [
        Range(names.affine(begin, region.variables), names.size(extent))
        for begin, extent in zip(region.begins, region.extents, strict=True)
    ]
    return BufferRegion(names.buffers[region.buffer], tuple(ranges), region.exact)
