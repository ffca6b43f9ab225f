"""Questions about sizes as sizes: 1 where a comparison holds, else 0."""

from __future__ import annotations

from .expr import Size, proves, size_max, size_min

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}


def compared(a: Size, relation: str, b: Size) -> Size:
    """Return whether `a relation b`, one of `==`, `!=`, `<`, `<=`, `>` and `>=`: True, False, or a size of 1 or 0."""
    if proves(a, relation, b):
        return True
    if proves(a, _OPPOSITE[relation], b):
        return False
    match relation:
        case "==":
            return 1 - size_min(size_max(a - b, b - a), 1)
        case "!=":
            return size_min(size_max(a - b, b - a), 1)
        case "<=" | ">=":
            less, more = (a, b) if relation == "<=" else (b, a)
            return size_min(size_max(more - less + 1, 0), 1)
        case _:
            less, more = (a, b) if relation == "<" else (b, a)
            return size_min(size_max(more - less, 0), 1)


def chosen(condition: Size, x: Size, y: Size) -> Size:
    """Return `x` where the condition, 0 or 1, holds, else `y`."""
    return y + condition * (x - y)


def truncated(a: Size, b: Size) -> Size | None:
    """Return `a / b` rounded towards zero; None where nothing tells the sign of `b`."""
    if proves(b, "<", 0):
        a, b = -a, -b
    elif not proves(b, ">=", 0):
        return None
    if proves(a, ">=", 0):
        return a // b
    return -(-a // b) if proves(a, "<=", 0) else chosen(compared(a, ">=", 0), a // b, -(-a // b))
