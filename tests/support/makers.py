"""Who made each op of a compiled model: the ledger's answer against what a watcher of xDSL's rewriters saw.

The watcher stands in xDSL's own listeners, below our driver, and knows ops as objects: for each op the pattern whose
`match_and_rewrite` inserted it, and what that match removed. Run on networks with

    python -m tests.support.makers light_squeezenet model.tflite ..
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from xdsl.builder import BuilderListener
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriterListener, RewritePattern

import whence
from whence.dialects.relay.operator import Operator
from whence.passes.pipelines import relay_pipeline
from whence.passes.runner import run_passes
from whence.provenance.ledger import Ledger
from whence.provenance.numbers import number_all, number_of
from whence.support.instrument import PassInstrument


@dataclass(eq=False)
class Match:
    pattern: str
    frame: FrameType
    """Held, so that its identity is not reused."""
    inserted: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    removed: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    read: dict[int, Operation] = field(default_factory=lambda: dict[int, Operation]())
    """What the removed ops read: it may have died of it."""


class Watcher:
    """All matches of patterns that inserted or removed ops."""

    def __init__(self) -> None:
        self.matches: dict[int, Match] = {}
        self.inserters: dict[int, list[Match]] = {}
        self.replaced: dict[int, list[Operation]] = {}
        """What computes a result -> the ops that gave it before."""

    def match(self) -> Match | None:
        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        outermost: Match | None = None
        while frame is not None:
            pattern = frame.f_locals.get("self") if frame.f_code.co_name == "match_and_rewrite" else None
            if isinstance(pattern, RewritePattern) and not hasattr(pattern, "patterns"):
                outermost = self.matches.setdefault(id(frame), Match(type(pattern).__name__, frame))
            frame = frame.f_back
        return outermost

    def inserted(self, op: Operation) -> None:
        if (match := self.match()) is not None:
            match.inserted[id(op)] = op
            self.inserters.setdefault(id(op), []).append(match)

    def removed(self, op: Operation) -> None:
        if (match := self.match()) is not None:
            match.removed[id(op)] = op
            match.read.update(
                (id(value.owner), value.owner) for value in op.operands if isinstance(value.owner, Operation)
            )

    def replacing(self, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        match = self.match()
        for value in new_results:
            # An op that was there before has another maker than what its result now stands for.
            if value is not None and isinstance(value.owner, Operation) and match and id(value.owner) in match.inserted:
                self.replaced.setdefault(id(value.owner), []).append(op)

    def certain(self, op: Operation) -> set[str]:
        """The patterns that made an op, or one in whose place it came when it was made."""
        names = {match.pattern for match in self.inserters.get(id(op), ())}
        return names.union(*(self.certain(old) for old in self.replaced.get(id(op), ()))) if names else names

    def possible(self, op: Operation) -> set[str]:
        """The patterns that may have had a part in an op: those that inserted it, or what those removed."""
        names: set[str] = set()
        met: set[int] = set()
        waiting = [op]
        while waiting:
            current = waiting.pop()
            if id(current) in met:
                continue
            met.add(id(current))
            for match in self.inserters.get(id(current), ()):
                names.add(match.pattern)
                waiting += [*match.removed.values(), *match.read.values()]
        return names


@contextmanager
def watching() -> Generator[Watcher]:
    """Watch all rewriters in this scope."""
    watcher = Watcher()
    replacement = PatternRewriterListener.handle_operation_replacement
    insertion, removal = BuilderListener.handle_operation_insertion, PatternRewriterListener.handle_operation_removal

    def inserted(self: Any, op: Operation) -> None:
        watcher.inserted(op)
        insertion(self, op)

    def removed(self: Any, op: Operation) -> None:
        watcher.removed(op)
        removal(self, op)

    def replacing(self: Any, op: Operation, new_results: Sequence[SSAValue | None]) -> None:
        watcher.replacing(op, new_results)
        replacement(self, op, new_results)

    BuilderListener.handle_operation_insertion = inserted
    PatternRewriterListener.handle_operation_replacement = replacing
    PatternRewriterListener.handle_operation_removal = removed
    try:
        yield watcher
    finally:
        BuilderListener.handle_operation_insertion = insertion
        PatternRewriterListener.handle_operation_removal = removal
        PatternRewriterListener.handle_operation_replacement = replacement


@dataclass
class Verdict:
    operators: int
    made: int
    """Operators that some pattern inserted."""
    wrong: list[str]
    """Patterns named that had no part in the op."""
    missing: list[str]
    """Patterns that inserted an op, or the one in whose place it came, and are not named."""


def judged(
    source: str,
    shapes: Mapping[str, Sequence[int]] | None = None,
    ledger: Ledger | None = None,
    instruments: Sequence[PassInstrument] = (),
) -> Verdict:
    """Run the passes of level 3 on a model, and compare the ledger's makers of all operators with what was seen."""
    module, ledger = whence.load(source, shapes), ledger if ledger is not None else Ledger()
    number_all(module)
    with watching() as watcher:
        run_passes(module, relay_pipeline(3), ledger=ledger, instruments=instruments)
    return _judge(module, ledger, watcher)


def _judge(module: ModuleOp, ledger: Ledger, watcher: Watcher) -> Verdict:
    patterns = {match.pattern for match in watcher.matches.values()}
    verdict = Verdict(0, 0, [], [])
    for op in module.walk():
        if not isinstance(op, Operator):
            continue
        verdict.operators += 1
        named = {entry.pattern for entry in ledger.history(number_of(op))}
        certain = watcher.certain(op)
        verdict.made += bool(certain)
        possible = watcher.possible(op)
        verdict.wrong += [f"{op.name}: {name}" for name in sorted((named & patterns) - possible)]
        verdict.missing += [f"{op.name}: {name}" for name in sorted(certain - named)]
    return verdict


def main() -> int:
    failed = 0
    for source in sys.argv[1:]:
        verdict = judged(source)
        wrong, missing = verdict.wrong, verdict.missing
        print(
            f"{source}: {verdict.operators} operators, {verdict.made} made by patterns, "
            f"{len(wrong)} wrong, {len(missing)} missing",
            *wrong[:5],
            *missing[:5],
            sep="\n  ",
            flush=True,
        )
        failed += bool(wrong or missing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
