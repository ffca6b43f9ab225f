"""Programs that an interpreter runs: native code in stretches, which are compiled when a call comes to them."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn

from whence.executables.executable import Executable
from whence.executables.sized import SizedExecutable
from whence.lowering.llvm_to_native.target import Target
from whence.planning.archive import Fates, LayerFate
from whence.planning.artifact import Artifact
from whence.planning.build import Building
from whence.provenance.ledger import Ledger
from whence.runtime.interpreting.flow import Step, Stretch
from whence.runtime.interpreting.language_program import Visit
from whence.runtime.program.random_state import RandomState
from whence.runtime.values.open_specs import OpenSpec
from whence.support.errors import FrontendError, FrontendWarning, PipelineError, expectation
from whence.support.names import shortened

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from whence.explorer.where import Where
    from whence.lowering.kernel.tuned import Applied

Build = Callable[["ModuleOp", Ledger], Artifact]
"""Compiles a module."""

LIMIT = 64
"""The largest number of specialisations that are kept."""
_SHOWN = 48
"""The largest number of letters of an input's name and type in a report."""


class InterpretedExecutable(Executable):
    """A compiled model some of whose sizes or steps are decided only by a call.

    It is made of *stretches*, native programs for the shapes met so far, each an executable that answers for itself;
    the model as a whole answers for its last call.
    """

    def __init__(self, build: Build, threads: int | None, limit: int):
        super().__init__(None, threads)
        self._threads = threads
        self._build = build
        self._limit = limit
        # Options of the compilation, such as those of the PassContext, hold for what is compiled later, too.
        self._context = copy_context()
        self._random = RandomState(self.seed)
        self._last: list[Stretch] = []
        self._reasons: dict[Step, tuple[str, tuple[int, ...]]] = {}
        """By first step, why the steps from there on have no program for all sizes, and the sizes last asked for."""
        self._specialised: dict[Step, int] = {}
        """By first step, the number of times that they were compiled for fewer sizes."""
        self._first_shapes: dict[str, tuple[int, ...]] = {}
        """The shapes of the inputs in the first call, by name."""
        self._varying: dict[str, int] = {}
        """For each input whose shape has changed since, a dimension that differs."""

    @abstractmethod
    def _stretches(self) -> list[Stretch]:
        """Return the stretches that are compiled and kept."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input; an extent that is open is None or a name."""

    @property
    @abstractmethod
    def decided(self) -> str:
        """The first size or step that only a call decides, and its layer."""

    interpreter: str = "the interpreter"
    """The name of what runs the steps."""

    @abstractmethod
    def _fates(self) -> Sequence[LayerFate]:
        """Return the layers of the model, and what runs each, as far as it is compiled."""

    def fates(self) -> Fates:
        """Return what a file says about the layers."""
        kind = "virtual machine" if self.choice.kind == "virtual machine" else "interpreted"
        return Fates(self.interpreter, kind, self.choice.reason, tuple(self._fates()))

    @property
    def layers(self) -> tuple[str, ...]:
        """The names of the layers of the imported model, in order; inner ones are called `<outer>/<inner>`."""
        return tuple(dict.fromkeys(layer.name for layer in self._fates()))

    def where(self, layer: str) -> Where:
        """Return the fate of a layer: as `Executable.where`, and what the interpreter runs for it.

        Of a layer that is in several compiled programs, it is that in the first one; of a layer in a branch or loop
        that no call came to, that there is no code of it.
        """
        from whence.explorer.layers import Layer
        from whence.explorer.where import Where

        rows = [row for row in self._fates() if row.name == layer]
        part = next((part for part in (*self.last, *self.specializations) if layer in part.layers), None)
        steps = tuple(dict.fromkeys(row.step for row in rows if row.step))
        if not rows:
            return super().where(layer)
        if part is not None and not steps:
            return part.where(layer)
        layers = [replace(Layer.of(row.leaf, row.type, row.module), name=layer) for row in rows]
        # A step may have native parts, too.
        answer = Where((), (), (), ()) if part is None else part.where(layer)
        return replace(
            answer,
            layers=tuple(dict.fromkeys(layers)),
            steps=steps,
            interpreter=self.interpreter,
            uncompiled=part is None and not any(row.reached for row in rows),
        )

    def wheres(self) -> tuple[Where, ...]:
        """Return `where` of every layer, once for each name."""
        return tuple(map(self.where, self.layers))

    @abstractmethod
    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        """Call a function of the program with values in order; several results are a tuple.

        visit: is called after each kernel call, with the stretch, the call and its seconds.
        Raises FrontendError when there is no such function, or it takes other values. A model has the function `main`.
        """

    @abstractmethod
    def export_library(self, path: str | PathLike[str]) -> None: ...

    def __reduce__(self) -> NoReturn:
        """Raise PipelineError: a copy could not compile what its calls need."""
        expected = "a model that is one native call"
        raise PipelineError(expectation("pickle, copy", expected, f"one in which values decide: {self.decided}"))

    @property
    def seed(self) -> int | None:
        """The seed of the model's random numbers; None for one that the system gives."""
        return self._build.seed if isinstance(self._build, Building) else None

    @property
    def target(self) -> Target:
        """The machine that code is made for."""
        return self._build.target if isinstance(self._build, Building) else Target.native()

    def reason(self, step: Step) -> str:
        """Return why the steps from one on have no program for all sizes, or nothing."""
        return self._reasons.get(step, ("", ()))[0]

    @property
    def artifact(self) -> Artifact:
        """The artifact of the last call's stretch with the most kernels; raises PipelineError before the first call."""
        return self.part().artifact

    @property
    def specializations(self) -> tuple[Executable, ...]:
        """The compiled programs that are kept, each an executable that answers `why`, `where` and the like."""
        return tuple(_reports(self._stretches()))

    @property
    def last(self) -> tuple[Executable, ...]:
        """The programs that the last call ran, in order."""
        return tuple(_reports(self._last))

    @property
    def random(self) -> RandomState | None:
        """The state of the model's random numbers, which all stretches draw from."""
        return self._random

    @property
    def tuned(self) -> Mapping[str, Applied]:
        """Symbol of a kernel of the compiled programs -> the decisions of tuning by which it was made."""
        return {symbol: applied for part in self.specializations for symbol, applied in part.tuned.items()}

    @property
    def parts(self) -> tuple[Executable, ...]:
        """The programs of the last call, in order; before the first call, all that are compiled."""
        return self.last or self.specializations

    def part(self, name: str | int | None = None) -> Executable:
        """Return the stretch with a kernel or layer of a name, of the last call if possible; by default the largest.

        Raises FrontendError for an unknown name, and PipelineError before the first call.
        """
        parts = self.parts
        if not parts:
            raise PipelineError(
                "a model that a call decides: expected a call before questions about its code, got none"
            )
        if not isinstance(name, str):
            return max(parts, key=lambda part: len(part.kernels))
        for part in (*parts, *self.specializations):
            if name in part.kernels or name in part.layers:
                return part
        choices = f"a kernel ({', '.join(self.kernels[:3])}) or a layer of what is compiled"
        raise FrontendError(f"expected {choices}, got {name!r}")

    def report(self) -> str:
        """Return a line for each compiled stretch: its shapes, and why it is not for all sizes where it is not."""
        from whence.explorer.report import count, some

        lines: list[str] = []
        for stretch in self._stretches():
            if not isinstance(part := stretch.report, Executable):
                continue
            inputs = some((shortened(str(spec), _SHOWN) for spec in part.inputs), 4) or "nothing"
            because = f"; not for all sizes: {stretch.reason}" if stretch.reason else ""
            shown = f"{count(len(part.layers), 'layer')}, {count(len(part.kernels), 'kernel')} for {inputs}"
            lines.append(shown + because)
        return "\n".join([self._kept(len(lines)), *lines, *self.choice.notes])

    def _note_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Remember which inputs have shapes that differ between calls."""
        for name, shape in shapes.items():
            first = self._first_shapes.setdefault(name, shape)
            if shape != first and len(shape) == len(first):
                pairs = enumerate(zip(shape, first, strict=True))
                self._varying.setdefault(name, next(axis for axis, (new, old) in pairs if new != old))

    def _refused(self, step: Step, sizes: Sequence[int], error: Exception) -> None:
        """Remember why the steps from one on have no program for all sizes, as was asked when `sizes` came."""
        self._reasons[step] = str(error), tuple(sizes)

    def _fell_back(self, step: Step, sizes: Sequence[int] | None = None) -> str:
        """Return why the steps from one on are compiled for fewer sizes than requested; warn the second time.

        sizes: the sizes of the call, for a program with more sizes; empty for a program for all requested sizes.
        """
        reason, asked = self._reasons.get(step, ("", ()))
        if not reason or (sizes is not None and tuple(sizes) != asked):
            return ""
        self._specialised[step] = self._specialised.get(step, 0) + 1
        if self._specialised[step] == 2:
            specs = {spec.name: spec for spec in self.inputs}
            varying = [f"dimension {axis} of {specs[name]}" for name, axis in self._varying.items() if name in specs]
            what = f"sizes of {', '.join(varying)}" if varying else "values"
            text = f"from layer '{step.layer}' on the model is compiled anew for other {what}: {reason}"
            warnings.warn(FrontendWarning(text), stacklevel=2)
        return reason

    def _kept(self, count: int) -> str:
        return f"{count} of at most {self._limit} specialisations"

    if TYPE_CHECKING:
        # Values are lists of arrays, None, data types and functions, too.
        def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any: ...
        def run(self, *args: Any, **kwargs: Any) -> Any: ...

    def _compiled(self, module: ModuleOp, ledger: Ledger) -> Executable:
        """Compile a part of the model."""
        artifact = self._build(module, ledger)
        sized = artifact.program.sizes is not None
        part = SizedExecutable(artifact, self._build, self._threads) if sized else Executable(artifact, self._threads)
        part.draw_from(self._random)
        return part


def _reports(stretches: Sequence[Stretch]) -> list[Executable]:
    return [stretch.report for stretch in stretches if isinstance(stretch.report, Executable)]
