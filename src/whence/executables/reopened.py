"""Exported programs in which values decide, that answer the questions of a compiled one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from whence.executables.choice import Choice
from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.executables.unpacking import artifact_of
from whence.planning.archive import FATES, PROVENANCE, Fates, LayerFate
from whence.runtime.interpreting.flow import Stretch
from whence.runtime.interpreting.language_program import Visit
from whence.runtime.loading.programs import ProgramFile, load_file
from whence.runtime.program.program import Call
from whence.runtime.values.open_specs import OpenSpec
from whence.support.doors import doors
from whence.support.errors import FrontendError, PipelineError, expectation

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from whence.planning.artifact import Artifact
    from whence.provenance.ledger import Ledger


@doors()
class ReopenedExecutable(InterpretedExecutable):
    """A program out of a file. It runs the code in the file, and compiles nothing.

    Questions are about the last call, and before the first one about all code in the file.
    """

    def __init__(self, file: ProgramFile, threads: int | None = None):
        program = load_file(file, threads)
        super().__init__(_unbuilt, threads, len(program.stretches))
        self._program = program
        self._file = file
        try:
            self._origins = FATES.decode(Fates, json.loads(bytes(file.package.part(PROVENANCE))), file.name)
        except ValueError as error:
            expected = "a program that this version exported, with where it came from"
            raise FrontendError(expectation(file.name, expected, str(error))) from error
        self.interpreter = self._origins.interpreter
        self.choice = Choice(self._origins.kind, self._origins.reason)

    @cached_property
    def _programs(self) -> Sequence[Executable]:
        """The native programs, by their numbers in the file."""
        packages = self._file.packages()
        return [Executable(artifact_of(package, package.name), self._threads) for package in packages]

    def _reported(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Return stretches with the executables that they are as reports."""
        numbers = [stretch.report for stretch in stretches]
        return [
            replace(stretch, report=self._programs[number] if isinstance(number, int) else None)
            for stretch, number in zip(stretches, numbers, strict=True)
        ]

    def _stretches(self) -> list[Stretch]:
        return self._reported(self._program.stretches)

    def _fates(self) -> Sequence[LayerFate]:
        return self._origins.layers

    def fates(self) -> Fates:
        return self._origins

    @property
    def inputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each input; an extent that is open is None or a name."""
        return self._program.inputs

    @property
    def outputs(self) -> tuple[OpenSpec, ...]:
        """Name, shape and dtype of each output."""
        return self._program.outputs

    @property
    def limited(self) -> tuple[str, ...]:
        """A line for each layer from which on the file has no code for all sizes, or none at all."""
        return self._program.limited

    @property
    def decided(self) -> str:
        """The first step that the interpreter runs, and its layer."""
        step = next((row for row in self._origins.layers if row.step), None)
        return f"{step.step} (layer '{step.name}')" if step is not None else self._origins.reason

    def report(self) -> str:
        """Return a line for each compiled stretch, and for each layer from which on code is missing."""
        return "\n".join([super().report(), *self.limited])

    def _kept(self, count: int) -> str:
        return f"{count} compiled stretch{'es' * (count != 1)} in {self._file.name}"

    def reset(self) -> None:
        """Restart the random numbers of the program, if it draws any."""
        self._program.reset()

    def constructor(self, name: str) -> Any:
        """Return a function that makes values of a data type, as a `VirtualExecutable` does."""
        return self._program.constructor(name)

    def invoke(self, name: str, *arguments: Any, visit: Visit | None = None) -> Any:
        def visit_reported(stretch: Stretch, call: Call, seconds: float) -> None:
            assert visit is not None
            visit(self._reported([stretch])[0], call, seconds)

        result = self._program.invoke(name, *arguments, visit=visit_reported if visit is not None else None)
        self._last = self._reported(self._program.last)
        return result

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        results = self._program.call(inputs)
        self._last = self._reported(self._program.last)
        return results

    def export_library(self, path: str | PathLike[str]) -> None:
        """Raise PipelineError: the file is there already."""
        expected = f"a program that was compiled here; copy {self._file.name}"
        raise PipelineError(expectation("export_library", expected, "one of a file"))


def _unbuilt(module: ModuleOp, ledger: Ledger) -> Artifact:
    raise AssertionError("a program of a file compiles nothing")
