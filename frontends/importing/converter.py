"""The import of one operator: the row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from xdsl.ir import SSAValue

from ...support.dtypes import Array
from .context import Context
from .tensor import Tensor, dtype_of


@dataclass(frozen=True)
class Narrowed:
    """A result whose extent along an axis only values decide: the first `count` (a scalar) of `value` along `axis`."""

    value: SSAValue
    count: SSAValue
    axis: int = 0


Result: TypeAlias = SSAValue | Array | Narrowed | Tensor


def result_dtype(result: Result) -> np.dtype[Any] | None:
    """Return the element type of a result; None for a sequence, for nothing, and for sizes without a stated type."""
    match result:
        case Tensor():
            return result.dtype
        case Narrowed():
            return dtype_of(result.value)
        case SSAValue():
            return dtype_of(result)
        case _:
            return result.dtype if result.dtype != np.object_ else None


ContextT = TypeVar("ContextT", bound=Context)
"""The context of a frontend."""


@dataclass(frozen=True)
class Converter(Generic[ContextT]):
    """The import of one operator."""

    convert: Callable[[ContextT], Result | tuple[Result, ...]]
    """The function that returns the outputs of a node: relay values, or arrays that are known at import."""
    unread: Mapping[str, str] = field(default_factory=dict[str, str], kw_only=True)
    """The inputs and attributes, by name, that do not change the results, each with the reason."""
    inputs: str = field(default="", kw_only=True)
    """The names of the inputs, in order, where the function reads them by their numbers."""

    def apply(self, ctx: ContextT) -> Result | tuple[Result, ...]:
        """Return the outputs of a node; raise FrontendError for a part of it that nothing asked for."""
        return convert_all_parts(self.convert, ctx, self.unread)


ResultT = TypeVar("ResultT")


def convert_all_parts(
    convert: Callable[[ContextT], ResultT], ctx: ContextT, unread: Mapping[str, str] | None = None
) -> ResultT:
    """Return the results of `convert` for a node; raise FrontendError for a part of it that was never asked for."""
    results = convert(ctx)
    ctx.refuse_unread(unread or {})
    return results
