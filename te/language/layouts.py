"""Layouts that loops can follow: the axes as functions of the dimensions that a layout puts elements at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import cast

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...dialects.affine import ZERO, bounds, linear
from ...dialects.sizes import Size


@dataclass(frozen=True)
class _Piece:
    """`(dim floordiv step) mod extent`: some digits of an axis."""

    dim: int
    step: int
    extent: int
    rest: bool
    """True when it is all digits from `step` on."""


def repeats_within(layout: AffineMap) -> int:
    """A length within which a layout gives two elements along an axis of open size one place, if it ever does.

    That is more than all its divisors and factors together can tell apart.
    """
    period, step = 1, 1
    for result in layout.results:
        for part in result.dfs():
            match part:
                case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mul, rhs=AffineConstantExpr(value=factor)):
                    step = max(step, abs(factor))
                case AffineBinaryOpExpr(
                    kind=AffineBinaryOpKind.FloorDiv | AffineBinaryOpKind.Mod, rhs=AffineConstantExpr(value=divisor)
                ):
                    period = lcm(period, divisor)
                case _:
                    pass
    return 2 * period * step + 1


def divides_evenly(layout: AffineMap, shape: Sequence[int]) -> bool:
    """Return whether each remainder that a layout takes, for axes of extents `shape`, takes all of its values.

    `(i) -> (i floordiv 4, i mod 4)` does for 8 elements, and for 6 or 3 not.
    """
    ranges = tuple((0, extent - 1) for extent in shape)
    for part in (part for result in layout.results for part in result.dfs()):
        match part:
            case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, lhs=digits, rhs=AffineConstantExpr(value=modulus)):
                if (cast(int, bounds(digits, ranges)[1]) + 1) % modulus:
                    return False
            case _:
                pass
    return True


def inverse_layout(layout: AffineMap, shape: Sequence[Size]) -> tuple[AffineExpr, ...] | None:
    """The axes, of extents `shape`, where the dims are the dimensions of a layout.

    Each point within the layout's extents is that of one element, or of none, past the end of an axis. None for a
    layout whose extents are open, or that is not made of whole digits of axes, each of them once:
    `(i, j) -> (j floordiv 8, i * 8 + j mod 8)` is.
    """
    if any(not isinstance(extent, int) for extent in shape):
        return None
    return _inverse(layout, cast("Sequence[int]", shape))


def _inverse(layout: AffineMap, shape: Sequence[int]) -> tuple[AffineExpr, ...] | None:
    ranges = tuple((0, extent - 1) for extent in shape)
    if any(extent < 1 for extent in shape):
        return None
    digits_of: dict[_Piece, AffineExpr] = {}
    for position, result in enumerate(layout.results):
        form = linear(result, ranges)
        if form.constant:
            return None
        step = 1
        terms = sorted(form.terms, key=lambda term: term[1])
        for i, (atom, factor) in enumerate(terms):
            piece = _piece(atom, shape)
            if piece is None or factor != step or piece in digits_of:
                return None
            digits = AffineDimExpr(position) // step if step > 1 else AffineDimExpr(position)
            digits_of[piece] = digits % piece.extent if i + 1 < len(terms) else digits
            step *= piece.extent
    axes: list[AffineExpr] = []
    for dim, extent in enumerate(shape):
        whole, value, covered = 1, ZERO, extent == 1
        for piece in sorted((p for p in digits_of if p.dim == dim), key=lambda p: p.step):
            if piece.step != whole or covered:
                return None
            digits = digits_of[piece] * whole if whole > 1 else digits_of[piece]
            value = digits if value is ZERO else value + digits
            whole *= piece.extent
            covered = piece.rest or whole >= extent
        if not covered:
            return None
        axes.append(value)
    return tuple(axes)


def _piece(atom: AffineExpr, shape: Sequence[int]) -> _Piece | None:
    """An atom of a linear form as digits of an axis; None when it is something else."""
    modulus: int | None = None
    step = 1
    match atom:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.Mod, rhs=AffineConstantExpr(value=modulus)):
            atom = atom.lhs
        case _:
            pass
    match atom:
        case AffineBinaryOpExpr(kind=AffineBinaryOpKind.FloorDiv, rhs=AffineConstantExpr(value=step)):
            atom = atom.lhs
        case _:
            pass
    if not isinstance(atom, AffineDimExpr):
        return None
    left = -(-shape[atom.position] // step)
    return _Piece(atom.position, step, left if modulus is None else modulus, modulus is None)
