"""One primitive function through te, tir and llvm to machine code: the unit of compilation."""

from __future__ import annotations

import os
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...dialects.relay.core import FuncOp
from ...passes.tir.instrument_bound_checkers import sites_of
from ...passes.tir.pipeline import run_tir_passes
from ...provenance.lost import is_located
from ...provenance.walk import walk
from ..llvm_to_native.emit import emit_module
from ..llvm_to_native.target import Target
from ..relay_to_te.knobs import Decisions
from ..relay_to_te.lower import lower_function
from ..tir_to_llvm.convert import convert
from ..tir_to_llvm.float_mode import flushes
from .few_rows import lower_scheduled
from .printing import line_table, own_lines, print_with_lines, printed
from .record import Draft, source_name
from .sizes import sizes_of
from .work import slots_work, stages_work


def _count(roots: Sequence[Operation]) -> tuple[int, int]:
    """Ops below the roots, roots included, and how many of them are located."""
    cache: dict[int, bool] = {}
    count = located = 0
    for root in roots:
        for op in walk(root):
            location = op.location
            if (is_placed := cache.get(id(location))) is None:
                is_placed = cache[id(location)] = is_located(location)
            count += 1
            located += is_placed or isinstance(op, ModuleOp)
    return count, located


def redraft_kernel(func: FuncOp, target: Target, key: str, decisions: Decisions | None = None) -> None:
    """Lower an anonymous primitive function to tir for instruments to see; arguments and errors as `draft_kernel`."""
    te_func = lower_function(func)
    te_func.sym_name = StringAttr(_symbol(func, key))
    _, tir_func = lower_scheduled(te_func, target.hardware, decisions)
    run_tir_passes(tir_func, target.hardware)


def _symbol(func: FuncOp, key: str) -> str:
    return f"tvmgen_default_{func.sym_name.data}_{key[:8]}"


def draft_kernel(
    func: FuncOp, target: Target, key: str, sources: str = "", decisions: Decisions | None = None
) -> Draft:
    """Lower an anonymous primitive function to LLVM text.

    sources: the folder in which a debugger finds the printed TIR, as `<symbol>.tir`. decisions: the numbers of knobs
    that are not to have their defaults.

    Raises VerifyException when an operator has no lowering, ScheduleError when its schedule does not fit.
    """
    symbol = _symbol(func, key)
    te_func = lower_function(func)
    te_func.sym_name = StringAttr(symbol)
    te_text = printed(te_func)
    counts = {"te": _count([te_func])}
    work = stages_work(te_func)
    schedule, tir_func = lower_scheduled(te_func, target.hardware, decisions)
    run_tir_passes(tir_func, target.hardware)
    tir_text, lines = print_with_lines(tir_func)
    counts["tir"] = _count([tir_func])
    low = convert(tir_func, lines, flush=flushes(target.triple))
    counts["llvm"] = _count(list(low.module.body.block.ops))
    return Draft(
        symbol=symbol,
        workspace=low.workspace,
        tir=tir_text,
        lines=line_table(tir_text, lines),
        places=own_lines(tir_text, lines),
        te=te_text,
        schedule=printed(schedule.sequence),
        decisions=dict(decisions or {}),
        llvm=emit_module(low.module, lines=low.lines, source=os.path.join(sources, source_name(symbol)), target=target),
        ops={level: count[0] for level, count in counts.items()},
        located={level: count[1] for level, count in counts.items()},
        work=slots_work(work, len(list(func.block.ops))),
        sizes=len(sizes_of(func)),
        sites=tuple(
            (site.buffer, tuple(int(slot[1:]) for slot in site.layers if slot.startswith("#")))
            for site in sites_of(tir_func)
        ),
    )
