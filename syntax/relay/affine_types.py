"""Affine types, by which integers stand for numbers: input and output of FakeQuantizationToInteger's operator rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expr import Expr


@dataclass(frozen=True, eq=False)
class TensorAffineType:
    """A tensor of integers `q` of a dtype that stands for `scale * (q - zero_point)`; of many scales, along an axis."""

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1


@dataclass(frozen=True, eq=False)
class TupleAffineType:
    """The types of a tuple's fields."""

    types: Sequence[TensorAffineType]
