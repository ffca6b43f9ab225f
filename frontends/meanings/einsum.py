"""Einsum, by matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.relay.linear_algebra import EinsumOp, Equation, Letters
from ...dialects.relay.reduce import SumOp
from ...dialects.sizes import same
from ..importing.terms import Term
from .products import Pair, dot_general, ordered

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

Named = tuple[Term, Letters]
"""A tensor with a letter for each axis."""


def einsum(*operands: Term, equation: str) -> Term:
    """Contract operands from left to right, by matrix products if a letter is summed over."""
    first = operands[0]
    try:
        letters = Equation.of(equation, [operand.shape for operand in operands])
    except ValueError as error:
        first.ctx.fail(*error.args)
    total, *others = zip(operands, letters.operands, strict=True)
    for index, operand in enumerate(others):
        later = {name for _, names in others[index + 1 :] for name in names}
        total = _contracted(total, operand, {*letters.result, *later})
    result, names = _reduced(total, set(letters.result))
    return ordered(result, [names.index(name) for name in letters.result])


def _generic(operands: Sequence[Named], result: Letters) -> Named:
    """Contract operands by relay.einsum, with its own letters for the axes."""
    names_used = dict.fromkeys(name for _, names in operands for name in names)
    letter = dict(zip(names_used, _ALPHABET, strict=False))
    if len(letter) < len(names_used):
        operands[0][0].ctx.fail(f"an equation of at most {len(_ALPHABET)} axes", str(len(names_used)))
    subscripts = ["".join(letter[name] for name in names) for _, names in operands]
    equation = f"{','.join(subscripts)}->{''.join(letter[name] for name in result)}"
    (first, *others) = [operand for operand, _ in operands]
    return first.apply(EinsumOp, *others, equation=equation), result


def _reduced(named: Named, kept: set[str]) -> Named:
    """Reduce a single operand: take its diagonals, and sum over axes that are not in `kept`."""
    data, names = named
    result = tuple(name for name in dict.fromkeys(names) if name in kept)
    if len(set(names)) < len(names):
        return _generic([named], result)
    summed = [axis for axis, name in enumerate(names) if name not in kept]
    return (data.apply(SumOp, axis=summed), result) if summed else named


def _contracted(left: Named, right: Named, kept: set[str]) -> Named:
    """Contract two operands to the letters in `kept`, by batches of matrix products."""
    (a, left_names), (b, right_names) = _reduced(left, kept | set(right[1])), _reduced(right, kept | set(left[1]))
    shared = [name for name in left_names if name in right_names]
    batch = [name for name in shared if name in kept]
    inner = [name for name in shared if name not in kept]
    result = (*batch, *(name for name in (*left_names, *right_names) if name not in shared))

    def pair(names: Sequence[str]) -> Pair:
        return [left_names.index(name) for name in names], [right_names.index(name) for name in names]

    if not inner or any(not same(a.shape[left], b.shape[right]) for left, right in zip(*pair(shared), strict=True)):
        return _generic([(a, left_names), (b, right_names)], result)
    return dot_general(a, b, pair(batch), pair(inner)), result
