"""Tensors of a model under import, and the error for values that are needed before they are known."""

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
"""The default dtypes of sizes and of comparisons of sizes."""


class Undecided(FrontendError):
    """An error for a step that depends on values computed at run time."""

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
    """The layer that computes it."""
    made_of: Sequence[Tensor] = ()
    """The known tensors from which it was evaluated."""
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
        """The dtype of a tensor; None for a sequence, or for nothing."""
        if self.array is not None:
            return self.counts if self.symbolic else self.array.dtype
        return None if self.value is None else dtype_of(self.value)

    @property
    def symbolic(self) -> bool:
        """Return whether it holds sizes that only a call decides: `array` then has objects that count as `dtype`."""
        return self.array is not None and is_open(self.array)

    @property
    def location(self) -> LocationAttr:
        """Its layer and those of the tensors from which it was evaluated."""
        if not self.made_of:
            return self.leaf
        tensors: dict[int, Tensor] = {}
        stack: list[Tensor] = [self]
        while stack:
            tensor = stack.pop()
            if id(tensor) not in tensors:
                tensors[id(tensor)] = tensor
                stack.extend(reversed(tensor.made_of))
        return fuse(tensor.leaf for tensor in tensors.values())

    def materialise(self, builder: LocatedBuilder, module: ModuleOp) -> SSAValue:
        """Return the relay value; a known tensor becomes a constant at its first use."""
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
    """Add operators that compute a tensor of sizes, or of quotients of sizes."""
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
    """Return the one size in a tensor of integers or floats; None if it holds something else."""
    if not tensor.symbolic or tensor.array is None or tensor.array.size != 1:
        return None
    size = tensor.array.item()
    return None if isinstance(size, Quotient) else cast("int", size)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return extents(value)


def dtype_of(value: SSAValue) -> np.dtype[np.generic]:
    return numpy_dtype(as_tensor(value).element_type)
