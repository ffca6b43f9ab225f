"""The ledger: per pass, what was created, changed and removed, by which pattern and why.

It answers "why is this here?" (`Ledger.history` of an op) and "where did it go?" (`Ledger.fate` of a layer). Ops are
told by their numbers, which say which op it was, whatever its name and location. Whoever wants a ledger opens a
`recording` scope around the passes; the rewrite driver writes into the innermost open one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Operation, SSAValue

from ..support.names import shown
from .numbers import OpNumber, Value, ValueMove, number_of, numbered
from .span import Caller, leaves
from .walk import walk

OpT = TypeVar("OpT", bound=Operation)
LayerValue: TypeAlias = tuple[LocationAttr, int]
"""The leaf of a layer, and which of the tensors that it gives."""


class LayerFacts(NamedTuple):
    """The parts of a layer in its source."""

    inputs: tuple[tuple[str, LocationAttr, str], ...]
    """The role (`filter`; "" for none), the leaf and the name of each input."""
    outputs: tuple[str, ...]
    """The names of its outputs."""
    attributes: tuple[tuple[str, str], ...]
    """Its attributes, but those that have their defaults."""


class Entry(NamedTuple):
    """An event: `pattern` of `pass_name` turned ops with the locations `before` into ops with `after`."""

    pass_name: str
    pattern: str
    reason: str
    removed: tuple[str, ...]
    """Names of the ops that went."""
    created: tuple[str, ...]
    """Names of the ops that came."""
    before: tuple[LocationAttr, ...]
    after: tuple[LocationAttr, ...]
    sources: tuple[OpNumber, ...] = ()
    """Numbers of the ops whose work went on: those that went, changed or died of it."""
    targets: tuple[OpNumber, ...] = ()
    """Numbers of the ops that came, and of those that changed."""
    moves: tuple[ValueMove, ...] = ()
    """The moves of values, in order."""

    def __str__(self) -> str:
        gone = ", ".join(self.removed) or "nothing"
        came = ", ".join(self.created)
        if came:
            effect = f"{gone} -> {came}"
        elif not self.removed:
            effect = "changed in place"
        else:
            effect = f"{gone} absorbed" if self.after else f"{gone} removed"
        reason = f" ({self.reason})" if self.reason else ""
        return shown(f"{self.pass_name}: {self.pattern or '(unknown)'}: {effect}{reason}")


class _Index:
    """Layer, or op -> entries, so that a question costs what its answer costs. Layers are numbered for the purpose."""

    def __init__(self) -> None:
        self.size = 0
        """The number of entries that are indexed."""
        self.numbers: dict[LocationAttr, int] = {}
        self.known: dict[int, tuple[LocationAttr, tuple[int, ...]]] = {}
        self.before: dict[int, list[int]] = {}
        self.makers: dict[int, list[int]] = {}
        self.explained: set[int] = set()

    def layers(self, location: LocationAttr) -> tuple[int, ...]:
        """The numbers of the leaves of a location."""
        hit = self.known.get(id(location))
        if hit is None:
            numbers = tuple(self.numbers.setdefault(leaf, len(self.numbers)) for leaf in leaves(location))
            # Holding the location keeps its identity from being reused.
            hit = self.known[id(location)] = (location, numbers)
        return hit[1]

    def extend(self, entries: list[Entry]) -> None:
        for position in range(self.size, len(entries)):
            entry = entries[position]
            gone = {layer for location in entry.before for layer in self.layers(location)}
            for layer in gone:
                self.before.setdefault(layer, []).append(position)
            if entry.removed:
                self.explained |= gone
            for number in entry.targets:
                self.makers.setdefault(number, []).append(position)
        self.size = len(entries)


def _with_contents(ops: Iterable[Operation]) -> Iterable[Operation]:
    """Ops and all that stands in them, each once."""
    met: dict[int, Operation] = {}
    for op in ops:
        if not op.regions:
            met[id(op)] = op
        elif id(op) not in met:
            met.update((id(inner), inner) for inner in walk(op))
    return met.values()


def _no_entries() -> list[Entry]:
    return []


@dataclass
class Ledger:
    """The entries of one compilation, in order; they are only ever added."""

    entries: list[Entry] = field(default_factory=_no_entries)
    pass_name: str = ""
    """The pass that runs now."""
    op_types: dict[LocationAttr, str] = field(default_factory=lambda: dict[LocationAttr, str]())
    """Leaf of a layer -> what its source calls the operator: `Conv`. Text says nothing of the kind."""
    modules: dict[LocationAttr, str] = field(default_factory=lambda: dict[LocationAttr, str]())
    """Leaf of a layer -> the path of the module it is of in the program that was exported: `layer1.0.conv`."""
    facts: dict[LocationAttr, LayerFacts] = field(default_factory=lambda: dict[LocationAttr, LayerFacts]())
    """Leaf of a layer -> what its source says of it."""
    aliases: dict[str, dict[LocationAttr, None]] = field(default_factory=lambda: dict[str, dict[LocationAttr, None]]())
    """The source's name of a tensor -> its leaves: its layer, or for a weight one per layer that reads it."""
    code: dict[Caller, str] = field(default_factory=lambda: dict[Caller, str]())
    """File and line of a program -> the text of the line, where the model has it."""
    gives: dict[LayerValue, Value] = field(default_factory=lambda: dict[LayerValue, Value]())
    """The values of layers as they were imported, where the source says which tensors a layer gives."""
    copies: dict[OpNumber, tuple[OpNumber, int]] = field(default_factory=lambda: dict[int, tuple[int, int]]())
    """A copy of an op -> the original, and the number of entries when it was copied: what came before made both."""
    _lookup: _Index = field(default_factory=_Index, init=False, repr=False, compare=False)

    def record(
        self,
        pattern: str,
        *,
        removed: Iterable[Operation] = (),
        created: Iterable[Operation] = (),
        changed: Iterable[Operation] = (),
        died: Iterable[Operation] = (),
        before: Iterable[LocationAttr] | None = None,
        after: Iterable[LocationAttr] | None = None,
        moves: Iterable[ValueMove] = (),
        reason: str = "",
    ) -> None:
        """Add the event that `pattern` of the pass that runs now brought about.

        changed: ops that were there before, and do other or more work now. died: those that nobody reads any more.
        before, after: the locations of all these as they were, and of what came or changed as it is; by default as the
        ops have them now. moves: what became of values.
        """
        gone, came, kept, dead = list(removed), list(created), list(changed), list(died)
        sources = [number_of(op) for op in _with_contents((*gone, *dead))]
        # Ops inside a new op are new as well, unless they are known from elsewhere.
        new = set(map(id, came))
        new_ops = [op for op in _with_contents(came) if id(op) in new or not numbered(op)]
        self.entries.append(
            Entry(
                pass_name=self.pass_name,
                pattern=pattern,
                reason=reason,
                removed=tuple(op.name for op in gone),
                created=tuple(op.name for op in came),
                before=tuple(op.location for op in (*gone, *kept, *dead)) if before is None else tuple(before),
                after=tuple(op.location for op in came or kept) if after is None else tuple(after),
                sources=tuple(sources),
                targets=tuple(number_of(op) for op in (*new_ops, *kept)),
                moves=tuple(moves),
            )
        )

    def note(
        self,
        pattern: str,
        *,
        removed: Iterable[str] = (),
        before: Iterable[LocationAttr] = (),
        after: Iterable[LocationAttr] = (),
        reason: str = "",
    ) -> None:
        """Add an event without ops of ours: `removed` are names of operators of a source, or of ops that are gone."""
        self.entries.append(
            Entry(
                pass_name=self.pass_name,
                pattern=pattern,
                reason=reason,
                removed=tuple(removed),
                created=(),
                before=tuple(before),
                after=tuple(after),
            )
        )

    def alias(self, name: str, leaf: LocationAttr) -> None:
        """Say that the source calls a tensor so; of a weight `leaf` is its own, else that of its layer."""
        if not isinstance(leaf, UnknownLoc):
            self.aliases.setdefault(name, {})[leaf] = None

    def copied(self, original: Operation, copy: Operation) -> None:
        """Say that `copy` was made as it is of `original`: it has the same history."""
        self.copies[number_of(copy)] = number_of(original), len(self.entries)

    def go_on(self, other: Ledger) -> None:
        """Add what another ledger tells of the time after this one."""
        earlier = len(self.entries)
        self.entries += other.entries
        self.copies |= {copy: (op, earlier + position) for copy, (op, position) in other.copies.items()}
        self.op_types |= other.op_types
        self.modules |= other.modules
        self.facts |= other.facts
        self.code |= other.code
        for name, tensors in other.aliases.items():
            self.aliases.setdefault(name, {}).update(tensors)
        self.gives |= other.gives

    def history(self, number: int) -> list[Entry]:
        """The events that made the op of a number, and what it was made of, in order."""
        index = self._index()
        limits: dict[int, int] = {}
        """Op -> the number of entries that may have made it."""
        makers: set[int] = set()
        waiting = [(number, len(self.entries))]
        while waiting:
            op, limit = waiting.pop()
            if limits.get(op, -1) >= limit:
                continue
            limits[op] = limit
            if op in self.copies:
                original, copied_at = self.copies[op]
                waiting.append((original, min(limit, copied_at)))
            for position in index.makers.get(op, ()):
                if position < limit:
                    makers.add(position)
                    waiting += [(source, position) for source in self.entries[position].sources]
        return [self.entries[position] for position in sorted(makers)]

    def fate(self, leaf: LocationAttr) -> list[Entry]:
        """The events that touched a layer, in order: what was folded, merged or dropped, and into what."""
        index = self._index()
        places = sorted({position for layer in index.layers(leaf) for position in index.before.get(layer, ())})
        return [self.entries[position] for position in places]

    def explained(self) -> set[LocationAttr]:
        """The leaves whose ops some entry removed."""
        index = self._index()
        return {leaf for leaf, number in index.numbers.items() if number in index.explained}

    def _index(self) -> _Index:
        self._lookup.extend(self.entries)
        return self._lookup


def note_copy(original: Operation, copy: Operation) -> None:
    """Tell the open ledger that an op has been copied, as it is."""
    if (ledger := current_ledger()) is not None:
        ledger.copied(original, copy)


def clone_of(op: OpT, values: dict[SSAValue, SSAValue] | None = None) -> OpT:
    """Return a clone of `op`, which has the history of the original in the open ledger.

    values: as `Operation.clone` takes and extends it.
    """
    copy = op.clone(values)
    for original, twin in zip(walk(op), walk(copy), strict=True):
        note_copy(original, twin)
    return copy


_current: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


def current_ledger() -> Ledger | None:
    """The ledger of the innermost `recording` scope."""
    return _current.get()


@contextmanager
def recording(ledger: Ledger, pass_name: str) -> Generator[Ledger]:
    """Within this scope the driver records into `ledger` under the name `pass_name`."""
    previous, ledger.pass_name = ledger.pass_name, pass_name
    token = _current.set(ledger)
    try:
        yield ledger
    finally:
        _current.reset(token)
        ledger.pass_name = previous
