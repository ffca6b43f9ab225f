"""Measurements of recorded programs: times, and values of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Any

from whence.compiler.compile import compile as compile_model
from whence.executables.executable import Executable
from whence.explorer.peer import PeerTimes, peers_of_calls
from whence.explorer.probe import measured_rates
from whence.explorer.references import References
from whence.explorer.roof import Start, roofs
from whence.explorer.samples import Samples
from whence.explorer.session.builder import Builder
from whence.explorer.session.knobs import add_knobs
from whence.explorer.session.schedules import Films
from whence.explorer.session.tensors import add_tensors
from whence.explorer.session.times import Beside, add_times
from whence.planning.artifact import Artifact
from whence.reading.arrays import default_inputs
from whence.runtime.loading.disturbance import Disturbance
from whence.support.context import PassContext
from whence.support.errors import FrontendError, PipelineError, WhenceError
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.text import fromtext

_RUNS = 5
_TINY, _SMALL = 16, 1 << 15
"""Floats for which nothing is shared, and floats that threads share."""
_CALLS = 50


@dataclass(frozen=True)
class Wishes:
    """The measurements and films that a session is to have."""

    seconds: float = 0.0
    """Seconds to sample; 0 for no times."""
    tensors: bool = False
    reference: Callable[[Artifact, Mapping[str, Any]], References | None] | None = None
    """Computes the reference values of layers, for a program and its inputs."""
    peer: Callable[[Mapping[str, Any]], PeerTimes] | None = None
    """Measures another runtime of the model with these inputs."""
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

    def sizes_of(self, executable: Executable, *, whole: bool) -> Mapping[str, int] | None:
        """Return the sizes of a program; a stretch, which is not the whole model, has some of them."""
        known = executable.artifact.program.sizes
        if self.sizes is None or whole or known is None:
            return self.sizes
        return {name: size for name, size in self.sizes.items() if name in known.symbols}


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
            own = replace(wishes, sizes=wishes.sizes_of(executable, whole=whole))
            _measure(builder, executable, number, inputs if main else None, own, len(programs), main=main)
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
        # A stretch has run already, as only calls of its model compile it.
        met = None if main else executable.runner.latest_sizes()
        sizes = executable.sizes_of(inputs) if inputs is not None else wishes.sizes or met
        if not sizes:
            return  # A note about its memory says so.
        executable = executable.at(sizes)
    arrays = inputs if inputs is not None else default_inputs(executable.inputs)
    if wishes.seconds:
        shared = replace(wishes, seconds=wishes.seconds / programs, peer=wishes.peer if main else None)
        _times(builder, executable, number, arrays, shared)
    if wishes.tensors:
        artifact = executable.artifact
        references = wishes.reference(artifact, arrays) if wishes.reference is not None and main else None
        add_tensors(builder, artifact, number, executable.runner, executable.pool, arrays, references)


def _times(builder: Builder, executable: Executable, program: int, inputs: Mapping[str, Any], wishes: Wishes) -> None:
    samples: Samples | None = None
    notes, artifact = builder.session.made_by.notes, executable.artifact
    threads = executable.pool.threads
    others = Disturbance.here()
    before = others.read()
    try:
        samples = executable.sample(inputs, wishes.seconds)
    except PipelineError as error:
        notes.append(f"times of layers are estimates: {error}")
    times = executable.times(inputs, _RUNS, samples)
    timelines = [executable.timeline(inputs) for _ in range(_RUNS)]
    taken = others.taken(before, others.read())
    rates = measured_rates(threads)
    walls = [spans[-1][1] for spans in timelines if spans]
    beside = Beside(roofs(artifact, rates, _start(threads)), walls, taken)
    if wishes.peer is not None:
        try:
            peer = wishes.peer(inputs)
            beside = replace(beside, peer=peer.runtime, peers=peers_of_calls(times, peer))
        except FrontendError as error:
            notes.append(f"no other runtime was measured: {error}")
    # The run of a few in which other programs used the processors least.
    timeline = min(timelines, key=lambda spans: spans[-1:])
    add_times(builder, artifact, program, times, samples, timeline, beside)
    first = next(row for row, kernel in enumerate(builder.session.kernels) if kernel.program == program)
    kernels = range(first, first + len(artifact.kernels))
    add_knobs(builder.session, artifact, kernels, times.calls, rates)


@cache
def _start(threads: int) -> Start:
    """Return the CPU seconds that calls take before any work, measured once in a process."""
    call, alone, shared = (_least_call(size, count) for size, count in ((_TINY, 1), (_SMALL, 1), (_SMALL, threads)))
    return Start(call, call + max(0.0, shared - alone))


def _least_call(size: int, threads: int) -> float:
    """Return the median CPU seconds of a call of next to no work: maxima of so many floats with 0."""
    type_ = f"Tensor[({size}), float32]"
    module = elaborate(fromtext(f'#[version = "0.0.5"]\ndef @main(%x: {type_}) -> {type_} {{ nn.relu(%x) }}'))
    with PassContext():
        executable = compile_model(module, threads=threads)
    return median(executable.profile(default_inputs(executable.inputs), _CALLS)[:, 0].tolist())
