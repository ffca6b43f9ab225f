"""Truth values that sizes of a call decide: 1 where a comparison holds, else 0, in the arithmetic of sizes."""

from __future__ import annotations

from ...dialects.sizes import Size, SizeExpr, proves, size_max, size_min


class Decision(SizeExpr):
    """A size that is 0 or 1, and stands for a truth value. What is computed with it is a plain size."""

    __slots__ = ()


def decided(size: Size) -> bool | Decision:
    """The truth value that a size of 0 or 1 stands for."""
    return Decision(size.terms) if isinstance(size, SizeExpr) else bool(size)


def compared(a: Size, relation: str, b: Size) -> bool | Decision:
    """Return whether `a relation b`, one of `==`, `<`, `<=`, `>` and `>=`: known, or for the call to decide."""
    opposite = {"==": "!=", "<": ">=", ">": "<=", "<=": ">", ">=": "<"}[relation]
    if proves(a, relation, b):
        return True
    if proves(a, opposite, b):
        return False
    match relation:
        case "==":
            return decided(1 - size_min(size_max(a - b, b - a), 1))
        case "<=" | ">=":
            less, more = (a, b) if relation == "<=" else (b, a)
            return decided(size_min(size_max(more - less + 1, 0), 1))
        case _:
            less, more = (a, b) if relation == "<" else (b, a)
            return decided(size_min(size_max(more - less, 0), 1))


def chosen(condition: Size, x: Size, y: Size) -> Size:
    """`x` where the condition, 0 or 1, holds, else `y`."""
    return y + condition * (x - y)
