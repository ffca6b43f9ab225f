"""The parts of an installed Whence that plain `xdsl-opt` uses: dialects, passes and targets, loaded on first use.

Other packages extend `whence-opt` by the same entry points, of the group `xdsl.universe`.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from whence.dialects.table import DIALECTS
from whence.passes.classes import pass_class
from whence.passes.registry import PASSES, Row
from whence.support.errors import PipelineError

CONVERSIONS: tuple[Row, ...] = (
    Row(
        "convert-relay-to-te",
        "lowering.relay_to_te.convert_relay_to_te:ConvertRelayToTePass",
        "primitive functions become te functions with their default schedules",
    ),
    Row(
        "relay-outline",
        "lowering.kernel.outline:OutlinePass",
        "primitive functions become kernels of tir that the program calls",
    ),
    Row(
        "schedule-apply",
        "lowering.te_to_tir.schedule_apply:ScheduleApplyPass",
        "the primitives of a schedule are carried out",
    ),
    Row(
        "convert-te-to-tir",
        "lowering.te_to_tir.convert_te_to_tir:ConvertTeToTirPass",
        "stages become loops",
    ),
    Row(
        "convert-tir-to-llvm",
        "lowering.tir_to_llvm.convert_tir_to_llvm:ConvertTirToLlvmPass",
        "kernels become LLVM functions",
    ),
)
"""The passes from one level to the next."""

ALL_PASSES = (*PASSES, *CONVERSIONS)

TARGETS = {
    "whence-llvm": "LLVMTarget",
    "whence-asm": "AssemblyTarget",
}


def _target(name: str) -> type[Target]:
    return cast(type[Target], getattr(import_module("whence.lowering.targets"), name))


UNIVERSE = Universe(
    all_dialects=DIALECTS,
    all_passes={row.name: partial(pass_class, row) for row in ALL_PASSES},
    all_targets={name: partial(_target, kind) for name, kind in TARGETS.items()},
)


def multiverse() -> Universe:
    """Return the dialects, passes and targets of xDSL, of Whence and of all installed packages that declare some.

    Raises PipelineError, which names the entry point, when one cannot be loaded or two declare the same name.
    """
    for point in entry_points(group="xdsl.universe"):
        package = f" (package {point.dist.name})" if point.dist is not None else ""
        where = f"entry point {point.name} = {point.value}{package} of group xdsl.universe"
        try:
            universe = point.load()
        except Exception as error:
            raise PipelineError(f"{where}: expected a universe, got {type(error).__name__}: {error}") from error
        if not isinstance(universe, Universe):
            raise PipelineError(f"{where}: expected a universe, got a {type(universe).__name__}")
    try:
        return Universe.get_multiverse()
    except ValueError as error:
        raise PipelineError(f"entry points of group xdsl.universe: {error}") from error


def passes_of_others() -> list[str]:
    """Return the names of the passes of other packages than Whence and xDSL."""
    return sorted(multiverse().all_passes.keys() - UNIVERSE.all_passes.keys() - XDSL_UNIVERSE.all_passes.keys())
