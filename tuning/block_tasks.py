"""Kernels of blocks that somebody wrote, as tasks: candidates by rules beside what a build makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..dialects.element_types import numpy_dtype
from ..dialects.tir import PrimFuncOp, buffer_of
from ..lowering.kernel.block_space import BlockSpace, block_space
from ..lowering.kernel.draft import draft_blocks
from ..lowering.kernel.record import Draft
from ..lowering.kernel.tuned import Applied
from ..lowering.llvm_to_native.compile import compile_text
from ..lowering.llvm_to_native.target import Target
from ..lowering.relay_to_te.cost import Rates
from ..provenance.span import layer_names
from ..runtime.values.tensors import TensorSpec
from ..support.dtypes import Array
from ..support.errors import PipelineError, expectation
from .tasks import Task, made_up


@dataclass(frozen=True)
class BlockTask(Task):
    """A kernel of blocks that may be scheduled."""

    blocks: BlockSpace

    def draft(self, decisions: Mapping[str, int]) -> Draft:
        """Return the kernel by some decisions of its space. Raises ScheduleError where they do not fit."""
        return draft_blocks(self.blocks, self.target, _symbol(self.blocks, decisions), decisions)

    def bound(self, rates: Rates, model_bytes: int) -> float:
        """Return 0, as no bound is known."""
        del rates, model_bytes
        return 0.0


def _symbol(blocks: BlockSpace, decisions: Mapping[str, int]) -> str:
    digest = hashlib.sha256(Applied(decisions).text.encode()).hexdigest()
    return f"{blocks.func.sym_name.data}_{digest[:8]}"


def arguments_of(func: PrimFuncOp) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """The inputs of a kernel, and its outputs, by name. Raises PipelineError for open sizes."""
    if func.size_names:
        raise PipelineError(expectation("tune", "a kernel of known sizes", ", ".join(func.size_names)))
    specs: list[TensorSpec] = []
    for number, argument in enumerate(func.block.args):
        buffer = buffer_of(argument)
        shape = tuple(map(int, buffer.get_shape()))
        specs.append(TensorSpec(argument.name_hint or f"p{number}", shape, numpy_dtype(buffer.element_type)))
    count = len(specs) - func.outputs.value.data
    return specs[:count], specs[count:]


def block_task(func: PrimFuncOp, target: Target, inputs: Sequence[Array] | None = None, seed: int = 0) -> BlockTask:
    """The task of a kernel. inputs: what it is measured on; random without them.

    Raises PipelineError for open sizes, for other inputs, and for a kernel that rules do nothing for.
    """
    ours, results = arguments_of(func)
    rng = np.random.default_rng(seed)
    given = inputs if inputs is not None else [made_up(spec.shape, spec.dtype, rng) for spec in ours]
    arrays = [np.ascontiguousarray(array) for array in given]
    if [(array.shape, array.dtype) for array in arrays] != [(spec.shape, spec.dtype) for spec in ours]:
        got = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
        raise PipelineError(expectation("tune", f"inputs {', '.join(map(str, ours))}", got))
    blocks = block_space(func, target.hardware)
    if blocks.space.size < 2:
        raise PipelineError(expectation("tune", "a kernel of blocks that rules can schedule", f"@{func.sym_name.data}"))
    draft = draft_blocks(blocks, target, _symbol(blocks, {}), {})
    return BlockTask(
        number=0,
        func=func,
        kernel=draft.finish(compile_text(draft.llvm, target)),
        target=target,
        space=blocks.space,
        inputs=tuple(arrays),
        weights=(),
        outputs=tuple(results),
        layers=(tuple(layer_names(func.location)),),
        blocks=blocks,
    )
