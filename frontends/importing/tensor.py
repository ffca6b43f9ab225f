"""Tensors of a model under import, and the error of those whose values come too late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp
from xdsl.ir import SSAValue

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import CastOp, DivideOp
from ...dialects.relay.operator import as_tensor
from ...dialects.relay.operator import shape_of as extents
from ...dialects.relay.size_arithmetic import is_open
from ...dialects.sizes import Size
from ...dialects.sizes.quotients import Quotient
from ...provenance.builder import LocatedBuilder
from ...provenance.span import fuse
from ...support.dtypes import Array
from ...support.errors import FrontendError
from .names import value_name

SIZE, TRUTH = np.dtype(np.int64), np.dtype(np.bool_)
"""The dtypes of sizes and of comparisons of them, if nothing else is said."""


class Undecided(FrontendError):
    """Only values that are computed at run time decide what a step does."""

    def __init__(
        self,
        text: str,
        tensor: Tensor | None,
        equal: tuple[Size, Size] | None = None,
        layer: LocationAttr | None = None,
    ):
        super().__init__(text)
        self.equal = equal
        """Two sizes that may or may not be equal, if the question is about their equality."""
        self.layer = layer
        """The layer that requires them to be equal, if any."""
        self.tensor = tensor
        """The tensor whose value is needed."""


@dataclass(eq=False)
class Tensor:
    """A tensor of the model: known at import (`array`), a relay value, or both."""

    name: str
    array: Array | None = None
    value: SSAValue | None = None
    leaf: LocationAttr = UNKNOWN_LOC
    """The layer that made it."""
    made_of: Sequence[Tensor] = ()
    """The known tensors it was evaluated from."""
    items: Sequence[Tensor] | None = None
    """The elements of a sequence."""
    nothing: bool = False
    """True for an optional without a value."""
    narrowed: tuple[SSAValue, int] | None = None
    """The number of valid elements of `value`, and their axis; nothing else can be computed with it in this stretch."""
    counts: np.dtype[Any] = SIZE
    """The dtype of the sizes in a symbolic `array`."""

    @property
    def plain(self) -> bool:
        """Return whether it is a tensor, and neither a sequence nor an optional without a value."""
        return self.items is None and not self.nothing

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """Of a tensor; None of a sequence, or of nothing."""
        if self.array is not None:
            return self.counts if self.symbolic else self.array.dtype
        return None if self.value is None else dtype_of(self.value)

    @property
    def symbolic(self) -> bool:
        """Return whether its value is sizes that only a call decides: `array` then has objects, counted as `dtype`."""
        return self.array is not None and is_open(self.array)

    @property
    def location(self) -> LocationAttr:
        """Its layer and those of the tensors it was evaluated from."""
        if not self.made_of:
            return self.leaf
        found: dict[int, Tensor] = {}
        stack: list[Tensor] = [self]
        while stack:
            tensor = stack.pop()
            if id(tensor) not in found:
                found[id(tensor)] = tensor
                stack.extend(reversed(tensor.made_of))
        return fuse(tensor.leaf for tensor in found.values())

    def materialise(self, builder: LocatedBuilder, module: ModuleOp) -> SSAValue:
        """The relay value; of a known tensor, a constant added at its first use."""
        if self.value is None:
            if self.array is None:
                raise FrontendError(
                    f"'{self.name}': expected a tensor, got {'nothing' if self.nothing else 'a sequence'}"
                )
            with builder.located(self.location):
                if self.symbolic:
                    self.value = _sizes(self.array, self.counts, builder, module)
                else:
                    self.value = builder.add(ConstantOp.of(self.array, module, self.name)).result
            self.value.name_hint = value_name(self.name)
        return self.value


def _sizes(array: Array, dtype: np.dtype[Any], builder: LocatedBuilder, module: ModuleOp) -> SSAValue:
    """Add the operators that make a tensor of sizes, or of quotients of sizes."""
    flat: list[Any] = array.reshape(-1).tolist()
    parts = [(v.dividend, v.divisor) if isinstance(v, Quotient) else (v, 1) for v in flat]
    whole = dtype.name if dtype.kind in "iu" else SIZE.name
    value = builder.add(SizesOp(values=[cast("int", size) for size, _ in parts], shape=array.shape, dtype=whole)).result
    if dtype.kind not in "iu":
        value = builder.add(CastOp(value, dtype=dtype.name)).result
    if any(divisor != 1 for _, divisor in parts):
        divisors = np.asarray([divisor for _, divisor in parts], dtype).reshape(array.shape)
        value = builder.add(DivideOp(value, builder.add(ConstantOp.of(divisors, module, "divisors")).result)).result
    return value


def size_in(tensor: Tensor) -> int | None:
    """The one size that a tensor is known to hold, in integers or floats; None where it holds something else."""
    if not tensor.symbolic or tensor.array is None or tensor.array.size != 1:
        return None
    size = tensor.array.item()
    return None if isinstance(size, Quotient) else cast("int", size)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return extents(value)


def dtype_of(value: SSAValue) -> np.dtype[np.generic]:
    return numpy_dtype(as_tensor(value).element_type)
