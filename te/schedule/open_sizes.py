"""The origin of a schedule of open sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..language.tensor import Tensor


@dataclass(frozen=True)
class OpenSizes:
    """The variables without a value, those with one, and the tensors of the function: its arguments, then results."""

    names: tuple[str, ...]
    given: Mapping[str, float]
    parameters: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    symbolic: bool
    """True when the schedule is of all sizes; else it is of nominal ones, and made again for those of a call."""
