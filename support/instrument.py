"""Pass instruments, TVM's way to look at passes: an object whose methods are called around each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar, overload

ClassT = TypeVar("ClassT", bound=type[Any])


@dataclass(frozen=True)
class PassInfo:
    """The facts about a pass that an instrument gets."""

    name: str
    """The name in the text form of pipelines: `relay-fuse-ops`."""
    tvm_name: str = ""
    """TVM's name of the pass, "" where it has none: `FuseOps`."""
    opt_level: int = 0
    """The opt level from which on it runs."""
    seconds: float = 0.0
    """The time it took; 0 before it ran."""
    required: tuple[str, ...] = ()
    """The names of the passes that a `Sequential` runs before it."""
    write: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    """Returns what `str` makes the pass with its options, in the text form of pipelines, of."""

    @property
    def spec(self) -> str:
        """The pass with its options, in the text form of pipelines; its name alone where they have no text."""
        try:
            return str(self.write()) if self.write is not None else self.name
        except TypeError:
            return self.name

    def __str__(self) -> str:
        needs = ", ".join(self.required)
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
            f"required passes: [{needs}]"
        )


class PassInstrument:
    """Base class of instruments: override what is of interest.

    Given to `PassContext(instruments=[..])`, it is called around every pass that runs within the context's scope. `mod`
    is what the pass runs on: a module, or the one kernel in hand when a tir pass runs on the way to machine code. Where
    passes are called on a `relay.IRModule`, an instrument of yours gets one.
    """

    every_kernel = False
    """True to see kernels whose machine code is in the cache, too: they are lowered again, unless it `knows` them."""

    def knows(self, kernel: object) -> bool:
        """Return whether this instrument need not see a kernel of the cache; asked where it is to see every kernel."""
        return False

    def enter_pass_ctx(self) -> None:
        """The scope of its PassContext begins."""

    def exit_pass_ctx(self) -> None:
        """The scope ends, be it by an error."""

    def should_run(self, mod: object, info: PassInfo) -> bool:
        """Return whether the pass runs, as far as this instrument goes; not asked about passes that are required."""
        return True

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        """The pass is about to run."""

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        """The pass ran; `info.seconds` says for how long. Not called when it failed."""


@overload
def pass_instrument(cls: ClassT) -> ClassT: ...
@overload
def pass_instrument(cls: None = None) -> Callable[[ClassT], ClassT]: ...
def pass_instrument(cls: Any = None) -> Any:
    """A class decorator: what the class does not define of a PassInstrument it gets from there.

    >>> @pass_instrument
    ... class Names:
    ...     def run_before_pass(self, mod, info):
    ...         print(info.name)
    """

    def made(kind: type[Any]) -> type[Any]:
        if issubclass(kind, PassInstrument):
            return kind
        about = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__qualname__": kind.__qualname__}
        return type(kind.__name__, (kind, PassInstrument), about)

    return made if cls is None else made(cls)


@dataclass(eq=False)
class _Profile:
    """A pass that ran, and the passes that it ran."""

    name: str
    start: float = 0.0
    seconds: float = 0.0
    inner: list[_Profile] = field(default_factory=lambda: list[_Profile]())


class PassTimingInstrument(PassInstrument):
    """Takes the time of passes; `render` tells it, within the scope or before the next one begins.

    TVM's form, a line per pass, one tab deeper for what a pass ran itself: microseconds in all, in brackets without
    those passes, and the percentage of everything and of the pass around.
    """

    def __init__(self) -> None:
        self._root = _Profile("root")
        self._running: list[_Profile] = []

    def enter_pass_ctx(self) -> None:
        self._root, self._running = _Profile("root"), []

    def exit_pass_ctx(self) -> None:
        self._root, self._running = _Profile("root"), []

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        around = self._running[-1] if self._running else self._root
        profile = _Profile(info.name, perf_counter())
        around.inner.append(profile)
        self._running.append(profile)

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        profile = self._running.pop()
        profile.seconds = perf_counter() - profile.start

    def render(self) -> str:
        """The table; "" when no pass ran."""
        total = sum(profile.seconds for profile in self._root.inner) or 1.0
        lines: list[str] = []
        stack = [(0, total, profile) for profile in reversed(self._root.inner)]
        while stack:
            depth, around, profile = stack.pop()
            own = profile.seconds - sum(inner.seconds for inner in profile.inner)
            shares = f"{profile.seconds / total:.2%}; {profile.seconds / (around or 1.0):.2%}"
            indent = "\t" * depth
            lines.append(f"{indent}{profile.name}: {1e6 * profile.seconds:.0f}us [{1e6 * own:.0f}us] ({shares})\n")
            stack += [(depth + 1, profile.seconds, inner) for inner in reversed(profile.inner)]
        return "".join(lines)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        print("Before Running Pass:", info)
        print(mod)


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        print("After Running Pass:", info)
        print(mod)
