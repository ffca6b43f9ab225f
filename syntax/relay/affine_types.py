"""Affine types, by which integers stand for numbers: inputs and outputs of rules for FakeQuantizationToInteger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expr import Expr


@dataclass(frozen=True, eq=False)
class TensorAffineType:
    """A tensor of integers `q` that stands for `scale * (q - zero_point)`, with one scale or several along `axis`."""

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int = -1


@dataclass(frozen=True, eq=False)
class TupleAffineType:
    """The types of a tuple's fields."""

    types: Sequence[TensorAffineType]
