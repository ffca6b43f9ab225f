"""An artifact made runnable: its objects are linked into this process."""

from __future__ import annotations

from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.thread_pool import pool_code
from ..passes.tir.instrument_bound_checkers import CALLBACK
from ..runtime.bounds import BoundErrors
from ..runtime.executor import Runner
from ..runtime.program import ENTRY, PARALLEL_FOR
from .artifact import Artifact


def load(artifact: Artifact) -> Runner:
    """What runs an artifact.

    Linking takes about 0.2 ms per kernel; code and parameters live as long as the runner.
    """
    program = artifact.program
    bounds = BoundErrors() if program.checked else None
    imports = {PARALLEL_FOR: pool_code().parallel_for}
    if bounds is not None:
        imports[CALLBACK] = bounds.address
    objects = [*(kernel.object for kernel in artifact.kernels), artifact.main]
    code = link(objects, [ENTRY, *(kernel.symbol for kernel in program.kernels)], imports)
    return Runner(program, artifact.params, code, bounds)
