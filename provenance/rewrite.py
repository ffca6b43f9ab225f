"""The one rewrite driver: every pattern of every pass runs under it, and none of them mentions a location.

Around each match the driver watches what the pattern inserts, replaces, changes and erases (match.py), and then

- gives a new op the location of what it stands for: the replaced op whose results it computes, and the erased ops that
  this one read, or that only those read. An inserted op that feeds one replacement belongs to that, one that feeds
  several to all of them; replacements of one match that have nothing to do with each other stay apart. An op for which
  data flow does not tell stands for all that the match erased, the matched op first;
- lets an op that was changed in place absorb the ops erased in its favour, and an op whose twin went take in the twin;
  one that was merely the input of an identity stays as it is;
- writes an entry per replacement into the open ledger.

A pattern that asks what depends on sizes of the call (UndecidedSize), and has changed nothing yet, does not match.

Where data flow tells the wrong thing, as when a factor moves from the data to the weights, a pattern says so by
`stands_for`; where what takes the place of a result is not equal to it, by `has_new_value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from inspect import getclosurevars
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern

from .match import Match
from .span import fuse, is_known
from .undecided import UndecidedSize

OpT = TypeVar("OpT", bound=Operation)

_current: ContextVar[Match] = ContextVar("match")


def _forget_unused(op: Operation) -> None:
    """Erase what a pattern made of values around `op` and put nowhere: it would count as a user of them."""
    near = [*op.operands, *op.results]
    near += [
        value for operand in op.operands if isinstance(operand.owner, Operation) for value in operand.owner.operands
    ]
    orphans = [use.operation for value in near for use in value.uses if use.operation.parent is None]
    while orphans:
        orphan = orphans.pop()
        orphans += [use.operation for result in orphan.results for use in result.uses]
        orphan.drop_all_references()


def stands_for(new: OpT, *old: Operation) -> OpT:
    """Within a match: say that the new op does the work of these old ones, and of no others; return it.

    Old ops may be erased before or after. Ops that feed `new` alone follow it. Raises LookupError outside of patterns.

    >>> product = stands_for(MultiplyOp(weight, factor), scaling, conv)
    """
    _current.get().claimed[new] = old
    return new


def has_new_value(*ops: Operation) -> None:
    """Within a match: say that the results of these old ops, replaced or not, have another value from now on.

    What a layer gave there is nowhere any more. Raises LookupError outside of patterns.

    >>> has_new_value(conv, bias)  # the factor behind them comes before them
    """
    _current.get().revalued.extend(ops)


@cache
def _root(pattern: type[RewritePattern]) -> Any:
    """Return the class of ops that a pattern matches: a class or a union, as `op_type_rewrite_pattern` keeps it."""
    function = cast(Any, pattern.match_and_rewrite)
    if "op_type_rewrite_pattern" not in function.__qualname__:
        return Operation
    return getclosurevars(function).nonlocals["expected_type"]


def _listener(match: Match) -> PatternRewriterListener:
    """Return what tells `match` all that a rewriter does."""
    return PatternRewriterListener(
        operation_insertion_handler=[match.on_insertion],
        operation_modification_handler=[match.on_modification],
        operation_replacement_handler=[match.on_replacement],
        operation_removal_handler=[match.on_removal],
    )


@dataclass
class _Applier(RewritePattern):
    patterns: Sequence[RewritePattern]
    match: Match
    _of: dict[type[Operation], tuple[RewritePattern, ...]] = field(default_factory=lambda: {})
    """Class of an op -> the patterns that may match it."""

    def that_may_match(self, kind: type[Operation]) -> tuple[RewritePattern, ...]:
        if (patterns := self._of.get(kind)) is None:
            matching = (pattern for pattern in self.patterns if issubclass(kind, _root(type(pattern))))
            patterns = self._of[kind] = tuple(matching)
        return patterns

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if patterns := self.that_may_match(type(op)):
            _apply(patterns, op, rewriter, self.match)


def _apply(patterns: Iterable[RewritePattern], op: Operation, rewriter: PatternRewriter, match: Match) -> None:
    """Apply the first of `patterns` that matches, and locate and record what it did."""
    location = op.location
    if op.regions:
        match.begin(op)
    for pattern in patterns:
        try:
            pattern.match_and_rewrite(op, rewriter)
        except UndecidedSize:
            if rewriter.has_done_action:
                raise
            _forget_unused(op)
            continue
        if rewriter.has_done_action:
            match.finish(op, location, type(pattern).__name__, getattr(pattern, "reason", ""))
            match.clear()
            break
    if match.nested:
        match.nested, match.arguments = frozenset(), {}


@dataclass(frozen=True)
class Located(RewritePattern):
    """Patterns for a driver that knows nothing of locations, such as xDSL's `canonicalize`.

    Each match is watched, located and recorded as under `rewrite`.
    """

    patterns: tuple[RewritePattern, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        match = Match()
        listener = _listener(match)
        rewriter.extend_from_listener(listener)
        token = _current.set(match)
        try:
            _apply(self.patterns, op, rewriter, match)
        finally:
            _current.reset(token)
            for handlers, ours in (
                (rewriter.operation_insertion_handler, listener.operation_insertion_handler),
                (rewriter.operation_modification_handler, listener.operation_modification_handler),
                (rewriter.operation_replacement_handler, listener.operation_replacement_handler),
                (rewriter.operation_removal_handler, listener.operation_removal_handler),
            ):
                del handlers[-len(ours) :]


class _Walker(PatternRewriteWalker):
    """Visits the ops that a pattern may match, and no others: in most modules most passes have few to look at."""

    def _populate_worklist(self, op: Operation | Region | Block) -> None:
        applier = self.pattern
        assert isinstance(applier, _Applier)
        for inner in op.walk(reverse=not self.walk_reverse, region_first=not self.walk_regions_first):
            if applier.that_may_match(type(inner)):
                self._worklist.push(inner)


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
    match = Match()
    walker = _Walker(
        _Applier(patterns, match),
        apply_recursively=recursive,
        walk_reverse=reverse,
        listener=_listener(match),
    )
    token = _current.set(match)
    try:
        return walker.rewrite_region(target.body if isinstance(target, ModuleOp) else target)
    finally:
        _current.reset(token)


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
