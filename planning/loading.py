"""An artifact made runnable: its objects are linked into this process."""

from __future__ import annotations

from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.target import Target
from ..lowering.llvm_to_native.thread_pool import pool_code
from ..passes.tir.instrument_bound_checkers import CALLBACK
from ..runtime.bounds import BoundErrors
from ..runtime.executor import Runner
from ..runtime.program import ENTRY, PARALLEL_FOR
from ..support.errors import PipelineError, expectation
from .artifact import Artifact


def load(artifact: Artifact) -> Runner:
    """What runs an artifact.

    Linking takes about 0.2 ms per kernel; code and parameters live as long as the runner. Raises PipelineError when the
    code is for another machine.
    """
    check_runs_here(artifact.target)
    program = artifact.program
    bounds = BoundErrors() if program.checked else None
    imports = {PARALLEL_FOR: pool_code().parallel_for}
    if bounds is not None:
        imports[CALLBACK] = bounds.address
    objects = [*(kernel.object for kernel in artifact.kernels), artifact.main]
    code = link(objects, [ENTRY, *(kernel.symbol for kernel in program.kernels)], imports)
    return Runner(program, artifact.params, code, bounds)


def check_runs_here(target: Target) -> None:
    """Raises PipelineError for a target whose code this machine cannot run, as far as its name and features tell."""
    host = Target.native()
    has = set(host.features.split(","))
    lacking = [word for word in target.features.split(",") if word.startswith("+") and has.isdisjoint((word, ""))]
    if target.triple.partition("-")[0] != host.triple.partition("-")[0]:
        found = f"code for {target.triple}"
    elif lacking:
        found = f"code that needs {', '.join(lacking)}"
    elif target.vector_bits > host.vector_bits:
        found = f"code for {target.cpu} with vectors of {target.vector_bits} bits"
    else:
        return
    machine = f"code that runs on this machine ({host.triple}, {host.cpu})"
    raise PipelineError(expectation("target", machine, f"{found}; it can be looked at, not run"))
