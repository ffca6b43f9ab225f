"""The order of the tir passes on the way to machine code: of models and of schedules written by hand alike.

The order is that of TVM's `lower`, but

- buffers keep their shapes, so that the text of a kernel reads as it was written: conversion to LLVM makes one index of
  them (`tir-flatten-buffer` is there for other uses), and storage that buffers of different shapes share is flat;
- prefetches are put in after vectors: one per vector, not one per lane;
- bound checks are put in, and bounds are verified, first, while indices are those of the source;
- loops that are to be unrolled stay rolled (`tir.UnrollLoop.explicit_unroll` is off): LLVM unrolls them, and a kernel
  takes a few dozen ops here, not thousands;
- uneven splits are taken apart before the one simplification that clears up after that as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...dialects.tir import PrimFuncOp, prim_funcs
from ...support.context import PassContext
from ...support.errors import PipelineError, expectation
from ...support.machine import WIDEST, Machine
from ..registry import own_names, row_of
from ..runner import run_passes, run_under_instruments
from . import (
    common_subexpr_elimination,
    compact_buffers,
    hoist_if_then_else,
    inject_double_buffer,
    inject_prefetch,
    instrument_bound_checkers,
    interleave_stores,
    loop_partition,
    lower_block,
    lower_intrin,
    lower_match_buffer,
    lower_tiles,
    narrow_datatype,
    remove_no_op,
    rewrite_unsafe_select,
    simplify,
    storage_rewrite,
    tile_products,
    transpose_loads,
    unroll,
    vectorize,
    verify_memory,
)

Run: TypeAlias = Callable[[PrimFuncOp], object]


@dataclass(frozen=True)
class Step:
    """A pass and what it runs on a kernel, under the options of the current PassContext."""

    name: str
    run: Run
    """Gives True where it left code, or may have, that a simplification makes less."""
    tidies: bool = False
    """True when it only does something after such steps, or after passes from outside."""


def _option(name: str) -> bool:
    return PassContext.current().option(f"tir.{name}") is True


def _number(name: str) -> int:
    value = PassContext.current().option(f"tir.{name}")
    assert isinstance(value, int)
    return value


def _unless(option: str, run: Run) -> Run:
    def chosen(func: PrimFuncOp) -> None:
        if not _option(option):
            run(func)

    return chosen


def _simplify(func: PrimFuncOp) -> None:
    simplify.run(func, keep_trivial_loops=_option("debug_keep_trivial_loop"))


def _partition(func: PrimFuncOp) -> None:
    loop_partition.run(func, _option("LoopPartition.partition_const_loop"))


def _vectorize(machine: Machine, func: PrimFuncOp) -> bool:
    if not _option("disable_vectorize"):
        return vectorize.run(func, machine)
    vectorize.serialize(func)
    return False


def _transpose_loads(machine: Machine, func: PrimFuncOp) -> bool:
    return transpose_loads.run(func, machine)


def _double_buffer(func: PrimFuncOp) -> bool:
    return inject_double_buffer.run(func, _number("InjectDoubleBuffer.split_loop"))


def _unroll(func: PrimFuncOp) -> bool:
    limits = unroll.Limits(
        _number("UnrollLoop.auto_max_step"),
        _number("UnrollLoop.auto_max_depth"),
        _number("UnrollLoop.auto_max_extent"),
        _option("UnrollLoop.explicit_unroll"),
    )
    return unroll.run(func, limits)


def _check_bounds(func: PrimFuncOp) -> None:
    if _option("instrument_bound_checkers"):
        instrument_bound_checkers.run(func)


def _instructions(machine: Machine) -> dict[str, Any]:
    """The sums of products that a machine has instructions for."""
    return {
        "vnni": machine.vnni,
        "sdot": machine.sdot,
        "pmaddwd": machine.pmaddwd,
        "dot_bf16": machine.dot_bf16,
    }


def _tile(machine: Machine, func: PrimFuncOp) -> None:
    """Tile what the machine has registers for."""
    has = {"bf16": machine.amx_bf16, "u8s8": machine.amx_int8}
    tile_products.run(func, frozenset(kind for kind, there in has.items() if there))


def _lower_tiles(machine: Machine, func: PrimFuncOp) -> None:
    wanted = PassContext.current().option("tir.lower_tiles")
    if wanted not in ("", "always", "if-refused"):
        raise PipelineError(expectation("tir.lower_tiles", "always, if-refused or nothing", repr(wanted)))
    if not machine.tiles or wanted:
        lower_tiles.run(func, if_refused=machine.tiles and wanted == "if-refused")


def phases(machine: Machine, flush: bool = False) -> tuple[tuple[Step, ...], ...]:
    """The steps for a machine in order, by TVM's phases: passes of `tir.add_lower_pass` run before those of theirs."""
    return (
        (
            Step("tir-compact-buffers", compact_buffers.run),
            Step("tir-lower-block", lower_block.run),
            Step("tir-lower-match-buffer", lower_match_buffer.run),
            Step("tir-instrument-bound-checkers", _check_bounds),
            # An access that the checkers guard cannot leave its buffer.
            Step("tir-verify-memory", verify_memory.check_bounds),
            Step("tir-narrow-datatype", narrow_datatype.run),
        ),
        (
            Step("tir-loop-partition", _partition),
            # Trivial loops and guards would stand in the way of vectors.
            Step("tir-simplify", _simplify),
            Step("tir-vectorize", partial(_vectorize, machine)),
            Step("tir-inject-double-buffer", _double_buffer),
            Step("tir-inject-prefetch", inject_prefetch.run),
            Step("tir-interleave-stores", interleave_stores.run),
            Step("tir-transpose-loads", partial(_transpose_loads, machine)),
            Step("tir-storage-rewrite", _unless("disable_storage_rewrite", storage_rewrite.run)),
            Step("tir-unroll", _unroll),
        ),
        (
            Step("tir-simplify", _simplify, tidies=True),
            # For the scalars whose vectors took over.
            Step("tir-remove-no-op", remove_no_op.run),
            Step("tir-rewrite-unsafe-select", rewrite_unsafe_select.run),
            Step("tir-hoist-if-then-else", hoist_if_then_else.run),
        ),
        (
            Step("tir-tile-products", partial(_tile, machine)),
            Step("tir-lower-tiles", partial(_lower_tiles, machine)),
            Step("tir-common-subexpr-elimination", _unless("disable_cse_tir", common_subexpr_elimination.run)),
            # Last, so that no other pass walks over what it writes.
            Step("tir-lower-intrin", partial(lower_intrin.run, **_instructions(machine), flush=flush)),
        ),
    )


ON_REQUEST = frozenset({"tir-instrument-bound-checkers"})
"""Steps that do nothing unless an option asks for them."""

TIR_PIPELINE: tuple[tuple[str, Run], ...] = tuple(
    (step.name, step.run) for phase in phases(WIDEST) for step in phase if step.name not in ON_REQUEST
)
"""The steps that run by default: as passes, with default options, they do to a kernel what `run_tir_passes` does."""


def run_tir_passes(func: PrimFuncOp, machine: Machine = WIDEST, *, flush: bool = False) -> None:
    """Bring one kernel, as te_to_tir makes it, into the form that tir_to_llvm reads; in place, without verifying.

    machine: decides how wide vectors are where the schedule does not say it. flush: results smaller than the smallest
    normal number may be 0.

    Raises ScheduleError about an access that is sure to leave its buffer, PipelineError where a pass of
    `tir.add_lower_pass` leaves no valid kernel of that name.
    """
    context = PassContext.current()
    disabled = set(own_names(context.disabled_pass))
    untidy = False
    for phase, steps in enumerate(phases(machine, flush)):
        for own in _own_passes(context, phase):
            _run_own(own, phase, func)
            untidy = True
        for step in steps:
            if step.name in disabled or (step.tidies and not untidy):
                continue
            untidy |= run_under_instruments(row_of(step.name).info, func, partial(step.run, func)) is True


def _own_passes(context: PassContext, phase: int) -> Iterator[ModulePass]:
    passes = context.option("tir.add_lower_pass")
    assert isinstance(passes, list)
    return (own for at, own in passes if at == phase)


def _run_own(own: ModulePass, phase: int, func: PrimFuncOp) -> None:
    """Run a pass on a module of one kernel."""
    block, following = func.parent, func.next_op
    if block is not None:
        func.detach()
    before = func.clone()
    module = ModuleOp([func])
    module.location = func.location
    run_passes(module, [own])
    what = f"tir.add_lower_pass: pass '{own.name}' of phase {phase}"
    if func.parent is not module.body.block:
        raise PipelineError(f"{what}: expected to find the kernel @{func.sym_name.data} in its module, got none")
    func.detach()
    if errors := verify_memory.broken(before, func):
        raise PipelineError(f"{what}: {'; '.join(errors)}")
    if block is not None and following is not None:
        block.insert_op_before(func, following)
    elif block is not None:
        block.add_op(func)
    try:
        func.verify()
    except VerifyException as error:
        raise PipelineError(f"{what}: expected a valid kernel, got one that breaks a rule: {error}") from error


@dataclass(frozen=True)
class TirPipelinePass(ModulePass):
    """All passes that a kernel meets on the way to machine code, in order, under the options of the PassContext.

    vector_bits: of the machine's vectors.

    Before: any kernels. After: kernels in the form that `convert-tir-to-llvm` reads.
    Locations: as the passes say; the ledger has each under its own name.
    """

    name = "tir-pipeline"
    vector_bits: int = WIDEST.vector_bits

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in list(prim_funcs(op)):
            run_tir_passes(func, Machine.x86(self.vector_bits))
