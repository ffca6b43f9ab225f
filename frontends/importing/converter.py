"""The import of one operator: the row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from xdsl.ir import SSAValue

from ...support.dtypes import Array
from .context import Context
from .tensor import Tensor


@dataclass(frozen=True)
class Narrowed:
    """A result whose extent along an axis only values decide: of `value` the first `count` (a scalar) along `axis`."""

    value: SSAValue
    count: SSAValue
    axis: int = 0


Result: TypeAlias = SSAValue | Array | Narrowed | Tensor


ContextT = TypeVar("ContextT", bound=Context)
"""The context of a frontend."""


@dataclass(frozen=True)
class Converter(Generic[ContextT]):
    """The import of one operator."""

    convert: Callable[[ContextT], Result | tuple[Result, ...]]
    """The outputs of a node: relay values, or arrays where they are known at import."""
