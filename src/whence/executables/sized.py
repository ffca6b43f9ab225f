"""Two tiers: one program for all sizes, and programs for frequent sizes beside it."""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from whence.dialects.relay.constants import set_pool
from whence.executables.apart import CannotStart, Source, copied_pool, imported, portable
from whence.executables.choice import Specialize, Tier
from whence.executables.donating import Donating
from whence.executables.executable import Executable
from whence.passes.relay.bind_sizes import bind_sizes
from whence.planning.artifact import Artifact
from whence.planning.build import Building
from whence.provenance.ledger import Ledger
from whence.provenance.numbers import same_module
from whence.runtime.program.executor import Visit
from whence.runtime.program.inputs import accepted
from whence.runtime.program.sizes import check_symbols
from whence.runtime.program.threads import ThreadPool
from whence.runtime.values.tensors import Tensor
from whence.support.doors import doors
from whence.support.dtypes import Array
from whence.support.errors import WhenceError
from whence.support.supervising import reason, supervised

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from whence.explorer.why import Why

LIMIT = 16
"""The largest number of programs for certain sizes that are kept."""
OFTEN = 50
"""The number of calls with the same sizes that makes a program for them worthwhile."""

_Key = tuple[int, ...]


@dataclass
class _Special:
    """The calls with some sizes, and the program for them."""

    calls: int = 0
    program: Executable | None = None
    refused: bool = False
    """True if no program is to be asked for: it could not be made, or is being made."""
    problem: str = ""
    """Why it could not be made."""


@dataclass
class _State:
    """The state that calls share with the compiling thread."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    special: OrderedDict[_Key, _Special] = field(default_factory=OrderedDict[_Key, _Special])
    waiting: list[_Key] = field(default_factory=list[_Key])
    worker: threading.Thread | None = None


@doors(besides=("launch", "walk", "takes"))
class SizedExecutable(Executable):
    """A compiled model that takes arrays of any sizes.

    Its program for all sizes runs at once. With tier `auto`, frequent sizes get a program of their own, which a
    background thread compiles; beyond `limit` programs, the least recently used are dropped. The numbers differ only by
    rounding.
    """

    def __init__(
        self,
        artifact: Artifact,
        build: Callable[[ModuleOp, Ledger], Artifact],
        threads: int | None = None,
        *,
        tier: Tier = "auto",
        specialize: Specialize | None = None,
        limit: int = LIMIT,
        often: int = OFTEN,
    ):
        super().__init__(artifact, threads)
        self._source, self._build, self._threads = artifact.snapshots[0].module, build, threads
        self._tier, self._limit, self._often = tier, limit, often
        self._context = copy_context()
        self._state = _State()
        self._ran: Executable | None = None
        self._donating: dict[tuple[str, ...], Donating] = {}
        _executables.add(self)
        for key in self._asked(specialize or {}):
            self._state.special[key] = _Special(program=self._specialised(key))
        self._limit = max(limit, len(self._state.special))

    @classmethod
    def of_artifact(cls, artifact: Artifact, threads: int | None) -> Executable:
        return cls(artifact, Building(artifact.target, opt_level=3), threads, tier="symbolic")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the sizes that a call decides."""
        sizes = self.artifact.program.sizes
        assert sizes is not None
        return sizes.symbols

    @property
    def specializations(self) -> tuple[Executable, ...]:
        """The programs for certain sizes, the most recently used last, each an executable with its own answers."""
        with self._state.lock:
            programs = [special.program for special in self._state.special.values()]
        return tuple(program for program in programs if program is not None)

    @property
    def last(self) -> Executable:
        """The program that the last call ran: this one for all sizes, or one for certain sizes."""
        return self if self._ran is None else self._ran

    def takes(self, arrays: Sequence[Array]) -> bool:
        """Return True if the program takes arrays of these sizes; their number and dtypes must be right."""
        return self.runner.takes(arrays)

    def launch(self, arrays: Sequence[Array], pool: ThreadPool, handle: int) -> list[Tensor]:
        """Return the outputs for inputs in order, as part of a run that already has a thread pool."""
        arrays, known_sizes = self.runner.met(arrays)
        self._ran = special = self._special(known_sizes.symbols)
        if special is not None:
            return special.runner.launch(arrays, pool, handle)
        return self.runner.launch(arrays, pool, handle, known_sizes)

    def walk(self, arrays: Sequence[Array], pool: ThreadPool, visit: Visit) -> list[Tensor]:
        """Run like `launch`, but kernel by kernel; `visit` gets every call."""
        self._ran = special = self._special(self.runner.met(arrays)[1].symbols)
        return (self if special is None else special).runner.walk(arrays, pool, visit)

    def _results(self, inputs: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        if not self._state.special and self._tier != "auto":
            return self.runner.run(inputs, self._pool)
        arrays, known_sizes = self.runner.met(inputs)
        self._ran = special = self._special(known_sizes.symbols)
        if special is None:
            return self.runner.launch(arrays, self._pool, self._pool.handle, known_sizes)
        return special.runner.run(arrays, self._pool)

    def _donated(self, inputs: Mapping[str, Any], donate: Sequence[str]) -> Sequence[Any]:
        names = tuple(sorted(set(donate)))
        arrays = accepted(self.artifact.inputs, inputs)
        values = self.runner.known(arrays).values.tolist()
        if (program := self._donating.get(names)) is None:
            program = self._donating[names] = Donating(self.artifact, self._build, names)
        return program.run(arrays, values, self._pool)

    def _special(self, key: _Key) -> Executable | None:
        """Return the program for some sizes, if there is one; else request it once that is worthwhile."""
        state = self._state
        with state.lock:
            special = state.special.get(key)
            if special is None:
                if self._tier != "auto":
                    return None
                special = state.special[key] = _Special()
                self._forget()
            state.special.move_to_end(key)
            special.calls += 1
            if (
                special.program is None
                and not special.refused
                and self._tier == "auto"
                and special.calls >= self._often
            ):
                special.refused = True
                state.waiting.append(key)
                if state.worker is None:
                    work, ended = partial(self._work, state), partial(self._give_up, state)
                    # A system without another thread has the program for all sizes, which is what calls run meanwhile.
                    with suppress(RuntimeError):
                        state.worker = supervised(work, ended, name="whence-specialise")
            return special.program

    def _forget(self) -> None:
        """Forget the least recently used sizes: programs beyond the limit, and counts of calls."""
        special = self._state.special
        programs = [key for key, entry in special.items() if entry.program is not None]
        for key in programs[: max(0, len(programs) - self._limit)]:
            del special[key]
        counts = [key for key, entry in special.items() if entry.program is None]
        for key in counts[: max(0, len(counts) - _COUNTED)]:
            del special[key]

    def _work(self, state: _State) -> None:
        """Compile the requested programs one after the other, in a thread, until there is no request left."""
        context = self._context.copy()
        building = context.run(portable, self._build)
        with (
            closing(Source(self.artifact, building, self._threads)) if building is not None else nullcontext() as source
        ):
            while True:
                with state.lock:
                    if not state.waiting or not threading.main_thread().is_alive():
                        state.worker = None
                        return
                    key = state.waiting.pop(0)
                try:
                    with _compiling:
                        program = context.run(self._made, source, key)
                except Exception as error:
                    with state.lock:
                        problem = str(error) if isinstance(error, WhenceError) else reason(error)
                        state.special.setdefault(key, _Special()).problem = problem
                    continue
                if program is not None:
                    with state.lock:
                        state.special.setdefault(key, _Special()).program = program
                        self._forget()

    @staticmethod
    def _give_up(state: _State, error: BaseException | None) -> None:
        """Record for the requested programs the error that ended their compiling thread."""
        if error is not None:
            with state.lock:
                for key in state.waiting:
                    state.special.setdefault(key, _Special()).problem = reason(error)
                state.waiting.clear()
                state.worker = None

    def _made(self, source: Source | None, key: _Key) -> Executable | None:
        """Return the program for some sizes, compiled by another process if possible; None if there is none."""
        if source is not None:
            with suppress(CannotStart, OSError):
                apart = source.compiled(self._named(key))
                if apart is not None:
                    apart.draw_from(self.random)
                return apart
        with _quick_switches():
            program = self._specialised(key)
            program.runner  # noqa: B018  # linked here, not in a call
        return program

    def _named(self, key: _Key) -> dict[str, int]:
        return dict(zip(self.symbols, key, strict=True))

    def _specialised(self, key: _Key) -> Executable:
        """Return the program for some sizes."""
        module = same_module(self._source)
        set_pool(module, copied_pool(self._source))
        bind_sizes(module, self._named(key))
        program = Executable(self._build(module, imported(self.artifact.ledger)), self._threads)
        program.draw_from(self.random)
        return program

    def _asked(self, specialize: Specialize) -> list[_Key]:
        """Return every combination of the requested sizes; raises PipelineError unless each symbol has one."""
        if not specialize:
            return []
        check_symbols("specialize", self.symbols, specialize)
        numbers = [[size] if isinstance(size := specialize[name], int) else list(size) for name in self.symbols]
        return list(product(*numbers))

    def forked(self) -> None:
        """Start afresh in a forked process, and request the unfinished programs again."""
        before = self._state.special
        self._state = _State(special=before)
        for special in before.values():
            special.refused = False

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no program is being made; return False if `seconds` passed before."""
        worker = self._state.worker
        if worker is not None:
            worker.join(seconds)
        return self._state.worker is None

    def why(self, kernel: str | int, line: int | None = None) -> Why:
        """Answer like `Executable.why` for the program of the last call, or before any call for that for all sizes."""
        return super().why(kernel, line) if self._ran is None else self._ran.why(kernel, line)

    def report(self) -> str:
        """Return a line for each program, with a mark at the one that the last call ran."""
        sizes = ", ".join(self.symbols)
        mark = "  <- last call" if self._ran is None else ""
        lines = [f"for every {sizes}: {len(self.kernels)} kernels{mark}"]
        with self._state.lock:
            special = list(self._state.special.items())
        for key, entry in special:
            values = ", ".join(f"{name} = {value}" for name, value in zip(self.symbols, key, strict=True))
            mark = "  <- last call" if entry.program is self._ran else ""
            if entry.program is not None:
                lines.append(f"for {values}: {len(entry.program.kernels)} kernels, {entry.calls} calls{mark}")
            elif entry.problem:
                lines.append(f"for {values}: no program of their own: {entry.problem}")
        return "\n".join([*lines, *self.choice.notes])


_COUNTED = 1024
"""The largest number of sizes whose calls are counted."""
_compiling = threading.Lock()
"""At most one compilation beside calls at a time, among all executables."""
_SWITCH = 0.0005
"""Seconds after which a thread that compiles lets go of the interpreter for one that waits."""


@contextmanager
def _quick_switches() -> Generator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


_executables: WeakSet[SizedExecutable] = WeakSet()


def _forked() -> None:
    """Reset, in a forked process, the state of threads that it does not have."""
    global _compiling
    _compiling = threading.Lock()
    for executable in _executables:
        executable.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
