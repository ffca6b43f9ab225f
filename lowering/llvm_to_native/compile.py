"""LLVM IR text to machine code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...support.errors import PipelineError
from .assembly import compact
from .target import Target, binding


@dataclass(frozen=True)
class Native:
    """Machine code: an object file, and the same as assembly (labels, `.loc` and instructions; "" if not asked for)."""

    object: bytes
    assembly: str


def compile_text(text: str, target: Target, *, level: int = 1, assembly: bool = True) -> Native:
    """Optimise and compile a module with the pipeline of `level` (0 to 3).

    Kernels are vectorised before they come here, so LLVM's vectorisers are off. Raises PipelineError when LLVM rejects
    the text.
    """
    llvm, machine = binding(), target.machine()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise PipelineError(f"llvm: expected a valid module, got {str(error).strip()}") from error
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    _optimize(llvm, module, machine, level)
    # Code generation changes the module, so the assembly comes from a copy.
    copy = module.clone() if assembly else None
    data = bytes(machine.emit_object(module))
    return Native(data, compact(str(machine.emit_assembly(copy))) if copy is not None else "")


def _optimize(llvm: Any, module: Any, machine: Any, level: int) -> None:
    if not level:
        return
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling = True
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
