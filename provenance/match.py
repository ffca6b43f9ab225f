"""A match of a pattern: the ops that it inserted, replaced, changed and erased, and the ops that new ones stand for."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from .builder import fill, locate_arguments
from .contents import arguments_in
from .dce import is_trivially_dead_when_unused
from .ledger import Ledger, current_ledger
from .moving import Moved, moved_value
from .numbers import ValueMove, number_of, value_of
from .span import fuse

_DEAD_OPERANDS_LIMIT = 256


@dataclass(eq=False, slots=True)
class _Erased:
    """An op that a match erased; only its identity, name and location outlive it."""

    op: Operation
    location: LocationAttr
    operands: tuple[SSAValue, ...]
    nested: list[LocationAttr]
    """Locations of the ops that stood in it and went with it."""
    moved: Moved | None = None
    """The operand that was its result, if it only moved elements."""


@dataclass(eq=False, slots=True)
class _Replacement:
    """A replaced op, and the replacements of its results."""

    op: Operation
    values: tuple[SSAValue | None, ...]
    users: tuple[Operation, ...]
    """The readers of its results before."""
    twin: bool
    """True if the op whose results take its place computes the same."""


@dataclass(eq=False)
class _Group:
    """A replaced op, what only it consumed, and the inserted ops that stand for all that."""

    consumed: list[_Erased]
    """The replaced op first, then the erased ops that it read."""
    died: list[Operation]
    """Ops that only they read, pre-order."""
    made: list[Operation] = field(default_factory=lambda: list[Operation]())

    @property
    def before(self) -> list[LocationAttr]:
        return [*(erased.location for erased in self.consumed), *(op.location for op in self.died)]

    @cached_property
    def location(self) -> LocationAttr:
        return fuse(self.before)


def _computes_the_same(op: Operation, other: Operation) -> bool:
    return (
        type(op) is type(other)
        and not op.regions
        and tuple(op.operands) == tuple(other.operands)
        and op.properties == other.properties
        and op.attributes == other.attributes
        and op.result_types == other.result_types
    )


def _unique(items: Iterable[Operation | Block]) -> tuple[Operation, ...]:
    """The ops among `items`, each once."""
    return tuple({id(op): op for op in items if isinstance(op, Operation)}.values())


@dataclass(eq=False, slots=True)
class Match:
    """The events of one match so far. Ops are keyed by identity, in the order of the events."""

    inserted: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    came_before: dict[int, int] = field(default_factory=lambda: dict[int, int]())
    """Inserted op -> the number of the replacement that comes next."""
    modified: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    erased: dict[int, _Erased] = field(default_factory=lambda: dict[int, _Erased]())
    replaced: list[_Replacement] = field(default_factory=lambda: list[_Replacement]())
    renamed: dict[SSAValue, SSAValue] = field(default_factory=lambda: dict[SSAValue, SSAValue]())
    """Results of inserted ops that the match itself replaced again."""
    claimed: dict[Operation, tuple[Operation, ...]] = field(
        default_factory=lambda: dict[Operation, tuple[Operation, ...]]()
    )
    """Inserted op -> the old ops that the pattern itself says it stands for."""
    revalued: list[Operation] = field(default_factory=lambda: list[Operation]())
    """Old ops whose results have another value afterwards, or none, as the pattern says."""
    replacing: bool = False
    nested: frozenset[int] = frozenset()
    """The ops inside the root when the match began (an `if` and the like only)."""
    arguments: dict[int, list[LocationAttr]] = field(default_factory=lambda: dict[int, list[LocationAttr]]())
    """The root -> where the arguments of the blocks in it came from when the match began."""

    # Events

    def begin(self, root: Operation) -> None:
        if root.results:
            inside = list(root.walk())
            self.nested = frozenset(map(id, inside))
            self.arguments = {id(root): [a.location for op in inside for a in arguments_in(op)]}

    def on_insertion(self, op: Operation) -> None:
        self.inserted[id(op)] = op
        self.came_before[id(op)] = len(self.replaced)

    def on_modification(self, op: Operation) -> None:
        # Users of a replaced value change without taking over any work.
        if not self.replacing:
            self.modified[id(op)] = op

    def on_replacement(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        self.replacing = True
        if id(op) in self.inserted:
            self.renamed.update((old, new) for old, new in zip(op.results, new_results, strict=True) if new is not None)
            return
        users = _unique(use.operation for result in op.results for use in result.uses)
        self.replaced.append(_Replacement(op, tuple(new_results), users, self._is_twin(op, new_results)))

    def _is_twin(self, op: Operation, new_results: Sequence[SSAValue | None]) -> bool:
        owner = new_results[0].owner if new_results and new_results[0] is not None else None
        if not isinstance(owner, Operation) or id(owner) in self.inserted or type(owner) is not type(op):
            return False
        return tuple(new_results) == tuple(owner.results) and _computes_the_same(op, owner)

    def on_removal(self, op: Operation) -> None:
        self.replacing = False
        if self.inserted.pop(id(op), None) is None:
            nested = list(self.arguments.get(id(op), ()))
            for inner in op.walk() if op.regions else ():
                nested += [inner.location] if inner is not op else []
                nested += [argument.location for argument in arguments_in(inner)]
            self.erased[id(op)] = _Erased(op, op.location, tuple(op.operands), nested, moved_value(op))

    def clear(self) -> None:
        self.inserted.clear()
        self.came_before.clear()
        self.modified.clear()
        self.erased.clear()
        self.replaced.clear()
        self.renamed.clear()
        self.claimed.clear()
        self.revalued.clear()
        self.replacing = False

    # The consumers of erased ops

    def _died(self, erased: Iterable[_Erased]) -> dict[int, Operation]:
        """Operands' owners that only these erased ops used, pre-order."""
        dead: dict[int, Operation] = {}
        stack = [value for gone in reversed(list(erased)) for value in reversed(gone.operands)]
        while stack and len(dead) < _DEAD_OPERANDS_LIMIT:
            value = stack.pop()
            if (use := value.first_use) is not None and id(use.operation) not in dead:
                continue  # the usual case, told apart without a look at all users
            owner = value.owner
            key = id(owner)
            if not isinstance(owner, Operation) or key in dead or key in self.inserted or owner.parent is None:
                continue
            users = (use.operation for result in owner.results for use in result.uses)
            if all(id(user) in dead for user in users) and is_trivially_dead_when_unused(owner):
                dead[key] = owner
                stack.extend(reversed(owner.operands))
        return dead

    def _consumed(self, first: _Erased, own: Container[int], before: dict[int, list[Operation]]) -> list[_Erased]:
        """`first` and the erased ops that it read, or that those read; ops in `own` are replaced by ops of their own.

        before: what an op read until the match replaced that.
        """
        reached = {id(first.op): first}
        stack = [first]
        while stack:
            current = stack.pop()
            read = [*before.get(id(current.op), ()), *(value.owner for value in current.operands)]
            for owner in read:
                key = id(owner)
                if key in self.erased and key not in own and key not in reached:
                    reached[key] = self.erased[key]
                    stack.append(reached[key])
        return list(reached.values())

    # Which new op stands for what

    def _owners(self, replacement: _Replacement) -> Iterator[Operation]:
        """The inserted ops whose results took the place of the replaced op's."""
        for value in replacement.values:
            while value is not None and value in self.renamed:
                value = self.renamed[value]
            if value is not None and isinstance(owner := value.owner, Operation) and id(owner) in self.inserted:
                yield owner

    def _anchors(self) -> dict[int, dict[int, Operation]]:
        """Inserted op -> the old ops that it stands for directly.

        It computes their results; or it computes nothing for anybody, and came with their replacement; or the pattern
        says so.
        """
        anchors: dict[int, dict[int, Operation]] = {}
        for replacement in self.replaced:
            for owner in self._owners(replacement):
                anchors.setdefault(id(owner), {})[id(replacement.op)] = replacement.op
        for key, op in self.inserted.items():
            number = self.came_before[key]
            if op in self.claimed:
                anchors[key] = {id(old): old for old in self.claimed[op]}
            elif key not in anchors and number < len(self.replaced) and not any(r.uses for r in op.results):
                replaced = self.replaced[number].op
                anchors[key] = {id(replaced): replaced}
        return anchors

    def _feeding(self, anchors: dict[int, dict[int, Operation]]) -> dict[int, set[int]]:
        """Inserted op -> the old ops that it serves, through other inserted ops."""
        serves = {key: set(old) for key, old in anchors.items()}
        stack = [self.inserted[key] for key in anchors]
        while stack:
            op = stack.pop()
            served = serves[id(op)]
            for inner in op.walk() if op.regions else (op,):
                for value in inner.operands:
                    owner = value.owner
                    key = id(owner)
                    if key in self.inserted and key not in anchors and isinstance(owner, Operation):
                        mine = serves.setdefault(key, set())
                        if not mine >= served:
                            mine |= served
                            stack.append(owner)
        return serves

    def _groups(self, root: Operation) -> tuple[list[_Group], list[Operation]]:
        """The groups, the root's first, and the inserted ops for which data flow does not tell one."""
        anchors = self._anchors()
        own = {key: op for old in anchors.values() for key, op in old.items()}
        before: dict[int, list[Operation]] = {}
        for replacement in self.replaced:
            for user in replacement.users if id(replacement.op) not in own else ():
                before.setdefault(id(user), []).append(replacement.op)
        groups: dict[int, _Group] = {}
        for key in sorted(own, key=lambda key: key != id(root)):
            first = self.erased.get(key) or _Erased(own[key], own[key].location, (), [])
            consumed = self._consumed(first, own, before) if len(self.erased) > 1 else [first]
            groups[key] = _Group(consumed, list(self._died(consumed).values()))
        serves = self._feeding(anchors)
        unknown: list[Operation] = []
        for key, op in self.inserted.items():
            served = serves.get(key, ())
            mine = [group for old, group in groups.items() if old in served]
            for group in mine:
                group.made.append(op)
            if mine:
                self._locate(op, mine[0].location if len(mine) == 1 else fuse(group.location for group in mine))
            else:
                unknown.append(op)
        return list(groups.values()), unknown

    def _locate(self, op: Operation, location: LocationAttr) -> None:
        fill(op, location)
        if op.successors or ((block := op.parent) is not None and block.args):
            locate_arguments(op, location)

    # The end of a match

    def finish(self, root: Operation, root_location: LocationAttr, pattern: str, reason: str) -> None:
        """Locate what the match made and record it."""
        if (gone := self.erased.get(id(root))) is not None:
            # The pattern may have located the root anew on its way.
            gone.location = root_location
        groups, unknown = self._groups(root) if self.inserted else ([], [])
        recorded = {id(entry.op) for group in groups for entry in group.consumed}
        erased = self._root_first(root)
        left = [entry for entry in erased if id(entry.op) not in recorded]
        rest = _Group(left, [])
        if unknown:
            # Data flow does not tell: they stand for the match.
            whole = _Group(erased, list(self._died(erased).values()))
            location = whole.location if erased else root_location
            for op in unknown:
                self._locate(op, location)
            rest = _Group(left, whole.died, unknown)
        absorbing = self._absorb(root, left) if left and not unknown else []
        if (ledger := current_ledger()) is None:
            return
        moves = self._moves()
        for group in groups:
            self._record(ledger, group, pattern, reason, moves=moves)
            moves = ()
        if left or unknown:
            self._record(ledger, rest, pattern, reason, absorbing, moves)
        elif not groups:
            ledger.record(pattern, changed=[root], before=[root_location], reason=reason, moves=moves)

    def _moves(self) -> Sequence[ValueMove]:
        """The fates of the values of old ops: first those that ended, last those that others compute now."""
        moves: list[ValueMove] = []
        for op in self.revalued:
            moves += [((number_of(op), index), None, ()) for index in range(len(op.results))]
        replaced = {id(replacement.op) for replacement in self.replaced}
        for key, entry in self.erased.items():
            if key not in replaced and entry.moved is not None:
                moves.append(((number_of(entry.op), 0), value_of(entry.moved.operand), (entry.moved.step,)))
        for replacement in self.replaced:
            number = number_of(replacement.op)
            for index, value in enumerate(replacement.values):
                while value is not None and value in self.renamed:
                    value = self.renamed[value]
                moves.append(((number, index), value_of(value), ()))
        return moves

    def _root_first(self, root: Operation) -> list[_Erased]:
        """The erased ops, the root before all others."""
        erased = list(self.erased.values())
        if len(erased) > 1 and (first := self.erased.get(id(root))) is not None:
            erased.remove(first)
            erased.insert(0, first)
        return erased

    def _absorb(self, root: Operation, left: Sequence[_Erased]) -> list[Operation]:
        """Locate the ops that were there before and now do the work of erased ones, too; return them.

        An op changed in place takes in all that was erased; an op that came out of the root (a branch taken at
        compile time) takes in the root; an op whose twin went takes in the twin. Any other was there, and computes what
        it did: what went was an identity.
        """
        gone = [entry.location for entry in left]
        absorbing: dict[int, Operation] = {}
        for replacement in self.replaced:
            for owner in _unique(value.owner for value in replacement.values if value is not None):
                key = id(owner)
                if key in self.erased or key in self.inserted:
                    continue
                if replacement.twin and id(replacement.op) in self.erased:
                    owner.location = fuse([owner.location, self.erased[id(replacement.op)].location])
                elif key in absorbing:
                    continue
                elif key in self.modified:
                    erased_root = id(root) in self.erased
                    owner.location = fuse([*gone, owner.location] if erased_root else [owner.location, *gone])
                elif key in self.nested:
                    owner.location = fuse([owner.location, gone[0]])
                else:
                    continue
                absorbing[key] = owner
        if id(root) in self.modified and id(root) not in self.erased and id(root) not in absorbing:
            root.location = fuse([root.location, *gone])
            absorbing[id(root)] = root
        return list(absorbing.values())

    def _record(
        self,
        ledger: Ledger,
        group: _Group,
        pattern: str,
        reason: str,
        absorbing: Sequence[Operation] = (),
        moves: Sequence[ValueMove] = (),
    ) -> None:
        if not reason and not group.made and not absorbing:
            reason = next((f"users now read {op.name}" for op in reversed(self._read_instead(group))), "")
        ledger.record(
            pattern,
            removed=[entry.op for entry in group.consumed if id(entry.op) in self.erased],
            created=group.made,
            changed=absorbing,
            died=group.died,
            before=[*group.before, *(location for entry in group.consumed for location in entry.nested)],
            reason=reason,
            moves=moves,
        )

    def _read_instead(self, group: _Group) -> list[Operation]:
        """The ops that the users of a group read now."""
        gone = {id(entry.op) for entry in group.consumed}
        values = [value for replacement in self.replaced if id(replacement.op) in gone for value in replacement.values]
        return list(_unique(value.owner for value in values if value is not None))
