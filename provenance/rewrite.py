"""The one rewrite driver: every pattern of every pass runs under it, and none of them mentions a location.

Around each match the driver watches what the pattern inserts, replaces, changes and erases, and then
- gives new ops the location of what they stand for: the matched op first, then the ops the match consumed;
- keeps layers of ops that died with the match (operands nobody else uses);
- lets an op that was changed in place absorb the ops erased in its favour;
- writes one entry into the open ledger.

Locations are per match, not per result: a pattern that replaces unrelated ops in one match fuses them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern

from .builder import fill, locate_arguments
from .dce import is_trivially_dead_when_unused
from .ledger import current_ledger
from .span import fuse, is_known

_DEAD_OPERANDS_LIMIT = 256


class _Erased(NamedTuple):
    """An op that a match erased; only its identity, name and location outlive it."""

    op: Operation
    location: LocationAttr
    operands: tuple[SSAValue, ...]


@dataclass(eq=False, slots=True)
class _Match:
    """What one match did so far. Ops are keyed by identity, in the order of the events."""

    inserted: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    modified: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    erased: dict[int, _Erased] = field(default_factory=lambda: dict[int, _Erased]())
    dropped: list[LocationAttr] = field(default_factory=lambda: list[LocationAttr]())
    """Locations of ops that went because they were nested in an erased op."""
    stand_ins: list[Operation] = field(default_factory=lambda: list[Operation]())
    """Ops whose results took the place of a replaced op's."""
    replacing: Operation | None = None
    nested: frozenset[int] = frozenset()
    """The ops inside the root when the match began (an `if` and the like only)."""

    def begin(self, root: Operation) -> None:
        self.nested = frozenset(map(id, root.walk())) if root.regions and root.results else frozenset()

    def on_insertion(self, op: Operation) -> None:
        self.inserted[id(op)] = op

    def on_modification(self, op: Operation) -> None:
        # Users of a replaced value change without taking over any work.
        if self.replacing is None:
            self.modified[id(op)] = op

    def on_replacement(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        self.replacing = op
        for value in new_results:
            if value is not None and isinstance(owner := value.owner, Operation):
                self.stand_ins.append(owner)

    def on_removal(self, op: Operation) -> None:
        self.replacing = None
        if self.inserted.pop(id(op), None) is not None:
            return
        self.erased[id(op)] = _Erased(op, op.location, tuple(op.operands))
        if op.regions:
            self.dropped.extend(inner.location for inner in op.walk() if inner is not op)

    def clear(self) -> None:
        self.inserted.clear()
        self.modified.clear()
        self.erased.clear()
        self.dropped.clear()
        self.stand_ins.clear()
        self.replacing = None

    def _root_first(self, root: Operation) -> list[_Erased]:
        """The erased ops, the root before all others."""
        erased = list(self.erased.values())
        if len(erased) > 1 and (first := self.erased.get(id(root))) is not None:
            erased.remove(first)
            erased.insert(0, first)
        return erased

    def _died(self, erased: Sequence[_Erased]) -> list[LocationAttr]:
        """Locations of operands' owners that only the erased ops used, pre-order: they were consumed by the match."""
        dead: dict[int, Operation] = {}
        stack = [value for gone in reversed(erased) for value in reversed(gone.operands)]
        while stack and len(dead) < _DEAD_OPERANDS_LIMIT:
            value = stack.pop()
            if (use := value.first_use) is not None and id(use.operation) not in dead:
                continue  # the usual case, told apart without a look at all users
            owner = value.owner
            known = id(owner)
            if not isinstance(owner, Operation) or known in dead or known in self.inserted or owner.parent is None:
                continue
            users = (use.operation for result in owner.results for use in result.uses)
            if all(id(user) in dead for user in users) and is_trivially_dead_when_unused(owner):
                dead[known] = owner
                stack.extend(reversed(owner.operands))
        return [op.location for op in dead.values()]

    def _absorb(self, root: Operation, gone: Sequence[LocationAttr]) -> list[Operation]:
        """Locate the ops that now do the work of the erased ones, and return them.

        An op changed in place takes in all that was erased; an op that came out of the root (a branch taken at
        compile time) takes in the root.
        """
        absorbing: dict[int, Operation] = {}
        for op in [*self.stand_ins, root]:
            key = id(op)
            if key in self.erased or key in absorbing:
                continue
            if key in self.modified:
                op.location = fuse([*gone, op.location] if id(root) in self.erased else [op.location, *gone])
            elif key in self.nested:
                op.location = fuse([op.location, gone[0]])
            else:
                continue
            absorbing[key] = op
        return list(absorbing.values())

    def finish(self, root: Operation, root_location: LocationAttr, pattern: str, reason: str) -> None:
        """Locate what the match made and record it."""
        erased = self._root_first(root)
        # The pattern may have located the root anew on its way.
        gone = [root_location if one.op is root else one.location for one in erased]
        before = gone or [root_location]
        made = list(self.inserted.values())
        if made:
            before += self._died(erased)
            location = fuse(before) if len(before) > 1 else before[0]
            block = None
            for op in made:
                fill(op, location)
                if op.successors or op.parent is not block:
                    block = op.parent
                    locate_arguments(op, location)
        elif gone:
            made = self._absorb(root, gone)
        if (ledger := current_ledger()) is not None:
            ledger.record(
                pattern,
                removed=[one.op.name for one in erased],
                created=[op.name for op in self.inserted.values()],
                before=before + self.dropped,
                after=[op.location for op in made] or ([] if gone else [root_location]),
                reason=reason or ("" if made or not self.stand_ins else f"users now read {self.stand_ins[-1].name}"),
            )


@dataclass
class _Applier(RewritePattern):
    patterns: Sequence[RewritePattern]
    match: _Match

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match, location = self.match, op.location
        if op.regions:
            match.begin(op)
        for pattern in self.patterns:
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                match.finish(op, location, type(pattern).__name__, getattr(pattern, "reason", ""))
                match.clear()
                break
        if match.nested:
            match.nested = frozenset()


def rewrite(
    target: ModuleOp | Region,
    patterns: Sequence[RewritePattern],
    *,
    recursive: bool = True,
    reverse: bool = False,
) -> bool:
    """Apply `patterns`, the first that matches an op winning, and carry every location through.

    target: a module or a region; rewritten in place.
    patterns: the attribute `reason` of one, if it has any, goes into its ledger entries.
    recursive: also visit new and changed ops, until nothing matches; else every op of the input once.
    reverse: users before producers.
    Returns whether anything changed.
    """
    match = _Match()
    walker = PatternRewriteWalker(
        _Applier(patterns, match),
        apply_recursively=recursive,
        walk_reverse=reverse,
        listener=PatternRewriterListener(
            operation_insertion_handler=[match.on_insertion],
            operation_modification_handler=[match.on_modification],
            operation_replacement_handler=[match.on_replacement],
            operation_removal_handler=[match.on_removal],
        ),
    )
    return walker.rewrite_region(target.body if isinstance(target, ModuleOp) else target)


def replace_with_constant(
    op: Operation, constants: Sequence[Operation], rewriter: PatternRewriter, consumed: Iterable[Operation] = ()
) -> None:
    """Replace `op` by `constants`, one per result, located at the op and at the constants they were made of.

    consumed: the ops and constants that were evaluated, where those are not just the operands' owners.
    """
    sources = list(consumed) or [o.owner for o in op.operands if isinstance(o.owner, Operation)]
    made_of = [op.location, *(source.location for source in sources)]
    location = fuse(made_of)
    for constant in constants:
        if is_known(location):
            constant.location = location
    rewriter.replace(op, constants, [constant.results[0] for constant in constants])
