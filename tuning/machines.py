"""The machines that kernels are measured on, and the targets that LLVM makes code for them with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..lowering.llvm_to_native.target import Target
from ..runtime.loading.machine_facts import kind_of, machine_facts, spelled
from ..support.errors import PipelineError, expectation
from ..support.machine import Machine

Facts = Mapping[str, Any]
"""A machine as JSON has it: what `runtime.machine_facts` says, and where the compiler is, LLVM's names of it."""


def machine_here() -> Facts:
    """Return the facts of this machine: `target`, LLVM's triple, CPU and features, and the `hardware` among them."""
    target = Target.native()
    names = [target.triple, target.cpu, target.features]
    return {**machine_facts(), "target": names, "hardware": target.hardware.facts}


def target_of(facts: Facts) -> Target:
    """Return the target with which code is made for a machine; of this machine, the native one.

    Raises PipelineError where nobody knows LLVM's names of it.
    """
    if kind_of(facts) == kind_of(machine_facts()):
        return Target.native()
    if "target" not in facts:
        raise PipelineError(expectation("tuning", "a machine where the compiler is installed", spelled(facts)))
    return Target(*facts["target"], record=Machine.of_facts(facts["hardware"]))
