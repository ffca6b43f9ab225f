"""Einsum: of two operands a matrix product where it is one, else relay.einsum."""

from __future__ import annotations

import string
from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.linear_algebra import EinsumOp
from ...dialects.relay.transform import TransposeOp
from ..importing.products import batch_matmul, dense, reshaped
from ..importing.tensor import shape_of
from .context import Context


def einsum(ctx: Context, equation: str, operands: Sequence[SSAValue]) -> SSAValue:
    """Einsum as numpy computes it; raises FrontendError for an equation that does not fit."""
    terms, result = _parsed(ctx, equation.replace(" ", ""), operands)
    if len(operands) == 2 and _is_product(terms, result):
        return _product(ctx, terms[0], terms[1], result, *operands)
    spelled = f"{','.join(terms)}->{result}"
    return ctx.emit(EinsumOp, list(operands), equation=spelled)


def _parsed(ctx: Context, equation: str, operands: Sequence[SSAValue]) -> tuple[list[str], str]:
    """The letters of operands and result; an ellipsis is spelled out."""
    left, arrow, result = equation.partition("->")
    terms, ranks = left.split(","), [len(shape_of(operand)) for operand in operands]
    if len(terms) != len(operands):
        ctx.fail(f"an equation of {len(operands)} operands", repr(equation))
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        result = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    unused = [letter for letter in string.ascii_letters if letter not in equation]
    most = max((rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "..." in term), default=0)
    hidden = unused[:most] if 0 <= most <= len(unused) else []

    def spelled(term: str, rank: int) -> str:
        count = rank - len(term) + 3
        return term.replace("...", "".join(hidden[most - count :] if count > 0 else ()))

    spelled_terms = [spelled(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    spelled_result = result.replace("...", "".join(hidden))
    for term, rank in zip(spelled_terms, ranks, strict=True):
        if len(term) != rank or not (term.isalpha() or not term):
            ctx.fail(f"an equation for operands of {', '.join(map(str, ranks))} dimensions", repr(equation))
    if len(set(spelled_result)) != len(spelled_result) or not set(spelled_result) <= set("".join(spelled_terms)):
        ctx.fail("axes of the operands, each once, in the result", repr(equation))
    return spelled_terms, spelled_result


def _is_product(terms: Sequence[str], result: str) -> bool:
    """Return whether each letter is once in an operand, and in another operand or the result."""
    left, right = terms
    once = all(len(set(term)) == len(term) for term in terms)
    return once and all(letter in result or (letter in left and letter in right) for letter in left + right)


def _product(ctx: Context, left: str, right: str, result: str, a: SSAValue, b: SSAValue) -> SSAValue:
    sizes: dict[str, int] = {}
    for term, value in ((left, a), (right, b)):
        for letter, extent in zip(term, shape_of(value), strict=True):
            if letter in sizes:
                ctx.require_equal(sizes[letter], extent)
                if sizes[letter] != extent:
                    ctx.fail(f"operands that agree on axis {letter}", f"{sizes[letter]} and {extent}")
            sizes[letter] = extent
    batch = [letter for letter in left if letter in right and letter in result]
    summed = [letter for letter in left if letter in right and letter not in result]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]

    def arranged(value: SSAValue, term: str, *groups: Sequence[str]) -> SSAValue:
        order = tuple(term.index(letter) for group in groups for letter in group)
        moved = value if order == tuple(range(len(order))) else ctx.emit(TransposeOp, value, axes=order)
        flat = [prod(sizes[letter] for letter in group) for group in groups]
        return reshaped(ctx, moved, tuple(flat))

    if batch:
        product = batch_matmul(ctx, arranged(a, left, batch, rows, summed), arranged(b, right, batch, summed, columns))
    else:
        product = dense(ctx, arranged(a, left, rows, summed), arranged(b, right, summed, columns), False)
    order = [*batch, *rows, *columns]
    whole = reshaped(ctx, product, tuple(sizes[letter] for letter in order))
    axes = tuple(order.index(letter) for letter in result)
    return whole if axes == tuple(range(len(axes))) else ctx.emit(TransposeOp, whole, axes=axes)
