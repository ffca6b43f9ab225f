"""How one operator is imported: the row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...support.dtypes import Array
from .context import Context, Tensor


@dataclass(frozen=True)
class Narrowed:
    """A result whose extent along an axis only values decide: of `value` the first `count` (a scalar) along `axis`."""

    value: SSAValue
    count: SSAValue
    axis: int = 0


Result: TypeAlias = SSAValue | Array | Narrowed | Tensor


@dataclass(frozen=True)
class Converter:
    """How one operator is imported."""

    convert: Callable[[Context], Result | tuple[Result, ...]]
    """The outputs of a node: relay values, or arrays where they are known at import."""
