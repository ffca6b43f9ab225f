"""Models whose sizes, or whose steps, only values decide: specialised when they meet them, run by the interpreter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.utils.exceptions import VerifyException

from whence.executables.choice import Tier
from whence.executables.interpreted import LIMIT, Build, InterpretedExecutable
from whence.executables.shipping import ends_of, export_model, not_reached
from whence.executables.sized import SizedExecutable
from whence.frontends.importing.model import Model
from whence.frontends.importing.node import node_of
from whence.frontends.importing.stretches import import_open_stretch, import_stretch
from whence.frontends.importing.tensor import Undecided
from whence.frontends.importing.whole_models import import_symbolic
from whence.planning.archive import LayerFate
from whence.provenance.ledger import Ledger, recording
from whence.runtime.interpreting.control import NEVER_COMPILED
from whence.runtime.interpreting.flow import Output, Region, Run, Step, Stretch, Value
from whence.runtime.interpreting.interpreter import Interpreter
from whence.runtime.interpreting.language_program import Visit
from whence.runtime.interpreting.shape_patterns import Kept, Pattern
from whence.runtime.interpreting.written import ModelSteps
from whence.runtime.values.open_specs import OpenSpec
from whence.support.doors import doors
from whence.support.errors import FrontendError, ScheduleError

if TYPE_CHECKING:
    pass


@doors()
class DynamicExecutable(InterpretedExecutable):
    """A compiled model with sizes or steps that only a call decides.

    A call with new shapes compiles the stretches that it needs; beyond `limit` stretches, the least recently used are
    dropped.
    """

    def __init__(
        self,
        source: Model,
        shapes: Mapping[str, Sequence[int]],
        build: Build,
        threads: int | None = None,
        limit: int = LIMIT,
        tier: Tier = "auto",
    ):
        super().__init__(build, threads, limit)
        self._source = source
        self._shapes = shapes
        self._inputs = source.inputs.after(shapes)
        generalise = None if tier == "static" else self._generalise
        self._interpreter = Interpreter(source.region, self._inputs, self._specialise, generalise, limit)

    def export_library(self, path: str | PathLike[str]) -> None:
        """Write the model, with the code that calls have compiled so far, to a .tar file for `load_program`.

        A FrontendWarning names the layers from which on the file lacks code for other sizes or steps than those that
        came. Raises PipelineError before the first call, and if the file cannot be written.
        """
        export_model(self, self._interpreter, self._steps, Path(path))

    def _stretches(self) -> list[Stretch]:
        return self._interpreter.stretches

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input; an extent that is open is None or a name."""
        return self._inputs

    def _steps(self, kept: Sequence[Kept]) -> ModelSteps:
        """Return the model as a file has it, with the stretches that are kept in it."""
        return ModelSteps(self._source.region, self._inputs, tuple(self._source.outputs), tuple(kept))

    @property
    def region(self) -> Region:
        """The steps that the interpreter runs."""
        return self._source.region

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Return the name, shape and dtype of each output, where the model states them."""
        return tuple(self._source.outputs)

    @property
    def decided(self) -> str:
        """The first size or step that only a call decides, and its layer."""
        try:
            import_symbolic(self._source, self._shapes, {})
        except Undecided as undecided:
            return str(undecided)
        return "sizes of " + ", ".join(map(str, self.inputs))

    def _fates(self) -> Sequence[LayerFate]:
        behind, missing = ends_of(self._interpreter), set(not_reached(self._interpreter))
        layers: list[LayerFate] = []
        for step in _steps(self._source.region):
            node = node_of(step)
            interpreted = step.kind in NEVER_COMPILED or step in behind.get(step, ())
            layers.append(
                LayerFate(
                    *(node.layer, node.leaf, node.op_type, node.module),
                    step=node.op_type if interpreted else "",
                    reached=step not in missing,
                )
            )
        return layers

    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        if name != "main":
            raise FrontendError(f"expected a function among main, got {name!r}")
        results = tuple(self._called(arguments, visit))
        return results[0] if len(results) == 1 else results

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        return self._called(inputs, None)

    def _called(self, inputs: Mapping[str, Any] | Sequence[Any], visit: Visit | None) -> Sequence[Any]:
        values = self._interpreter.accepted(inputs)
        self._note_shapes({name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)})
        run = Run(self._pool, visit)
        results = self._interpreter.call(values, run)
        self._last = list(run.visited)
        return results

    def _specialise(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch:
        return self._context.copy().run(self._imported, region, at, values)

    def _imported(self, region: Region, at: int, values: Mapping[str, Value]) -> Stretch:
        ledger = Ledger()
        with recording(ledger, "import"):
            native = import_stretch(self._source, region, at, values)
        open_ = {
            name: (source.axis,) if isinstance(source, Output) and source.count is not None else ()
            for name, source in native.results.items()
        }
        if not native.computes:
            return Stretch(native.next, native.arguments, native.results, None, open=open_)
        part = self._compiled(native.module, ledger)
        reason = self._fell_back(region.steps[at])
        return Stretch(native.next, native.arguments, native.results, part.runner, part, open=open_, reason=reason)

    def _generalise(
        self, region: Region, at: int, values: Mapping[str, Value], pattern: Pattern, sizes: Sequence[int], whole: bool
    ) -> Stretch | None:
        return self._context.copy().run(self._opened, region, at, values, pattern, sizes, whole)

    def _opened(
        self, region: Region, at: int, values: Mapping[str, Value], pattern: Pattern, sizes: Sequence[int], whole: bool
    ) -> Stretch | None:
        """Return the stretch for all sizes of a pattern; None where operators do not take them."""
        ledger = Ledger()
        try:
            with recording(ledger, "import"):
                native = import_open_stretch(self._source, region, at, values, pattern, sizes, whole=whole)
            if native is None:
                return None
            if not native.computes:
                return Stretch(native.next, native.arguments, native.results, None)
            part = self._compiled(native.module, ledger)
        except (FrontendError, VerifyException, ScheduleError) as error:
            # For the sizes that came there may be a program nevertheless.
            self._refused(region.steps[at], sizes, error)
            return None
        assert isinstance(part, SizedExecutable)
        open_ = {
            name: source.known
            or tuple(axis for axis, extent in enumerate(part.outputs[source.at].shape) if extent < 0)
            + (() if source.count is None else (source.axis,))
            for name, source in native.results.items()
            if isinstance(source, Output)
        }
        reason = self._fell_back(region.steps[at], sizes)
        return Stretch(
            next=native.next,
            arguments=native.arguments,
            results=native.results,
            runner=part,
            report=part,
            fits=part.takes,
            open=open_,
            reason=reason,
        )


def _steps(region: Region) -> list[Step]:
    """Return all steps, including inner ones."""
    steps: list[Step] = []
    stack = list(reversed(region.steps))
    while stack:
        step = stack.pop()
        steps.append(step)
        for body in reversed(list(step.bodies.values())):
            stack.extend(reversed(body.steps))
    return steps
