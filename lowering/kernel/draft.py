"""A primitive function on its way through te, tir and llvm to machine code: the unit of compilation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...dialects import te, tir
from ...dialects.relay.core import FuncOp
from ...dialects.schedule import SequenceOp
from ...dialects.sizes.kernel import NOMINAL
from ...passes.tir.instrument_bound_checkers import sites_of
from ...passes.tir.pipeline import run_tir_passes
from ...passes.tir.verify_memory import check_races
from ...provenance.lost import is_located
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from ...te.schedule.schedule import Schedule, replay
from ..llvm_to_native.emit import emit_module
from ..llvm_to_native.target import Target
from ..relay_to_te.joined_axes import join_axes
from ..relay_to_te.knobs import Decisions
from ..relay_to_te.lower import lower_function
from ..relay_to_te.strategy import is_scheduled_from_outside, plain_schedule, schedule_function
from ..te_to_tir.lower import lower_schedule
from ..tir_to_llvm.convert import convert
from ..tir_to_llvm.float_mode import flushes
from .block_space import BlockSpace
from .families import Family
from .few_rows import lower_scheduled
from .printing import line_table, own_lines, print_with_lines, printed
from .record import Draft, Rows, source_name
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
    symbol = _symbol(func, key)
    _lowered(func, _te_function(func, symbol), target, decisions)


def redraft_shared(family: Family, target: Target, key: str) -> None:
    """Lower the function of a family to tir for instruments to see; arguments and errors as `draft_shared`."""
    symbol = _symbol(family.function, key)
    own, shared = _te_functions(family, symbol)
    _lowered_alike(schedule_function(own, target.hardware), shared, target)


def _symbol(func: FuncOp, key: str) -> str:
    return f"tvmgen_default_{func.sym_name.data}_{key[:8]}"


def _te_function(func: FuncOp, symbol: str) -> te.FuncOp:
    lowered = lower_function(func)
    lowered.sym_name = StringAttr(symbol)
    return lowered


def _lowered(
    func: FuncOp, te_func: te.FuncOp, target: Target, decisions: Decisions | None
) -> tuple[Schedule, tir.PrimFuncOp, str]:
    """The schedule of a function, its loops after all passes, and why it is the plain schedule, if it is.

    te_func: of `func`; it is consumed.
    """
    symbol = te_func.sym_name.data
    try:
        schedule, tir_func = lower_scheduled(te_func, target.hardware, decisions)
        run_kernel_passes(tir_func, target)
    except ScheduleError as error:
        again = _te_function(func, symbol)
        if decisions or is_scheduled_from_outside(again):
            raise
        schedule = plain_schedule(again)
        try:
            tir_func = lower_schedule(schedule)
            run_kernel_passes(tir_func, target)
        except ScheduleError:
            # It is not the strategies' fault.
            raise error from None
        return schedule, tir_func, str(error).partition(" (stage ")[0]
    return schedule, tir_func, ""


def draft_kernel(
    func: FuncOp, target: Target, key: str, sources: str = "", decisions: Decisions | None = None
) -> Draft:
    """Lower an anonymous primitive function to LLVM text.

    sources: the folder in which a debugger finds the printed TIR, as `<symbol>.tir`. decisions: the numbers of knobs
    that are not to have their defaults.

    What the compiler's strategies cannot schedule has the plain schedule, and `Draft.refusal` says why.

    Raises VerifyException when an operator has no lowering, ScheduleError when a registered strategy or `decisions` do
    not fit, or no schedule does.
    """
    symbol = _symbol(func, key)
    te_func = _te_function(func, symbol)
    form = _Form(printed(te_func), _count([te_func]), _work(te_func, func), sizes=len(sizes_of(func)))
    schedule, tir_func, refusal = _lowered(func, te_func, target, decisions)
    return _draft(form, target, sources, schedule.sequence, tir_func, refusal=refusal, decisions=decisions)


def draft_shared(family: Family, target: Target, key: str, sources: str = "") -> Draft:
    """Lower the function of a family to LLVM text, with the schedule of the typical member; arguments as above.

    Raises VerifyException or ScheduleError where its loops are not those of the member: tails and guards that only a
    call decides about, and buffers of open sizes, cost time.
    """
    symbol = _symbol(family.function, key)
    own, shared = _te_functions(family, symbol)
    work = _work(own, family.function)
    apart = NOMINAL - family.extent
    growth = tuple(
        ((nominal_operations - operations) // apart, (nominal_bytes - size) // apart)
        for (operations, size), (nominal_operations, nominal_bytes) in zip(
            work, _work(shared, family.function), strict=True
        )
    )
    sizes = len(sizes_of(family.function))
    form = _Form(printed(shared), _count([shared]), work, growth, family.extent, sizes)
    known = schedule_function(own, target.hardware)
    schedule, tir_func = _lowered_alike(known, shared, target)
    alone = lower_schedule(known)
    run_kernel_passes(alone, target)
    if [op.name for op in walk(tir_func)] != [op.name for op in walk(alone)]:
        raise ScheduleError(f"expected the loops of {symbol} for all sizes")
    if any(isinstance(op, tir.AllocOp) and not op.result.type.is_static for op in walk(tir_func)):
        raise ScheduleError(f"expected buffers of known sizes in {symbol}")
    return _draft(form, target, sources, schedule.sequence, tir_func)


def _te_functions(family: Family, symbol: str) -> tuple[te.FuncOp, te.FuncOp]:
    """The typical function of a family and the one of a size, with the same axes joined."""
    own, shared = (_te_function(func, symbol) for func in (family.typical, family.function))
    join_axes(shared)
    return own, shared


def run_kernel_passes(func: tir.PrimFuncOp, target: Target) -> None:
    """Run the passes of tir on the loops of a function, in place; raises ScheduleError where they do not fit."""
    run_tir_passes(func, target.hardware, flush=flushes(target.triple))


def _lowered_alike(known: Schedule, te_func: te.FuncOp, target: Target) -> tuple[Schedule, tir.PrimFuncOp]:
    """The schedule and loops of a function of a size, by the schedule of one of a number."""
    schedule = replay(te_func, known.sequence, None, known.intrinsics)
    schedule.sequence.attributes |= known.sequence.attributes
    tir_func = lower_schedule(schedule)
    run_kernel_passes(tir_func, target)
    return schedule, tir_func


def draft_blocks(space: BlockSpace, target: Target, symbol: str, decisions: Decisions) -> Draft:
    """Lower a kernel of blocks to LLVM text, by decisions of its space. Raises ScheduleError for those that do not fit.

    symbol: its name in the code.
    """
    func = space.decided(decisions)
    func.properties["sym_name"] = StringAttr(symbol)
    check_races(func)
    run_kernel_passes(func, target)
    return _draft(_Form("", (0, 0), ()), target, "", space.schedule.sequence, func, decisions=decisions)


@dataclass(frozen=True)
class _Form:
    """The things known of a function before it is scheduled."""

    text: str
    ops: tuple[int, int]
    work: Rows
    growth: Rows = ()
    typical: int = 0
    sizes: int = 0


def _work(te_func: te.FuncOp, func: FuncOp) -> Rows:
    return slots_work(stages_work(te_func), len(list(func.block.ops)))


def _draft(
    form: _Form,
    target: Target,
    sources: str,
    sequence: SequenceOp,
    tir_func: tir.PrimFuncOp,
    *,
    refusal: str = "",
    decisions: Decisions | None = None,
) -> Draft:
    symbol = tir_func.sym_name.data
    tir_text, lines = print_with_lines(tir_func)
    counts = {"te": form.ops, "tir": _count([tir_func])}
    low = convert(tir_func, lines, flush=flushes(target.triple))
    counts["llvm"] = _count(list(low.module.body.block.ops))
    return Draft(
        symbol=symbol,
        workspace=low.workspace,
        tir=tir_text,
        lines=line_table(tir_text, lines),
        places=own_lines(tir_text, lines),
        te=form.text,
        schedule=printed(sequence),
        decisions=dict(decisions or {}),
        llvm=emit_module(low.module, lines=low.lines, source=os.path.join(sources, source_name(symbol)), target=target),
        ops={level: count[0] for level, count in counts.items()},
        located={level: count[1] for level, count in counts.items()},
        work=form.work,
        growth=form.growth,
        typical=form.typical,
        sizes=form.sizes,
        sites=tuple(
            (site.buffer, tuple(int(slot[1:]) for slot in site.layers if slot.startswith("#")))
            for site in sites_of(tir_func)
        ),
        refusal=refusal,
    )
