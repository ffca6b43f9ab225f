"""Measurements of recorded programs: times, and values of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from whence.executables.executable import Executable
from whence.executables.interpreted import InterpretedExecutable
from whence.explorer.references import References
from whence.explorer.samples import Samples
from whence.explorer.session.builder import Builder
from whence.explorer.session.schedules import Films
from whence.explorer.session.tensors import add_tensors
from whence.explorer.session.times import add_times
from whence.planning.artifact import Artifact
from whence.reading.arrays import default_inputs
from whence.support.errors import PipelineError, WhenceError

_RUNS = 5


@dataclass(frozen=True)
class Wishes:
    """The measurements and films that a session is to have."""

    seconds: float = 0.0
    """How long to sample; 0: no times."""
    tensors: bool = False
    reference: Callable[[Artifact, Mapping[str, Any]], References | None] | None = None
    """Computes what values of layers are held against, for a program and its inputs."""
    films: Films = "hot"
    """The kernels of whose schedules all frames have loops and next primitives."""

    @property
    def measured(self) -> bool:
        """Return whether the model is to be run."""
        return self.seconds > 0 or self.tensors


NOTHING = Wishes()


def measure(
    builder: Builder, executable: Executable, program: int, inputs: Mapping[str, Any] | None, wishes: Wishes
) -> None:
    """Run a recorded program, and append what was asked for; note why where that is not possible.

    inputs: by name; made up where there are none.
    """
    notes = builder.session.made_by.notes
    if isinstance(executable, InterpretedExecutable):
        notes.append("nothing was measured: only calls say what runs")
        return
    try:
        arrays = inputs if inputs is not None else default_inputs(executable.inputs)
        if executable.artifact.program.sizes is not None:
            executable = executable.at(executable.sizes_of(arrays))
        if wishes.seconds:
            _times(builder, executable, program, arrays, wishes.seconds)
        if wishes.tensors:
            artifact = executable.artifact
            references = wishes.reference(artifact, arrays) if wishes.reference is not None else None
            add_tensors(builder, artifact, program, executable.runner, executable.pool, arrays, references)
    except WhenceError as error:
        if inputs is not None:
            raise
        notes.append(f"{builder.session.programs[program].name} was not measured: {error}")


def _times(builder: Builder, executable: Executable, program: int, inputs: Mapping[str, Any], seconds: float) -> None:
    samples: Samples | None = None
    try:
        samples = executable.sample(inputs, seconds)
    except PipelineError as error:
        builder.session.made_by.notes.append(f"times of layers are estimates: {error}")
    times = executable.times(inputs, _RUNS, samples)
    add_times(builder, executable.artifact, program, times, samples, executable.timeline(inputs))
