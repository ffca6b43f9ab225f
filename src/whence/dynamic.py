"""Models whose sizes, or whose steps, only values decide: specialised when they meet them, run by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from whence.executable import Executable
from whence.frontends.onnx.graph import import_stretch
from whence.frontends.onnx.inputs import OpenSpec, open_inputs, open_outputs
from whence.frontends.onnx.load import Source
from whence.frontends.onnx.program import node_of
from whence.planning.artifact import Artifact
from whence.provenance.ledger import Ledger, recording
from whence.runtime.flow import Region, Step, Stretch, Value, plain
from whence.runtime.frames import Run
from whence.runtime.interpreter import Interpreter
from whence.support.errors import FrontendError, PipelineError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from whence.explorer.where import Where
    from whence.explorer.why import Why

Build = Callable[["ModuleOp", Ledger], Artifact]
"""Compiles a module."""

LIMIT = 64
"""How many specialisations a model keeps."""


class DynamicExecutable(Executable):
    """A compiled model of which some things are decided only when it is called.

    It is made of *stretches*, native programs for the shapes met so far. A call with new shapes compiles what it needs;
    of the stretches the least recently used go when there are more than `limit`.
    """

    def __init__(
        self,
        source: Source,
        shapes: Mapping[str, Sequence[int]],
        build: Build,
        threads: int | None = None,
        limit: int = LIMIT,
    ):
        super().__init__(None, threads)
        self._source = source
        self._threads = threads
        self._build = build
        self._inputs = open_inputs(source, shapes)
        # Options of the compilation, such as those of the PassContext, hold for what is compiled later, too.
        self._context = copy_context()
        self._interpreter = Interpreter(source.region, self._specialise, limit)
        self._last: list[Stretch] = []

    @property
    def artifact(self) -> Artifact:
        """Of what the last call ran, the stretch with most kernels; raises PipelineError before the first call."""
        return self.part().artifact

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input; an extent that is open is None or a name."""
        return self._inputs

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each output, as far as the model says."""
        return open_outputs(self._source)

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers of the imported model, in order; inner ones are called `<outer>/<inner>`."""
        return tuple(node_of(step).layer for step in _steps(self._source.region))

    @property
    def specializations(self) -> tuple[Executable, ...]:
        """What has been compiled and is kept, each an executable that answers `why`, `where` and the like."""
        return tuple(self._reports(self._interpreter.stretches))

    @property
    def last(self) -> tuple[Executable, ...]:
        """What the last call ran, in order."""
        return tuple(self._reports(self._last))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernel calls of the last call."""
        return tuple(name for part in self.last for name in part.kernels)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Output name -> array (or list of arrays, or None), for input name -> the same.

        Raises FrontendError when names, ranks, extents or dtypes are not the model's.
        """
        names = [spec.name for spec in self._inputs]
        problems = [f"missing {spec}" for spec in self._inputs if spec.name not in inputs]
        problems += [f"unknown input '{name}'" for name in inputs if name not in names]
        values: dict[str, Value] = {}
        for spec in self._inputs:
            if spec.name in inputs:
                value, problem = spec.accept(inputs[spec.name])
                values[spec.name] = value
                problems += [problem] if problem else []
        if problems:
            raise FrontendError("inputs: " + "; ".join(problems))
        run = Run(self._pool)
        found = self._interpreter.run(values, run)
        self._last = list(run.visited)
        return {name: plain(value) for name, value in zip(self._source.region.outputs, found, strict=True)}

    def __call__(self, *arrays: Any) -> Any:
        """The short form: inputs in order; one output as it is, several as a tuple."""
        if len(arrays) != len(self._inputs):
            expected = ", ".join(map(str, self._inputs)) or "none"
            raise FrontendError(f"inputs: expected {len(self._inputs)} ({expected}), got {len(arrays)}")
        found = self.run({spec.name: array for spec, array in zip(self._inputs, arrays, strict=True)})
        values = [found[name] for name in self._source.region.outputs]
        return values[0] if len(values) == 1 else tuple(values)

    def part(self, name: str | int | None = None) -> Executable:
        """The stretch, of the last call if it is there, that has a kernel or a layer of a name; without, the largest.

        Raises FrontendError when none has it, PipelineError before the first call.
        """
        if not self.last:
            raise PipelineError("a model of open shapes: expected a call before questions about its code, got none")
        if not isinstance(name, str):
            return max(self.last, key=lambda part: len(part.kernels))
        for part in (*self.last, *self.specializations):
            if name in part.kernels or name in part.layers:
                return part
        known = f"a kernel ({', '.join(self.kernels[:3])}) or a layer of what is compiled"
        raise FrontendError(f"expected {known}, got {name!r}")

    def why(self, kernel: str | int, line: int | None = None) -> Why:
        """The layers, passes and stages behind a kernel of what is compiled; as `Executable.why`."""
        return self.part(kernel).why(kernel, line)

    def where(self, layer: str) -> Where:
        """What became of a layer in the first stretch that has it; as `Executable.where`."""
        return self.part(layer).where(layer)

    def coverage(self) -> dict[str, float]:
        """Level -> the least fraction, over what the last call ran, of ops that name the layers they serve."""
        parts = [part.coverage() for part in self.last]
        return {level: min(part[level] for part in parts) for level in (parts[0] if parts else {})}

    def report(self) -> str:
        """What is compiled, and for which shapes, a line each."""
        lines: list[str] = []
        for part in self.specializations:
            inputs = ", ".join(map(str, part.inputs)) or "nothing"
            lines.append(f"{len(part.layers)} layers, {len(part.kernels)} kernels for {inputs}")
        kept = f"{len(lines)} of at most {self._interpreter.limit} specialisations"
        return "\n".join([kept, *lines])

    def _reports(self, stretches: Sequence[Stretch]) -> list[Executable]:
        return [stretch.report for stretch in stretches if isinstance(stretch.report, Executable)]

    def _specialise(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch:
        return self._context.copy().run(self._compiled, region, at, values)

    def _compiled(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch:
        ledger = Ledger()
        with recording(ledger, "import"):
            found = import_stretch(self._source, region, at, values)
        if not found.computes:
            return Stretch(found.next, found.arguments, found.results, None)
        part = Executable(self._build(found.module, ledger), self._threads)
        return Stretch(found.next, found.arguments, found.results, part.runner, part)


def _steps(region: Region) -> list[Step]:
    """All steps, inner ones included."""
    found: list[Step] = []
    stack = list(reversed(region.steps))
    while stack:
        step = stack.pop()
        found.append(step)
        for body in reversed(list(step.bodies.values())):
            stack.extend(reversed(body.steps))
    return found
