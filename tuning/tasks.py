"""The tasks of tuning a model: its distinct kernels that have a choice, and what they are called with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ..dialects.element_types import dtype_name
from ..dialects.relay.core import FuncOp
from ..dialects.relay.operator import element_of
from ..dialects.sizes.types import extents_of
from ..dialects.tir import PrimFuncOp
from ..explorer.roof import Traffic, roof
from ..lowering.kernel.draft import draft_kernel
from ..lowering.kernel.key import code_key
from ..lowering.kernel.printing import printed
from ..lowering.kernel.record import Draft, Kernel
from ..lowering.kernel.slots import anonymous
from ..lowering.kernel.space import kernel_space
from ..lowering.kernel.tuned import Applied, workload_key
from ..lowering.llvm_to_native.target import Target
from ..lowering.relay_to_te.cost import Rates
from ..lowering.relay_to_te.knobs import Decisions, Space
from ..planning.artifact import Artifact
from ..planning.kernels import primitive_functions
from ..provenance.span import layer_names
from ..runtime.program.executor import Read, Runner
from ..runtime.program.program import Call
from ..runtime.program.threads import ThreadPool
from ..runtime.values.tensors import Tensor, TensorSpec
from ..support.dtypes import Array, numpy_of, storage


@dataclass(frozen=True)
class Task:
    """A kernel that may be made otherwise."""

    number: int
    """Index into the artifact's kernels."""
    func: FuncOp | PrimFuncOp
    """The anonymous function, or the loops that somebody wrote."""
    kernel: Kernel
    """The one that it is made into by default."""
    target: Target
    space: Space
    inputs: tuple[Array, ...]
    weights: tuple[int, ...]
    """The inputs that are parameters of the model."""
    outputs: tuple[TensorSpec, ...]
    layers: tuple[tuple[str, ...], ...]
    """For each call of the model the names of its layers."""

    @property
    def calls(self) -> int:
        """The number of calls in a run of the model."""
        return len(self.layers)

    @property
    def name(self) -> str:
        """The name of its function, as TVM calls a task."""
        return self.func.sym_name.data

    @cached_property
    def workload(self) -> str:
        """The key under which records keep it."""
        return workload_key(printed(self.func))

    def draft(self, decisions: Decisions) -> Draft:
        """Return the kernel by some decisions. Raises ScheduleError or VerifyException where it does not lower."""
        assert isinstance(self.func, FuncOp)
        key = code_key(self.target, printed(self.func), Applied(decisions).text)
        return draft_kernel(self.func, self.target, key, "", decisions)

    @property
    def arguments(self) -> list[list[object]]:
        """The arguments as AutoTVM's logs spell them: `["TENSOR", [1, 64], "float32"]`."""
        return [["TENSOR", list(array.shape), str(array.dtype)] for array in self.inputs]

    @property
    def weight_bytes(self) -> int:
        """Bytes of the parameters that a call reads."""
        return sum(self.inputs[number].nbytes for number in self.weights)

    def bound(self, rates: Rates, model_bytes: int) -> float:
        """Return the seconds of a call that no schedule can do without on a machine: the roof over it.

        model_bytes: of all parameters of the model; weights come from the cache that holds them all.
        """
        operations, reads = map(sum, zip(*self.kernel.work, strict=True))
        # A call reads only some rows of a look-up table.
        weights = min(self.weight_bytes, reads)
        inputs = min(sum(array.nbytes for array in self.inputs), reads) - weights
        traffic = Traffic(weights, inputs, sum(spec.nbytes for spec in self.outputs))
        call = roof(self.kernel.tir, operations, traffic, model_bytes, self.target.hardware, rates)
        return call.seconds / rates.threads


def tasks_of(
    artifact: Artifact, runner: Runner | None, pool: ThreadPool | None, inputs: Mapping[str, Array], seed: int = 0
) -> list[Task]:
    """The kernels of a model that have a choice, in the order of their first calls.

    runner, pool: run the model once, with `inputs`, so that kernels are measured on what they are called with in it.
    Without them (for another machine) on random numbers, and zeros and ones for integers.
    """
    functions = {func.sym_name.data: func for func in primitive_functions(artifact.snapshots[-1].module)}
    first: dict[int, int] = {}
    for number, call in enumerate(artifact.calls):
        if call.name in functions:
            first.setdefault(call.kernel, number)
    tasks: list[Task] = []
    for kernel, call in first.items():
        record, func = artifact.kernels[kernel], anonymous(functions[artifact.calls[call].name])
        if not isinstance(record, Kernel) or record.sizes:
            continue
        space = kernel_space(func, artifact.target.hardware)
        if space.size < 2:
            continue
        run = artifact.program.calls[call]
        weights = tuple(i for i, slot in enumerate(run.inputs) if slot.kind == "param")
        layers = tuple(
            tuple(dict.fromkeys(name for location in other.layers for name in layer_names(location)))
            for other in artifact.calls
            if other.kernel == kernel
        )
        tasks.append(
            Task(
                number=kernel,
                func=func,
                kernel=record,
                target=artifact.target,
                space=space,
                inputs=(),
                weights=weights,
                outputs=run.results,
                layers=layers,
            )
        )
    numbers = {first[task.number]: position for position, task in enumerate(tasks)}
    called = _called(artifact, runner, pool, inputs, numbers, tasks) if runner is not None and pool is not None else {}
    rng = np.random.default_rng(seed)
    return [
        replace(task, inputs=called.get(position) or _made_up(artifact, task, first[task.number], rng))
        for position, task in enumerate(tasks)
    ]


def specs_of(values: Iterable[SSAValue]) -> list[tuple[tuple[int, ...], np.dtype[np.generic]]]:
    """Shape and dtype of each value of known sizes, as kernels have them in memory."""
    specs: list[tuple[tuple[int, ...], np.dtype[np.generic]]] = []
    for argument in values:
        shape = extents_of(cast("TensorType[Attribute]", argument.type))
        specs.append((cast("tuple[int, ...]", shape), numpy_of(storage(dtype_name(element_of(argument))))))
    return specs


def _called(
    artifact: Artifact,
    runner: Runner,
    pool: ThreadPool,
    inputs: Mapping[str, Array],
    numbers: Mapping[int, int],
    tasks: Sequence[Task],
) -> dict[int, tuple[Array, ...]]:
    """The arguments with which tasks, by position, are first called in a run."""
    arguments: dict[int, tuple[Array, ...]] = {}
    count = 0

    def enter(call: Call, read: Read) -> None:
        nonlocal count
        position = numbers.get(count)
        count += 1
        if position is None:
            return
        arrays: list[Array] = []
        for slot, (shape, dtype) in zip(call.inputs, specs_of(tasks[position].func.block.args), strict=True):
            size = prod(shape) * dtype.itemsize
            arrays.append(read(slot, size).copy().view(dtype).reshape(shape))
        arguments[position] = tuple(arrays)

    def visit(call: Call, seconds: float, outputs: list[Tensor]) -> None:
        """Visit a call without a use of its outputs."""

    runner.walk(inputs, pool, visit, enter)
    return arguments


def _made_up(artifact: Artifact, task: Task, call: int, rng: np.random.Generator) -> tuple[Array, ...]:
    """Arguments of a call: the model's parameters, and random numbers for all else."""
    arrays: list[Array] = []
    for slot, (shape, dtype) in zip(artifact.program.calls[call].inputs, specs_of(task.func.block.args), strict=True):
        if slot.kind == "param":
            arrays.append(artifact.params[slot.place].reshape(-1).view(np.uint8)[: prod(shape) * dtype.itemsize])
            arrays[-1] = arrays[-1].view(dtype).reshape(shape)
        else:
            arrays.append(made_up(shape, dtype, rng))
    return tuple(arrays)


def made_up(shape: Sequence[int], dtype: np.dtype[np.generic], rng: np.random.Generator) -> Array:
    """Random numbers for an input that nothing is known of; integers among them are 0 or 1, as they may be indices."""
    made = rng.standard_normal(shape) if dtype.kind in "fV" else rng.integers(0, 2, shape)
    return made.astype(dtype)
