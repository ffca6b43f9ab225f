"""The part of the session document that says what bounds a kernel call: its work, and how fast a core can do it."""

from __future__ import annotations

from dataclasses import dataclass

from .ranges import Amount, Count


@dataclass
class Term:
    """A part of a call's work, and the most that a core does of it."""

    name: str
    """Operations by the name of the products, `products` for floats; bytes by the cache that has them: L1, L2, L3 or
    memory."""
    amount: Amount
    """Operations or bytes."""
    rate: Amount
    """Operations or bytes that a core does in a second."""

    @property
    def seconds(self) -> float:
        """The least CPU seconds."""
        return self.amount / self.rate if self.rate else 0.0


@dataclass
class Roof:
    """The least CPU seconds of a call; data that is in a nearer cache than thought may take less."""

    operations: Term
    bytes: list[Term]
    start: Amount = 0.0
    """The CPU seconds that a call takes before any work: to begin, and to wake threads."""

    @property
    def seconds(self) -> float:
        """The longer of both: bytes are fetched while others are computed with."""
        return max(self.operations.seconds, sum(term.seconds for term in self.bytes))

    @property
    def bound(self) -> Term:
        """The work that takes this long; of bytes those that take most of it."""
        longest = max(self.bytes, key=lambda term: term.seconds, default=self.operations)
        return longest if self.operations.seconds < self.seconds else self.operations


@dataclass
class Knobs:
    """The choices of a kernel's schedule, with estimates by rule."""

    points: Count
    """The number of combinations of choices that were estimated."""
    seconds: Amount
    """The estimate of the kernel as it is."""
    best: Amount
    """The least estimate."""
    decisions: str
    """The choices of the least estimate that are others, `rows = 4, vectors = 2`; "" for none."""
