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
    """Operand after operand is multiplied with what the ones before gave, as matrices where a letter is summed over."""
    try:
        equation = Equation.of(text, [one.shape for one in terms])
    except ValueError as error:
        ctx.fail(*error.args)
    operands = list(zip(terms, equation.operands, strict=True))
    total, *others = operands
    for place, other in enumerate(others):
        later = {name for _, names in others[place + 1 :] for name in names}
        total = _contracted(total, other, {*equation.result, *later})
    found, names = _alone(total, set(equation.result))
    return _ordered(found, names, equation.result).value


def _generic(operands: Sequence[Named], result: Letters) -> Named:
    """relay.einsum, with letters of its own for the axes."""
    every = dict.fromkeys(name for _, names in operands for name in names)
    letter = dict(zip(every, _ALPHABET, strict=False))
    if len(letter) < len(every):
        operands[0][0].ctx.fail(f"an equation of at most {len(_ALPHABET)} axes", str(len(every)))
    spelled = ["".join(letter[name] for name in names) for _, names in operands]
    equation = f"{','.join(spelled)}->{''.join(letter[name] for name in result)}"
    (first, *others) = [one for one, _ in operands]
    return first.apply(EinsumOp, *others, equation=equation), result


def _alone(named: Named, kept: set[str]) -> Named:
    """An operand of its own: diagonals taken, and what no other needs summed over."""
    data, names = named
    result = tuple(name for name in dict.fromkeys(names) if name in kept)
    if len(set(names)) < len(names):
        return _generic([named], result)
    gone = [axis for axis, name in enumerate(names) if name not in kept]
    return (data.apply(SumOp, axis=gone), result) if gone else named


def _ordered(data: Term, names: Letters, wanted: Letters) -> Term:
    return data if names == wanted else data.apply(TransposeOp, axes=[names.index(name) for name in wanted])


def _contracted(left: Named, right: Named, kept: set[str]) -> Named:
    """Two operands as one, of the letters in `kept`: batches of matrix products."""
    (a, own), (b, other) = _alone(left, kept | set(right[1])), _alone(right, kept | set(left[1]))
    shared = [name for name in own if name in other]
    extents = dict(zip(own, a.shape, strict=True)) | dict(zip(other, b.shape, strict=True))
    batch = [name for name in shared if name in kept]
    inner = [name for name in shared if name not in kept]
    rows = [name for name in own if name not in shared]
    columns = [name for name in other if name not in shared]
    result = (*batch, *rows, *columns)
    broadcasts = any(not same(a.shape[own.index(name)], b.shape[other.index(name)]) for name in shared)
    if not inner or broadcasts:
        return _generic([(a, own), (b, other)], result)

    def size(names: list[str]) -> int:
        return prod(extents[name] for name in names)

    ctx, outer = a.ctx, [extents[name] for name in batch]
    x = _ordered(a, own, (*batch, *rows, *inner)).reshape(*outer, size(rows), size(inner))
    y = _ordered(b, other, (*batch, *inner, *columns)).reshape(*outer, size(inner), size(columns))
    total = Term(ctx, product(ctx, x.value, y.value))
    return total.reshape(*(extents[name] for name in result)), result
