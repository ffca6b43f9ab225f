"""A type rule for operands with extents that nobody names, `tensor<?x4xf32>`: its answer for whatever they are.

Each `?` of an operand is a symbol of its own while the rule computes. Where the rule asks what the symbols leave open,
it computes once for each answer; an extent that is not one number in all these cases is `?`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from itertools import count

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from ..sizes import (
    Answers,
    Size,
    SizeExpr,
    UndecidedSize,
    answered,
    only,
    question,
    same,
    substitute,
    symbol,
    symbols_of,
)
from ..sizes.types import SizesAttr, extents_of, is_open, tensor_of
from .signature import Signature, Tensor

_MOST = 64
"""The number of cases that are looked at: a rule asks few questions."""


def infer_cases(infer: Callable[[Signature], Sequence[Tensor]], sig: Signature) -> Sequence[Tensor]:
    """Apply a type rule to operands of which some have open or symbolic extents.

    Raises UndecidedSize where symbolic sizes would have to be numbers, or to be equal and differ in all cases;
    VerifyException where the rule takes the operands in no case, or gives results of several ranks.
    """
    types, fresh = _named(sig)
    cases: list[tuple[Sequence[Tensor], Answers, tuple[Size, Size] | None]] = [(types, {}, None)]
    results: list[Sequence[Tensor]] = []
    first: UndecidedSize | None = None
    for _ in range(_MOST):
        if not cases:
            break
        types, answers, equal = cases.pop()
        try:
            types = _equal(types, *equal) if equal is not None else types
            with answered(answers):
                results.append(infer(replace(sig, types=tuple(types))))
        except UndecidedSize as undecided:
            if undecided.sides is None:
                if not fresh:
                    raise
                sig.fail("extents that are numbers", ", ".join(map(str, sig.types)))
            first = first or undecided
            a, b = undecided.sides
            asked = question(a, undecided.relation, b)
            if not undecided.needed:
                cases.append((types, {**answers, asked: False}, None))
            cases.append((types, {**answers, asked: True}, undecided.equal))
        except (VerifyException, ZeroDivisionError):  # no sizes divide by one that is 0
            if first is None:
                raise
    if first is None and not fresh:
        return results[0]
    ranks = {tuple(len(type_.shape) for type_ in types) for types in results}
    if cases or len(ranks) != 1:
        if first is not None and first.equal and not fresh:
            raise first
        sig.fail("operands that fit each other for some extents", ", ".join(map(str, sig.types)))
    # An assumption may be wrong, so it says nothing about names.
    return [_common(types, fresh if first is None else None) for types in zip(*results, strict=True)]


def _named(sig: Signature) -> tuple[list[Tensor], set[str]]:
    """The types of operands with a symbol for each `?`, and the names of these symbols."""
    if not any(map(is_open, sig.types)):
        return list(sig.types), set()
    attributes = [attribute.sizes for attribute in sig.attributes.values() if isinstance(attribute, SizesAttr)]
    sizes = [size for shape in (*map(extents_of, sig.types), *attributes) for size in shape]
    symbols = {name for size in sizes for name in symbols_of(size)}
    names = (name for k in count() if (name := f"any{k}") not in symbols)
    fresh = set[str]()

    def own(size: Size) -> Size:
        if not same(size, DYNAMIC_INDEX):
            return size
        fresh.add(name := next(names))
        return symbol(name)

    return [tensor_of(type_.element_type, [own(size) for size in extents_of(type_)]) for type_ in sig.types], fresh


def _equal(types: Sequence[Tensor], a: Size, b: Size) -> Sequence[Tensor]:
    """Types in which two sizes are equal, as far as that says what a symbol is."""
    values: dict[str, Size] = {}
    for name, size in ((str(a), b), (str(b), a)):
        if name.isidentifier() and name not in symbols_of(size):
            values = {name: size}
    if not values:
        numbers = ((name, only(name, a, b)) for name in symbols_of(a - b))
        values = dict([(name, number) for name, number in numbers if number is not None][:1])
    shapes = [[substitute(extent, values) for extent in extents_of(type_)] for type_ in types]
    return [tensor_of(type_.element_type, shape) for type_, shape in zip(types, shapes, strict=True)]


def _common(types: Sequence[Tensor], fresh: Container[str] | None) -> Tensor:
    """A type that is open where others of its rank differ, or have one of these symbols; any, where it is None."""

    def common(column: Sequence[Size]) -> Size:
        size = column[0]
        open_ = isinstance(size, SizeExpr) and (fresh is None or any(name in fresh for name in symbols_of(size)))
        return DYNAMIC_INDEX if open_ or not all(same(size, other) for other in column) else size

    columns = zip(*map(extents_of, types), strict=True)
    return tensor_of(types[0].element_type, [common(column) for column in columns])
