"""The terms of a reduction that one pass of its innermost loop adds up."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.sizes.kernel import known
from ....te.schedule.stage import Stage

LONGEST = 192
"""Vector products, or other arithmetic on vectors, of the longest body of a loop; longer ones took up to 1.15 times as
long."""


def divisors(extent: int) -> list[int]:
    """The divisors of an extent, in increasing order."""
    return [factor for factor in range(1, extent + 1) if extent % factor == 0]


def term_counts(extents: Sequence[int], most: int = LONGEST) -> list[int]:
    """The numbers of terms, up to `most`, that loops of these extents allow to write out as one body.

    They are divisors of the innermost loop, or all of it and a divisor of the next one, and so on.
    """
    counts, whole = {1}, 1
    for extent in reversed(extents):
        counts.update(whole * factor for factor in divisors(extent) if whole * factor <= most)
        if (whole := whole * extent) > most:
            break
    return sorted(counts)


def write_out(inner: Stage, terms: int) -> None:
    """Write `terms`, one of `term_counts`, of a reduction's terms out as the body of the loop that is left."""
    for axis in reversed(inner.reduce_axes):
        if terms == 1:
            return
        steps = known(axis.extent)
        if terms >= steps:
            inner.unroll(axis)
            terms //= steps
        else:
            inner.unroll(inner.split(axis, terms)[1])
            return
