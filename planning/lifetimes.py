"""The input of a memory plan: the kernel calls of a program, and from when to when each buffer lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, NamedTuple, TypeVar

from xdsl.dialects.builtin import LocationAttr, UnknownLoc

from ..dialects.sizes import Size
from ..runtime.values.tensors import ALIGNMENT

_UNKNOWN = UnknownLoc()


SizeT = TypeVar("SizeT", bound=Size)


@dataclass(frozen=True)
class Step(Generic[SizeT]):
    """A kernel call: the buffers it reads, the buffers it writes with their sizes, its scratch. Sizes in bytes."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, SizeT], ...]
    workspace: SizeT | int = 0
    name: str = ""
    location: LocationAttr = _UNKNOWN


def last_uses(steps: Sequence[Step[SizeT]]) -> dict[int, int]:
    """Return the last step that reads each written buffer; if no step reads it, the step that writes it.

    Raises ValueError when a buffer is written twice.
    """
    last: dict[int, int] = {}
    for index, step in enumerate(steps):
        for buffer, _ in step.outputs:
            if buffer in last:
                raise ValueError(f"plan: expected each buffer to be written once, got {buffer} again in step {index}")
            last[buffer] = index
        last.update((buffer, index) for buffer in step.inputs if buffer in last)
    return last


class Life(NamedTuple):
    """Something that wants `size` bytes from step `first` to step `last`: a buffer, or the workspace of a step."""

    first: int
    last: int
    size: int
    """In bytes; a multiple of 64."""
    buffer: int | None
    """None for a workspace."""


@dataclass(frozen=True)
class Lifetimes:
    """The buffers and workspaces that have a place in the arena, by first step; a step's workspace comes last."""

    steps: tuple[Step[int], ...]
    lives: tuple[Life, ...]

    @staticmethod
    def of(steps: Sequence[Step[int]], outside: Set[int] = frozenset()) -> Lifetimes:
        """The lives of what `steps` write, except the buffers `outside` the arena (say, outputs of the program).

        A buffer lives from the step that writes it to the last step that reads it; one never read lives for its step.
        Inputs that no step writes have no place. Raises ValueError when a buffer is written twice.
        """
        dies = last_uses(steps)
        lives: list[Life] = []
        for index, step in enumerate(steps):
            lives += [
                Life(index, dies[buffer], _rounded(size), buffer)
                for buffer, size in step.outputs
                if buffer not in outside
            ]
            if step.workspace:
                lives.append(Life(index, index, _rounded(step.workspace), None))
        return Lifetimes(tuple(steps), tuple(lives))

    def live(self) -> list[int]:
        """Per step the bytes that live then."""
        return self._sums((life, life.size) for life in self.lives)

    def comparisons(self) -> int:
        """Return the number of pairs of lives that meet, once per step: the cost of comparing each with all others."""
        return sum(count * count for count in self._sums((life, 1) for life in self.lives if life.size))

    def at(self, step: int) -> list[Life]:
        """Return the buffers that live at a step."""
        return [life for life in self.lives if life.first <= step <= life.last]

    def _sums(self, weights: Iterable[tuple[Life, int]]) -> list[int]:
        changes = [0] * (len(self.steps) + 1)
        for life, weight in weights:
            changes[life.first] += weight
            changes[life.last + 1] -= weight
        return list(accumulate(changes))[:-1]


class PoolUse(NamedTuple):
    """The use that a plan makes of a pool of memory."""

    name: str
    used_bytes: int
    size_hint_bytes: int
    """Its size; -1 when it grows as needed."""


@dataclass(frozen=True)
class Plan:
    """Byte offsets into an arena of `arena_bytes`, all multiples of 64."""

    offsets: dict[int, int]
    """Buffer id -> offset."""
    workspaces: tuple[int, ...]
    """Per step; -1 for a step without workspace."""
    arena_bytes: int
    peak_bytes: int
    """The most bytes that live at once: no plan can be smaller."""
    algorithm: str
    """The algorithm that made it."""
    pools: tuple[PoolUse, ...]
    """They lie in the arena one after the other."""

    @staticmethod
    def of(
        lifetimes: Lifetimes, offsets: Sequence[int], algorithm: str, pools: Sequence[PoolUse] | None = None
    ) -> Plan:
        """The plan that puts each life at its offset; one pool of any size unless `pools` says otherwise."""
        workspaces = [-1] * len(lifetimes.steps)
        placed: dict[int, int] = {}
        used = 0
        for life, offset in zip(lifetimes.lives, offsets, strict=True):
            used = max(used, offset + life.size)
            if life.buffer is None:
                workspaces[life.first] = offset
            else:
                placed[life.buffer] = offset
        parts = tuple(pools) if pools is not None else (PoolUse(DEFAULT_POOL, used, -1),)
        return Plan(placed, tuple(workspaces), used, max(lifetimes.live(), default=0), algorithm, parts)


DEFAULT_POOL = "global_workspace"
"""TVM's name of the pool of those who ask for none."""


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
