"""The results of nodes, checked against those that the model states: a model that contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.sizes import Size
from .context import Context
from .converter import Narrowed, Result, result_dtype
from .tensor import Tensor, shape_of

Results: TypeAlias = Result | tuple[Result, ...]
"""The outputs of a node."""


class Stated(NamedTuple):
    """A result as a model states it; None stands for an open shape, extent or dtype."""

    shape: Sequence[int | None] | None = None
    dtype: np.dtype[Any] | None = None

    def __str__(self) -> str:
        return _shown(self.shape, self.dtype)

    def agrees(self, shape: Sequence[Size] | None, dtype: np.dtype[Any] | None) -> bool:
        """Return whether a result may have a shape and dtype; None is unknown, and a size may be any number."""
        if dtype is not None and self.dtype is not None and dtype != self.dtype:
            return False
        if shape is None or self.shape is None:
            return True
        pairs = zip(shape, self.shape, strict=False)
        return len(shape) == len(self.shape) and all(b is None or not isinstance(a, int) or a == b for a, b in pairs)


def _shown(shape: Sequence[Size | None] | None, dtype: np.dtype[Any] | None) -> str:
    extents = "..." if shape is None else ", ".join("?" if extent is None else str(extent) for extent in shape)
    return f"{dtype or 'any type'}[{extents}]"


def result_shape(result: Result) -> Sequence[Size] | None:
    """Return the extents of a result; None for a sequence, for nothing, and if only values decide the extents."""
    match result:
        case Narrowed():
            return None
        case Tensor():
            if result.array is not None:
                return result.array.shape
            return None if result.value is None or result.narrowed is not None else shape_of(result.value)
        case SSAValue():
            return shape_of(result)
        case _:
            return result.shape


def check_results(ctx: Context, results: Results, stated: Sequence[Stated], shapes: bool) -> None:
    """Raise FrontendError for a result whose element type, or if `shapes` whose shape, is not as the model states."""
    outputs = results if isinstance(results, tuple) else (results,)
    for expected, result in zip(stated, outputs, strict=False):
        shape, dtype = result_shape(result), result_dtype(result)
        if not expected.agrees(shape if shapes else None, dtype):
            ctx.fail(f"a result of {expected}, as the model says", _shown(cast("Sequence[Size]", shape), dtype))
