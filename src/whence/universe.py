"""What plain `xdsl-opt` learns from an installed Whence: dialects, passes and targets, each loaded when first used."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import cast

from xdsl.universe import Universe
from xdsl.utils.target import Target

from whence.dialects.table import DIALECTS
from whence.passes.classes import pass_class
from whence.passes.registry import PASSES, Row

CONVERSIONS: tuple[Row, ...] = (
    Row(
        "convert-relay-to-te",
        "lowering.relay_to_te.convert_relay_to_te:ConvertRelayToTePass",
        "primitive functions become te functions with their default schedules",
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
