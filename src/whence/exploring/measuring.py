"""Measurements of recorded programs: times, and values of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whence.executables.executable import Executable
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
    """Seconds to sample; 0 for no times."""
    tensors: bool = False
    reference: Callable[[Artifact, Mapping[str, Any]], References | None] | None = None
    """Computes the reference values of layers, for a program and its inputs."""
    films: Films = "hot"
    """The kernels of whose schedules all frames have loops and next primitives."""
    sizes: Mapping[str, int] | None = None
    """The sizes for which a program for all sizes is measured, and its memory shown."""

    sources: bool = False
    """Take the whole Python files whose lines called layers, not those lines alone."""

    @property
    def measured(self) -> bool:
        """Return whether the model is to be run."""
        return self.seconds > 0 or self.tensors


NOTHING = Wishes()


def measure(
    builder: Builder,
    programs: Sequence[tuple[int, Executable]],
    inputs: Mapping[str, Any] | None,
    wishes: Wishes,
    *,
    whole: bool,
) -> None:
    """Run recorded programs, each on its own, and append the requested measurements, or the reason for their absence.

    programs: the programs and their numbers, the main one first. inputs: the inputs of the main program, by name;
    missing ones are generated. whole: whether the main program is the model, not a stretch of it.
    """
    for position, (number, executable) in enumerate(programs):
        main = whole and not position
        try:
            _measure(builder, executable, number, inputs if main else None, wishes, len(programs), main=main)
        except WhenceError as error:
            if main and inputs is not None:
                raise
            name = builder.session.programs[number].name
            builder.session.made_by.notes.append(f"{name} was not measured: {error}")
    if programs and not whole:
        builder.session.made_by.notes.append("stretches were measured each on its own, with inputs that were made up")


def _measure(
    builder: Builder,
    executable: Executable,
    number: int,
    inputs: Mapping[str, Any] | None,
    wishes: Wishes,
    programs: int,
    *,
    main: bool,
) -> None:
    if executable.artifact.program.sizes is not None:
        sizes = executable.sizes_of(inputs) if inputs is not None else wishes.sizes
        if not sizes:
            return  # A note about its memory says so.
        executable = executable.at(sizes)
    arrays = inputs if inputs is not None else default_inputs(executable.inputs)
    if wishes.seconds:
        _times(builder, executable, number, arrays, wishes.seconds / programs)
    if wishes.tensors:
        artifact = executable.artifact
        references = wishes.reference(artifact, arrays) if wishes.reference is not None and main else None
        add_tensors(builder, artifact, number, executable.runner, executable.pool, arrays, references)


def _times(builder: Builder, executable: Executable, program: int, inputs: Mapping[str, Any], seconds: float) -> None:
    samples: Samples | None = None
    try:
        samples = executable.sample(inputs, seconds)
    except PipelineError as error:
        builder.session.made_by.notes.append(f"times of layers are estimates: {error}")
    times = executable.times(inputs, _RUNS, samples)
    # The run of a few in which other programs used the processors least.
    timeline = min((executable.timeline(inputs) for _ in range(_RUNS)), key=lambda spans: spans[-1:])
    add_times(builder, executable.artifact, program, times, samples, timeline)
