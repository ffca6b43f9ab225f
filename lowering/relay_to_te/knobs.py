"""Knobs: the choices of a schedule function, what may be chosen together, and what that would cost.

A schedule function asks for a number where it could do with others, and says which:

    height = work.knob("rows", range(1, 15), default, legal=lambda at: (at["rows"] + 1) * vectors < registers)
    work.cost(lambda at: Cost(products=.., loads=..))

The default is what a rule says. The space of a kernel is all that may be decided together; a search ranks its points
with the formulas, for all of them at once: `at` holds arrays then. Only what is measured is scheduled.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...provenance.diagnostics import message
from ...support.errors import ScheduleError
from ...support.machine import Machine
from .cost import Cost, Rates

Decisions: TypeAlias = Mapping[str, int]
"""Knob -> the number that is chosen; what is not named has its default."""
Values: TypeAlias = Mapping[str, Any]
"""Knob, by the name that its schedule function gave it -> its number, or an array with that of each point."""
Legal: TypeAlias = Callable[[Values], Any]
"""Decides whether numbers may be chosen together, by arithmetic and comparisons, which take arrays like numbers."""
Formula: TypeAlias = Callable[[Values], Cost]
"""The cost of what a schedule function makes, of numbers or arrays."""

_MOST = 1 << 15
"""Points of a space that are looked at; of more, a sample."""


@dataclass(frozen=True)
class Names:
    """The names by which a schedule function knows knobs."""

    knobs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its name -> that in the kernel."""
    fixed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Its name -> the one number that there is."""

    def seen(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a kernel's knobs, and the fixed numbers, by the names of the function's."""
        return {**self.fixed, **{mine: values[name] for mine, name in self.knobs.items()}}


@dataclass(frozen=True)
class Knob:
    """A choice of a schedule function."""

    name: str
    """The name, unique in the kernel."""
    candidates: tuple[int, ...]
    """In increasing order."""
    default: int
    legal: Legal | None = None
    names: Names = field(default_factory=Names)
    """The names of its knobs, and of those before it in its function."""

    def allows(self, values: Mapping[str, Any]) -> Any:
        """Return whether numbers of a kernel's knobs, or arrays of them, go together as far as this one knows."""
        return True if self.legal is None else self.legal(self.names.seen(values))


class Points:
    """Some points of a space: an array of numbers for each knob, all of one length; point 0 is the default."""

    def __init__(self, space: Space, columns: Mapping[str, npt.NDArray[np.int64]]):
        self.space = space
        self.columns = dict(columns)

    def __len__(self) -> int:
        return next((len(column) for column in self.columns.values()), 1)

    def decisions(self, point: int) -> dict[str, int]:
        """Return the decisions that are other than by default at a point."""
        chosen = {name: int(column[point]) for name, column in self.columns.items()}
        return {knob.name: chosen[knob.name] for knob in self.space.knobs if chosen[knob.name] != knob.default}

    def costs(self, rates: Rates) -> npt.NDArray[np.float64]:
        """Return the estimated seconds of a call at each point; zeros where no formula says anything."""
        numbers = {name: column.astype(np.float64) for name, column in self.columns.items()}
        return sum(
            (
                np.broadcast_to(formula(names.seen(numbers)).seconds(rates), len(self))
                for formula, names in self.space.formulas
            ),
            np.zeros(len(self)),
        )


@dataclass(frozen=True)
class Space:
    """The knobs of a kernel."""

    knobs: tuple[Knob, ...]
    formulas: tuple[tuple[Formula, Names], ...] = ()
    """Costs, each with the names by which its function knows knobs."""

    @property
    def size(self) -> int:
        """The number of combinations, illegal ones included."""
        return prod(len(knob.candidates) for knob in self.knobs)

    @property
    def text(self) -> str:
        """The knobs as text; `rows in [4, 6, 8], 8`, a line for each."""
        return "\n".join(f"{knob.name} in {list(knob.candidates)}, {knob.default}" for knob in self.knobs)

    @property
    def key(self) -> str:
        """A hash (hex sha256) of the knobs, their candidates and defaults: decisions are for such a space only."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def points(self, seed: int = 0) -> Points:
        """The legal points of the space; of a large one those next to the default, and a random sample of others."""
        if not self.knobs:
            return Points(self, {})
        sizes = [len(knob.candidates) for knob in self.knobs]
        defaults = np.array([knob.candidates.index(knob.default) for knob in self.knobs])
        if self.size <= _MOST:
            grid = np.indices(sizes).reshape(len(sizes), -1).T
        else:
            rng = np.random.default_rng(seed)
            neighbours = [
                [*defaults[:at], number, *defaults[at + 1 :]] for at, size in enumerate(sizes) for number in range(size)
            ]
            grid = np.concatenate([neighbours, rng.integers(0, sizes, (_MOST, len(sizes)))])
        grid = np.concatenate([defaults[None], grid])
        _, first = np.unique(grid, axis=0, return_index=True)
        grid = grid[np.sort(first)]
        columns = {knob.name: np.array(knob.candidates, np.int64)[grid[:, at]] for at, knob in enumerate(self.knobs)}
        keep = np.ones(len(grid), bool)
        for knob in self.knobs:
            keep &= np.asarray(knob.allows(columns), bool)
        keep[0] = True
        return Points(self, {name: column[keep] for name, column in columns.items()})


def decisions_of(text: str) -> dict[str, int]:
    """The decisions of a text, `rows=4,vectors=2`. Raises ScheduleError for another one."""
    decisions: dict[str, int] = {}
    for word in filter(None, (word.strip() for word in text.split(","))):
        name, _, number = (part.strip() for part in word.partition("="))
        if not name or not re.fullmatch(r"-?\d+", number):
            raise ScheduleError(message("decisions", "knobs and numbers, such as rows=4,vectors=2", repr(word)))
        decisions[name] = int(number)
    return decisions


class Knobs:
    """The knobs that a kernel's schedule functions ask for, and the numbers that are decided.

    decisions: by the names of the kernel's knobs; the others have their defaults.
    """

    def __init__(self, decisions: Decisions, machine: Machine):
        self.machine = machine
        self._decisions = dict(decisions)
        self._knobs: dict[str, Knob] = {}
        self._chosen: dict[str, int] = {}
        self._scope: dict[str, str] = {}
        self._fixed: dict[str, int] = {}
        self._stage = ""
        self._formulas: list[tuple[Formula, Names]] = []

    def enter(self, stage: str) -> None:
        """Begin the schedule of a stage: knobs of names that others have, too, are `name.stage` from here on."""
        self._stage, self._scope, self._fixed = stage, {}, {}

    def ask(self, name: str, candidates: Sequence[int], default: int, legal: Legal | None) -> tuple[Knob, int]:
        """Return a knob and what is decided. Raises ScheduleError for a decision that is none of the candidates."""
        full = name if name not in self._knobs else f"{name}.{self._stage}"
        if full in self._knobs:
            raise ScheduleError(message(f"knob '{name}'", "one of its name in a stage's schedule", "a second one"))
        self._scope[name] = full
        knob = Knob(full, tuple(sorted({*candidates, default})), default, legal, self._names())
        decision = self._decisions.get(full, default)
        if decision not in knob.candidates:
            raise ScheduleError(message(f"knob '{full}'", f"one of {list(knob.candidates)}", str(decision)))
        self._knobs[full], self._chosen[full] = knob, decision
        return knob, decision

    def fix(self, name: str, number: int) -> None:
        """Let a name stand for the one number that it may be, in what is legal and in costs."""
        self._fixed[name] = number

    def add_cost(self, formula: Formula) -> None:
        """Note what the stage's schedule costs, by the names of the knobs that it asked for."""
        self._formulas.append((formula, self._names()))

    def _names(self) -> Names:
        return Names(dict(self._scope), dict(self._fixed))

    def check(self) -> None:
        """Raise ScheduleError for decisions that no knob asked for, and for some that do not go together."""
        if strange := sorted(self._decisions.keys() - self._knobs.keys()):
            names = ", ".join(self._knobs) or "none"
            raise ScheduleError(message("decisions", f"knobs of the schedule ({names})", ", ".join(strange)))
        for knob in self._knobs.values():
            together = knob.names.knobs.values()
            changed = any(self._chosen[name] != self._knobs[name].default for name in together)
            if changed and not knob.allows(self._chosen):
                numbers = ", ".join(f"{name} = {self._chosen[name]}" for name in together)
                raise ScheduleError(message(f"knob '{knob.name}'", "numbers that go together", numbers))

    def space(self) -> Space:
        """Return the space: all candidates of the knobs asked for."""
        return Space(tuple(self._knobs.values()), tuple(self._formulas))
