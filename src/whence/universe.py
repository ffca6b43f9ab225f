"""What plain `xdsl-opt` learns from an installed Whence: dialects, passes and targets, each loaded when first used."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.target import Target

from whence.passes.pipelines import available_passes


def _relay() -> Dialect:
    from whence.dialects.relay import Relay

    return Relay


def _te() -> Dialect:
    from whence.dialects.te import Te

    return Te


def _schedule() -> Dialect:
    from whence.dialects.schedule import Schedule

    return Schedule


def _tir() -> Dialect:
    from whence.dialects.tir import Tir

    return Tir


def _llvm_ext() -> Dialect:
    from whence.dialects.llvm_ext import LLVMExt

    return LLVMExt


def _convert_relay_to_te() -> type[ModulePass]:
    from whence.lowering.relay_to_te.convert_relay_to_te import ConvertRelayToTePass

    return ConvertRelayToTePass


def _convert_te_to_tir() -> type[ModulePass]:
    from whence.lowering.te_to_tir.convert_te_to_tir import ConvertTeToTirPass

    return ConvertTeToTirPass


def _schedule_apply() -> type[ModulePass]:
    from whence.lowering.te_to_tir.schedule_apply import ScheduleApplyPass

    return ScheduleApplyPass


def _convert_tir_to_llvm() -> type[ModulePass]:
    from whence.lowering.tir_to_llvm.convert_tir_to_llvm import ConvertTirToLlvmPass

    return ConvertTirToLlvmPass


def _llvm_target() -> type[Target]:
    from whence.lowering.targets import LLVMTarget

    return LLVMTarget


def _asm_target() -> type[Target]:
    from whence.lowering.targets import AssemblyTarget

    return AssemblyTarget


UNIVERSE = Universe(
    all_dialects={"relay": _relay, "te": _te, "schedule": _schedule, "tir": _tir, "llvm_ext": _llvm_ext},
    all_passes={
        **available_passes(),
        "convert-relay-to-te": _convert_relay_to_te,
        "convert-te-to-tir": _convert_te_to_tir,
        "schedule-apply": _schedule_apply,
        "convert-tir-to-llvm": _convert_tir_to_llvm,
    },
    all_targets={"whence-llvm": _llvm_target, "whence-asm": _asm_target},
)
