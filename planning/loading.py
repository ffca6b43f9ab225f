"""An artifact made runnable: its objects are linked into this process."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from ..lowering.external.kernel import ExternalKernel
from ..lowering.kernel.record import Kernel
from ..lowering.llvm_to_native.link import link
from ..lowering.llvm_to_native.symbols import EXPECTED, in_process
from ..lowering.llvm_to_native.target import check_runs_here
from ..lowering.llvm_to_native.thread_pool import pool_code
from ..provenance.diagnostics import message
from ..provenance.span import fuse
from ..runtime.program.bounds import CALLBACK, BoundErrors, checked_access
from ..runtime.program.executor import Runner
from ..runtime.program.external import ExternalFunctions
from ..runtime.program.library import GraphFunction, Library
from ..runtime.program.program import ENTRY, REFUSED, SIZES_ENTRY, Code, Program
from ..runtime.program.threads import ThreadPool
from ..support.dtypes import Array
from ..support.errors import PipelineError
from .artifact import Artifact
from .graph import GraphPlan
from .user_lines import kernel_object

_CALL = re.compile(r'tir\.call_extern "(?!llvm\.)([^"]+)"')


def load(artifact: Artifact) -> Runner:
    """Return a runner of an artifact.

    Linking takes about 0.2 ms per kernel; code and parameters live as long as the runner. Raises PipelineError when the
    code is for another machine, or calls a C function that this process does not have.
    """
    linked = _link(artifact)
    return Runner(artifact.program, artifact.params, linked.code, linked.bounds, linked.externals)


def load_objects(program: Program, params: Sequence[Array], objects: Iterable[bytes]) -> Runner:
    """Return a runner of the objects of a program that a process on this machine compiled.

    The program tests no accesses, and nobody else runs kernels of it. Raises RuntimeError when a symbol is missing.
    """
    pool = pool_code()
    code = link(objects, [*_entries(program), *(kernel.symbol for kernel in program.kernels)], pool.imports)
    code.addresses[REFUSED] = pool.refused
    return Runner(program, params, code)


def load_library(artifact: Artifact, plan: GraphPlan, pool: ThreadPool) -> Library:
    """The functions of an artifact by the names that its graph calls them; errors as `load`."""
    linked = _link(artifact)
    functions = {
        name: GraphFunction(linked.code[kernel.symbol], kernel.workspace, plan.sizes.get(name, ()))
        for name, kernel in ((name, artifact.kernels[number]) for name, number in plan.functions.items())
    }
    bounds, externals, program = linked.bounds, linked.externals, artifact.program

    def check(node: str) -> None:
        call = program.calls[plan.calls[node]]
        if bounds is not None:
            bounds.check(call.name, checked_access(call, program.kernels[call.kernel]))
        if externals is not None:
            externals.check()

    return Library(functions, pool, linked, check if bounds is not None or externals is not None else None)


class _Linked(NamedTuple):
    code: Code
    bounds: BoundErrors | None
    externals: ExternalFunctions | None


def _link(artifact: Artifact) -> _Linked:
    """The code of an artifact in this process."""
    check_runs_here(artifact.target)
    program = artifact.program
    bounds = BoundErrors() if program.checked else None
    pool = pool_code()
    imports = pool.imports
    if bounds is not None:
        imports[CALLBACK] = bounds.address
    _check_symbols(artifact, imports)
    functions = [kernel.external for kernel in artifact.kernels if isinstance(kernel, ExternalKernel)]
    externals = ExternalFunctions(functions) if functions else None
    elsewhere = externals.symbols if externals is not None else {}
    here = [number for number, kernel in enumerate(artifact.kernels) if kernel.symbol not in elsewhere]
    objects = [*(kernel_object(artifact, number) for number in here), artifact.main]
    symbols = [kernel.symbol for kernel in program.kernels if kernel.symbol not in elsewhere]
    code = link(objects, [*_entries(program), *symbols], imports | elsewhere)
    code.addresses.update(elsewhere)
    code.addresses[REFUSED] = pool.refused
    return _Linked(code, bounds, externals)


def _entries(program: Program) -> list[str]:
    return [ENTRY] if program.sizes is None else [ENTRY, SIZES_ENTRY]


def _check_symbols(artifact: Artifact, imports: Container[str]) -> None:
    """Fail for a call of what neither this process has nor `imports`, in the name of the layers behind it."""
    for index, kernel in enumerate(artifact.kernels):
        if not isinstance(kernel, Kernel) or "tir.call_extern" not in kernel.tir:
            continue
        for line, slots in zip(kernel.tir.splitlines(), kernel.lines, strict=False):
            for callee in _CALL.findall(line):
                if callee in imports or in_process(callee):
                    continue
                calls = [call for call in artifact.calls if call.kernel == index]
                behind = fuse([call.layers[slot] for call in calls for slot in slots])
                actual = f"'{callee}', which this process does not have"
                raise PipelineError(message(f"kernel '{kernel.symbol}'", EXPECTED, actual, behind))
