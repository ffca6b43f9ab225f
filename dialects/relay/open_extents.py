"""Types with extents that only a run decides, `tensor<?x4xf32>`: what type rules say of them.

Symbols take part in type rules as numbers do (`dialects/sizes.py`). Of an extent without a name a rule is asked several
times, with one number in the place of every open extent; what it says the same of each time does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..sizes import UndecidedSize
from ..sizes.types import SizesAttr, is_symbolic
from .signature import Signature, Tensor

_TRIED = (5040, 55440, 1, 0)
"""Extents with many divisors, as reshapes and groups want them, the one that broadcasts, and none at all."""


def is_open(type_: Attribute) -> bool:
    """Return whether a type is a tensor's with an extent that only a run decides and no symbol names."""
    return not is_static(type_) and not is_symbolic(type_)


def is_static(type_: Attribute) -> bool:
    """Return whether a type is no tensor's, or one's of which all extents are numbers."""
    return not isinstance(type_, TensorType) or DYNAMIC_INDEX not in type_.get_shape()


def knows_sizes(op: Operation) -> bool:
    """Return whether all extents of an operator's operands and results, and all its attributes, are numbers."""
    return all(is_static(value.type) for value in (*op.operands, *op.results)) and not any(
        isinstance(attribute, SizesAttr) for attribute in op.properties.values()
    )


def closed(type_: Tensor, extent: int) -> Tensor:
    """A tensor type with `extent` in the place of every open one."""
    shape = [extent if n == DYNAMIC_INDEX else n for n in type_.get_shape()]
    return TensorType(type_.element_type, shape)


def infer_symbolic(infer: Callable[[Signature], Sequence[Tensor]], sig: Signature) -> Sequence[Tensor]:
    """Apply a type rule to operands of which some have symbolic extents; open where these leave it undecided."""
    try:
        return infer(sig)
    except UndecidedSize as undecided:
        try:
            return infer_open(infer, sig)
        except UndecidedSize:
            raise
        except VerifyException:
            # There is no telling where two sizes have to be equal that differ for what was tried.
            if undecided.equal is None:
                raise
            raise undecided from None


def infer_open(infer: Callable[[Signature], Sequence[Tensor]], sig: Signature) -> Sequence[Tensor]:
    """Apply a type rule to operands of which some have open extents.

    Raises VerifyException when no extents that were tried fit.
    """
    fixed = {extent for type_ in sig.types for extent in type_.get_shape() if extent not in (DYNAMIC_INDEX, 0)}
    results: list[Sequence[Tensor]] = []
    fixed_extents: set[int] = set()
    for extent in (*_TRIED, *sorted(fixed - set(_TRIED))):
        try:
            results.append(infer(replace(sig, types=tuple(closed(type_, extent) for type_ in sig.types))))
            fixed_extents = fixed - {extent}
        except VerifyException:
            continue
    if not results:
        sig.fail("operands that fit each other for some extents", ", ".join(map(str, sig.types)))
    if len(results) == 1:
        # What fits for one number in every place may fit for others in some: nothing made of that number is known.
        return [_only(type_, fixed_extents) for type_ in results[0]]
    return [_common(types) for types in zip(*results, strict=True)]


def _only(type_: Tensor, fixed_extents: Container[int]) -> Tensor:
    """A type with extents among these, the others open."""
    return TensorType(type_.element_type, [n if n in fixed_extents else DYNAMIC_INDEX for n in type_.get_shape()])


def _common(types: Sequence[Tensor]) -> Tensor:
    """A type that is open where others of its rank differ."""
    shapes = [type_.get_shape() for type_ in types if len(type_.get_shape()) == len(types[0].get_shape())]
    shape = [column[0] if len(set(column)) == 1 else DYNAMIC_INDEX for column in zip(*shapes, strict=True)]
    return TensorType(types[0].element_type, shape)
