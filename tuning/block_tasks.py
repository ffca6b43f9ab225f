"""Kernels of blocks that somebody wrote, as tasks: the default is what is written, candidates follow from rules."""

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
from .tasks import Task

_INTEGERS = 2
"""Made up integers are below this, as they may be indices."""


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


def block_task(func: PrimFuncOp, target: Target, inputs: Sequence[Array] | None = None, seed: int = 0) -> BlockTask:
    """The task of a kernel. inputs: what it is measured on; random without them.

    Raises PipelineError for open sizes, for other inputs, and for a kernel that rules do nothing for.
    """
    shapes = [buffer_of(argument).get_shape() for argument in func.block.args]
    dtypes = [numpy_dtype(buffer_of(argument).element_type) for argument in func.block.args]
    if func.size_names:
        raise PipelineError(expectation("tune", "a kernel of known sizes", ", ".join(func.size_names)))
    specs = [TensorSpec("", tuple(map(int, shape)), dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    count = len(specs) - func.outputs.value.data
    arrays = [np.ascontiguousarray(array) for array in inputs] if inputs is not None else _random(specs[:count], seed)
    if [(array.shape, array.dtype) for array in arrays] != [(spec.shape, spec.dtype) for spec in specs[:count]]:
        got = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
        raise PipelineError(expectation("tune", f"inputs {', '.join(map(str, specs[:count]))}", got))
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
        outputs=tuple(specs[count:]),
        layers=(tuple(layer_names(func.location)),),
        blocks=blocks,
    )


def _random(specs: Sequence[TensorSpec], seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    return [
        (rng.standard_normal(spec.shape) if spec.dtype.kind in "fV" else rng.integers(0, _INTEGERS, spec.shape)).astype(
            spec.dtype
        )
        for spec in specs
    ]
