"""The meaning of the special numbers in a reshape's `newshape`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..sizes import proves, same
from .operator import Signature

_LEFT = -1
_REST = -2
_MERGES = -3
_SPLITS = -4


def spelled_out(sig: Signature, allowzero: bool) -> tuple[list[int], list[int], list[int]]:
    """`newshape` as extents, of which one may be -1, what is left; the operand's extents that none of them is made of,
    and the extents that are made of none of the operand's.

    0 copies an extent of the operand (unless `allowzero`), -2 all that follow, -3 is the product of two, -4 splits one
    in the two that are written behind it, one of which may be -1. Any other number stands for one extent. Fails at the
    signature where there are not as many extents.
    """
    old, new = sig.shape(0), sig.ints("newshape")
    extents: list[int] = []
    others: list[int] = []
    written: list[int] = []
    at = index = 0
    while index < len(new):
        extent = new[index]
        index += 1
        if same(extent, _REST):
            extents += old[at:]
            at = max(at, len(old))
        elif same(extent, _SPLITS):
            extents += _split(sig, old, at, new[index : index + 2])
            at, index = at + 1, index + 2
        elif same(extent, _MERGES) or (same(extent, 0) and not allowzero):
            width = 1 if same(extent, 0) else 2
            if at + width > len(old):
                sig.fail(f"{extent} in newshape only below rank {len(old) + 1 - width}", str(list(new)))
            extents.append(prod(old[at : at + width]))
            at += width
        elif proves(extent, "<", _SPLITS):
            sig.fail("a newshape of sizes and numbers from -4 to 0", str(list(new)))
        else:
            extents.append(extent)
            written.append(extent)
            others += old[at : at + 1]
            at += 1
    return extents, [*others, *old[at:]], written


def _split(sig: Signature, old: Sequence[int], at: int, parts: Sequence[int]) -> list[int]:
    """The two extents that one of the operand is split in."""
    if at >= len(old) or len(parts) != 2 or sum(same(part, _LEFT) for part in parts) > 1:
        sig.fail("two extents behind -4 for one of the operand", str(list(sig.ints("newshape"))))
    factor = prod(part for part in parts if not same(part, _LEFT))
    divides = f"extents behind -4 that divide {old[at]}"
    sig.require(factor - 1, divides, str(list(parts)))
    sig.require_equal(old[at] % factor, 0, divides, str(list(parts)))
    both = [old[at] // factor if same(part, _LEFT) else part for part in parts]
    sig.require_equal(prod(both), old[at], f"extents behind -4 of the product {old[at]}", str(list(parts)))
    return both
