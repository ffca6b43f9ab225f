"""A compiled model: run it, and ask it where everything came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.executables.choice import KNOWN, Choice
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.planning.artifact import Artifact, Snapshot
from whence.planning.loading import load as load_artifact
from whence.planning.memory import MemoryInfo
from whence.runtime.program.calls import Calls
from whence.runtime.program.executor import Runner
from whence.runtime.program.random_state import RandomState
from whence.runtime.program.threads import ThreadPool
from whence.runtime.values.tensors import TensorSpec
from whence.support.doors import doors
from whence.support.dtypes import Array
from whence.support.markup import folded, html_table, preformatted

if TYPE_CHECKING:
    from whence.explorer.compare import Comparison
    from whence.explorer.index import Index
    from whence.explorer.samples import Samples
    from whence.explorer.times import Times
    from whence.explorer.where import Where
    from whence.explorer.why import Why
    from whence.lowering.kernel.tuned import Applied


_SHOWN_LAYERS = 1000
"""Layers that a notebook lists by name."""


@doors()
class Executable(Calls):
    """A compiled model."""

    choice: Choice
    """The kind of program that the model became, and the reason."""

    def __init__(self, artifact: Artifact | None, threads: int | None = None, choice: Choice = KNOWN):
        self._artifact = artifact
        self.choice = choice
        self.threads = threads
        self._pool = thread_pool(threads)
        self._random: RandomState | None = None

    @property
    def artifact(self) -> Artifact:
        """The result of the compiler."""
        assert self._artifact is not None
        return self._artifact

    @cached_property
    def runner(self) -> Runner:
        """The runner of the program, linked into this process."""
        runner = load_artifact(self.artifact)
        runner.share(self._random)
        return runner

    @property
    def random(self) -> RandomState | None:
        """The state of the model's random numbers, if it draws any."""
        return None if self.artifact.program.random is None else self.runner.random

    def draw_from(self, state: RandomState | None) -> None:
        """Share the state of another program's random numbers, before the first run."""
        self._random = state
        if "runner" in vars(self):
            self.runner.share(state)

    def reset(self) -> None:
        """Restore the first random numbers of the model, and the first states that it keeps from call to call."""
        if self.random is not None:
            self.random.reset()

    @classmethod
    def of_artifact(cls, artifact: Artifact, threads: int | None) -> Executable:
        """Return the executable of an artifact that was read from a file."""
        return cls(artifact, threads)

    def __reduce__(self) -> Any:
        """Have an executable pickled and copied as the file that `export_library` writes; raises its errors."""
        from whence.executables.copying import exported_bytes, revived

        facts = {"choice": self.choice, "aliases": dict(self.aliases), "metadata": self.metadata}
        return revived, (type(self), exported_bytes(self.export_library), self.threads, facts, self.kept())

    def kept(self) -> Any:
        """Return the states that it keeps from call to call, for `go_on` of a copy."""
        return None

    def go_on(self, kept: Any) -> None:
        """Continue from the states of another executable of the model."""

    @property
    def pool(self) -> ThreadPool:
        """The threads that it runs on."""
        return self._pool

    @cached_property
    def _index(self) -> Index:
        """The tables that answer questions, built by the first one, so that later questions are fast."""
        from whence.explorer.index import Index

        return Index(self.artifact)

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each input."""
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, shape and dtype of each output."""
        return self.artifact.outputs

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers of the imported model, in order."""
        from whence.explorer.layers import layers_of

        return tuple(layer.name for layer in layers_of(self.artifact))

    @property
    def parts(self) -> tuple[Executable, ...]:
        """Return the native programs that questions are about, in order: itself, or the programs of the last call."""
        return (self,)

    def part(self, name: str | int | None = None) -> Executable:
        """Return the native program that has a kernel or a layer of a name; without a name, the one to look into."""
        return self

    def _fed(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return all inputs of the program: the arguments of a call, and the state between calls."""
        return inputs

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernel calls, in order; where values decide, of the last call."""
        return tuple(call.name for part in self.parts for call in part.artifact.calls)

    @property
    def tuned(self) -> Mapping[str, Applied]:
        """Symbol of a kernel -> the decisions of tuning by which it was made; other kernels are made by rule."""
        return self.artifact.tuned

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The module, and each kernel, before the first pass and after every one; none unless compiled to keep them.

        `text` of a snapshot is the module with locations; ops of the same number (`number_of`) are the same op.
        """
        return self.artifact.passes

    @property
    def memory(self) -> Any:
        """Return the bytes that the model needs, and their plan: a `MemoryInfo`.

        A program for all sizes has an `OpenMemoryReport`: formulas of the sizes.
        """
        if self.artifact.program.sizes is not None:
            from whence.explorer.open_memory import open_memory_report

            return open_memory_report(self.artifact)
        return MemoryInfo.of(self.artifact)

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        return self.runner.run(inputs, self._pool)

    def profile(self, inputs: Mapping[str, Array], repeat: int = 10) -> Any:
        """Return CPU seconds of all threads per run and kernel call, shape (repeat, calls).

        Calls are `artifact.calls`. See `Runner.profile`.
        """
        return self.runner.profile(self._fed(inputs), self._pool, repeat)

    def times(self, inputs: Mapping[str, Array], repeat: int = 10, samples: Samples | None = None) -> Times:
        """Return the median CPU seconds, of all threads together, of each kernel call, and of the layers in it.

        A call's time is shared out by samples, where there are enough of it, else in proportion to estimated work.
        """
        from statistics import median

        from whence.explorer.times import Times

        columns: list[list[float]] = self.profile(inputs, repeat).T.tolist()
        return Times.of(self.artifact, [median(column) for column in columns], samples)

    def sample(
        self, inputs: Mapping[str, Array], seconds: float = 1.0, period: float = 2.5e-4, runs: int = 1
    ) -> Samples:
        """Run the model for at least so many seconds and runs, and return samples of the program counter.

        Raises PipelineError if the system has no sampler (see `lowering/llvm_to_native/sampler.py`).
        """
        from whence.explorer.samples import sample

        return sample(
            self.artifact, self.runner, self._pool, self._fed(inputs), seconds=seconds, period=period, runs=runs
        )

    def timeline(self, inputs: Mapping[str, Array]) -> list[tuple[float, float]]:
        """Begin and end of each kernel call of one run, in seconds from its beginning on the wall's clock."""
        return self.runner.timeline(self._fed(inputs), self._pool)

    def sizes_of(self, inputs: Mapping[str, Array]) -> dict[str, int]:
        """Return the sizes that a program for all sizes reads from its inputs; {} for a program of fixed shapes.

        Raises FrontendError if the inputs do not fit the model.
        """
        sizes = self.artifact.program.sizes
        symbols = self.runner.met(self._fed(inputs))[1].symbols
        return dict(zip(sizes.symbols, symbols, strict=True)) if sizes is not None else {}

    def at(self, sizes: Mapping[str, int]) -> Executable:
        """Return the program for all sizes at these sizes, for inspection: the same code, with numbers for sizes.

        Raises PipelineError unless each symbol has a number within its bounds, and for a program of fixed shapes.
        """
        from whence.explorer.open_memory import at_sizes

        executable = Executable(at_sizes(self.artifact, sizes), self.threads, self.choice)
        executable.runner = self.runner
        return executable

    def report(self) -> str:
        """Return a line for each program."""
        tuned = f", {len(self.tuned)} of them tuned" if self.tuned else ""
        plain = [kernel.symbol for kernel in self.artifact.kernels if getattr(kernel, "refusal", "")]
        slow = f", of which {', '.join(plain)} with the plain schedule" if plain else ""
        return f"one program of {len(self.kernels)} kernels{tuned}{slow}; {self.choice}"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the program, its inputs and outputs, and its layers."""
        kinds = [("input", spec) for spec in self.inputs] + [("output", spec) for spec in self.outputs]
        rows = [(kind, spec.name, spec.dtype.name, list(spec.shape)) for kind, spec in kinds]
        names, more = self.layers[:_SHOWN_LAYERS], len(self.layers) - _SHOWN_LAYERS
        listing = "\n".join([*names, *([f"and {more} more"] if more > 0 else [])])
        layers = folded(f"{len(self.layers)} layers", preformatted(listing))
        return preformatted(self.report()) + html_table(rows, ("", "name", "type", "shape")) + layers

    def export_library(self, path: str | PathLike[str]) -> None:
        """Write the model, with all that it needs, to a .tar, .so or .o file, or as C. A failed export leaves no file.

        A .tar holds objects and needs no linker; the others are linked by the system's compiler (CC).
        `whence.runtime.load_module` loads each of them, without the compiler. A .c file has whence.h and the parameters
        beside it, a .zip file a Makefile, too. Raises PipelineError if it cannot be written.
        """
        from whence.executables.exporting import export_artifact

        export_artifact(self.artifact, None, None, Path(path))

    def compare(
        self,
        inputs: Mapping[str, Array],
        reference: Mapping[str, Array],
        tensors: Mapping[str, Sequence[str]] | None = None,
        *,
        rtol: float = 1e-3,
        atol: float = 1e-6,
    ) -> Comparison:
        """Compare the values of layers with a reference, tensor by tensor; see `explorer/compare.py`."""
        from whence.explorer.compare import compare

        return compare(
            self.artifact, self.runner, self._pool, self._fed(inputs), reference, tensors, rtol=rtol, atol=atol
        )

    def why(self, kernel: str | int, line: int | None = None) -> Why:
        """Return the layers, passes and stages behind a kernel (a name in `kernels`, symbol, index) or a TIR line.

        Raises FrontendError when there is no such kernel or line.
        """
        from whence.explorer.why import why

        part = self.part(kernel)
        return why(part._index, kernel, line) if part is self else part.why(kernel, line)

    def whys(self) -> tuple[Why, ...]:
        """Return `why` of every kernel with all its calls, in one walk."""
        from whence.explorer.why import why_all

        return tuple(answer for part in self.parts for answer in why_all(part._index))

    def get_source(self, kernel: str | int, fmt: str = "ll") -> str:
        """Return the code of a kernel (named as for `why`) as text, of a level between tensor expressions and assembly.

        fmt: "te", "schedule", "tir", "ll" (LLVM IR), "opt.ll" (the same after LLVM's passes), "s" or "c". Raises
        FrontendError for an unknown kernel, PipelineError for an unknown format.
        """
        from whence.explorer.calls import find_calls
        from whence.explorer.code import source

        return source(self.artifact, find_calls(self.artifact, kernel).kernel, fmt)

    def where(self, layer: str) -> Where:
        """Return the fate of a layer at every level; raises FrontendError for an unknown layer."""
        from whence.explorer.where import where

        return where(self.part(layer)._index, layer)

    def wheres(self) -> tuple[Where, ...]:
        """Return `where` of every layer in the order of the source, in one walk."""
        from whence.explorer.where import where_all

        return tuple(answer for part in self.parts for answer in where_all(part._index))

    def coverage(self) -> dict[str, float]:
        """Return level -> the fraction of its ops, or machine instructions, that name the layers they serve.

        A level without ops is missing, for example if external compilers run the whole model.
        """
        from whence.explorer.coverage import coverage

        return coverage(*(part.artifact for part in self.parts))
