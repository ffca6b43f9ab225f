"""The bound of a kernel call: the rule, and its words."""

from __future__ import annotations

from typing import NamedTuple

from ..report import percent, seconds
from .bounds import Roof, Term

OVERHEAD, NEITHER = "overhead", "neither"
NEAR = 0.5
"""The part of the time from which on a roof is said to bound a call."""
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_CACHES = ("L1", "L2", "L3", "memory")


class Bound(NamedTuple):
    """The bound of a call."""

    word: str
    """The name of a term of the roof, `overhead` or `neither`."""
    reached: float
    """The part of the time that is below the roof; above 1 where data was nearer than thought."""


def bound_of(roof: Roof, spent: float) -> Bound:
    """Decide what bounds a call that takes so many CPU seconds.

    The roof does if it is at least half of the time; else the beginning of the call, if that is at least half of what
    is above the roof; else neither.
    """
    if spent <= 0:
        return Bound("", 0.0)
    reached = roof.seconds / spent
    if reached >= NEAR:
        return Bound(roof.bound.name, reached)
    return Bound(OVERHEAD if 2 * roof.start >= spent - roof.seconds else NEITHER, reached)


def described(roof: Roof, spent: float) -> str:
    """Say what bounds a call: `at 71 % of the roof of products, 61.2 of 86.0 GFLOP/s; L2: 12 % of the time`."""
    bound = bound_of(roof, spent)
    if not bound.word:
        return "not measured: it takes less than the clock shows"
    terms = [term for term in (roof.operations, *roof.bytes) if term.amount]
    others = [f"{_title(term)} {percent(term.seconds / spent)}" for term in terms if term.name != bound.word]
    rest = f"; of the time, {' and '.join(others)}" if others else ""
    if bound.word == OVERHEAD:
        start = f"a call takes {seconds(roof.start)} before any work, and this one {seconds(spent)}"
        return f"neither products nor bytes, but overhead: {start}{rest}"
    if bound.word == NEITHER:
        need = [f"{_title(term)} {percent(term.seconds / spent)}" for term in terms]
        work = " and ".join(need) or "nothing"
        return f"neither: of the time, {work}; the rest is other instructions, or waits"
    term = roof.bound
    text = f"at {percent(bound.reached)} of the roof of {term.name}: {_rate(term, spent)}"
    if bound.reached > 1:
        text += "; more than the roof, so its data was nearer than thought"
    return text + rest


def _title(term: Term) -> str:
    return f"bytes of {term.name}" if term.name in _CACHES else term.name


def _rate(term: Term, spent: float) -> str:
    """`61.2 of 86.0 GFLOP/s`."""
    unit = "B/s" if term.name in _CACHES else "FLOP/s" if term.name in ("products", "bf16 products") else "op/s"
    scale, prefix = next(((scale, name) for scale, name in _UNITS if term.rate >= scale), (1.0, ""))
    return f"{term.amount / spent / scale:.3g} of {term.rate / scale:.3g} {prefix}{unit} of a core"
