"""Einsum, by matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.linear_algebra import EinsumOp, Equation, Letters
from ...dialects.relay.reduce import SumOp
from ...dialects.relay.transform import TransposeOp
from ...dialects.sizes import same
from .context import Context
from .products import product
from .terms import Term

_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

Named = tuple[Term, Letters]
"""A tensor with a letter for each axis."""


def contraction(ctx: Context, text: str, terms: Sequence[Term]) -> SSAValue:
    """Contract operands from left to right, by matrix products if a letter is summed over."""
    try:
        equation = Equation.of(text, [term.shape for term in terms])
    except ValueError as error:
        ctx.fail(*error.args)
    operands = list(zip(terms, equation.operands, strict=True))
    total, *others = operands
    for index, operand in enumerate(others):
        later = {name for _, names in others[index + 1 :] for name in names}
        total = _contracted(total, operand, {*equation.result, *later})
    data, names = _reduced(total, set(equation.result))
    return _ordered(data, names, equation.result).value


def _generic(operands: Sequence[Named], result: Letters) -> Named:
    """Contract operands by relay.einsum, with its own letters for the axes."""
    names_used = dict.fromkeys(name for _, names in operands for name in names)
    letter = dict(zip(names_used, _ALPHABET, strict=False))
    if len(letter) < len(names_used):
        operands[0][0].ctx.fail(f"an equation of at most {len(_ALPHABET)} axes", str(len(names_used)))
    subscripts = ["".join(letter[name] for name in names) for _, names in operands]
    equation = f"{','.join(subscripts)}->{''.join(letter[name] for name in result)}"
    (first, *others) = [data for data, _ in operands]
    return first.apply(EinsumOp, *others, equation=equation), result


def _reduced(named: Named, kept: set[str]) -> Named:
    """Reduce a single operand: take its diagonals, and sum over axes that are not in `kept`."""
    data, names = named
    result = tuple(name for name in dict.fromkeys(names) if name in kept)
    if len(set(names)) < len(names):
        return _generic([named], result)
    summed = [axis for axis, name in enumerate(names) if name not in kept]
    return (data.apply(SumOp, axis=summed), result) if summed else named


def _ordered(data: Term, names: Letters, order: Letters) -> Term:
    return data if names == order else data.apply(TransposeOp, axes=[names.index(name) for name in order])


def _contracted(left: Named, right: Named, kept: set[str]) -> Named:
    """Contract two operands to the letters in `kept`, by batches of matrix products."""
    (a, left_names), (b, right_names) = _reduced(left, kept | set(right[1])), _reduced(right, kept | set(left[1]))
    shared = [name for name in left_names if name in right_names]
    extents = dict(zip(left_names, a.shape, strict=True)) | dict(zip(right_names, b.shape, strict=True))
    batch = [name for name in shared if name in kept]
    inner = [name for name in shared if name not in kept]
    rows = [name for name in left_names if name not in shared]
    columns = [name for name in right_names if name not in shared]
    result = (*batch, *rows, *columns)
    broadcasts = any(not same(a.shape[left_names.index(name)], b.shape[right_names.index(name)]) for name in shared)
    if not inner or broadcasts:
        return _generic([(a, left_names), (b, right_names)], result)

    def size(names: list[str]) -> int:
        return prod(extents[name] for name in names)

    ctx, outer = a.ctx, [extents[name] for name in batch]
    x = _ordered(a, left_names, (*batch, *rows, *inner)).reshape(*outer, size(rows), size(inner))
    y = _ordered(b, right_names, (*batch, *inner, *columns)).reshape(*outer, size(inner), size(columns))
    total = Term(ctx, product(ctx, x.value, y.value))
    return total.reshape(*(extents[name] for name in result)), result
