"""Sums and products of all that comes before."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import boolean, optional_integer, string
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import OPAQUE


class Cumulative(Operator):
    """Along `axis`, or of all elements in row-major order without it.

    `exclusive` leaves the element itself out; `reverse` goes from the end. `dtype` is that of the result, the operand's
    by default; half precision is added up in float32.
    """

    NEUTRAL: ClassVar[int] = 0
    data = operand_def(TensorType)
    result = result_def(TensorType)
    axis = optional_integer()
    dtype = string("")
    exclusive = boolean(False)
    reverse = boolean(False)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        if (dtype := sig.str("dtype")) and dtype not in DTYPES:
            sig.fail(f"a dtype among {', '.join(DTYPES)}", repr(dtype))
        if (axis := sig.get("axis")) is None:
            shape = (prod(shape),)
        else:
            sig.axis(axis, len(shape))
        return [tensor_of(DTYPES[dtype] if dtype else sig.types[0].element_type, shape)]

    @classmethod
    def accumulate(cls, x: AnyArray, axis: int) -> AnyArray:
        raise NotImplementedError

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray) -> AnyArray:
        number: Any = widened(np.empty(0, sig.str("dtype") or data.dtype)).dtype
        axis = sig.get("axis")
        x = np.moveaxis(data.reshape(-1) if axis is None else data, axis or 0, 0).astype(number)
        x = x[::-1] if sig.get("reverse") else x
        if sig.get("exclusive"):
            x = np.concatenate([np.full_like(x[:1], cls.NEUTRAL), x[:-1]])
        total = cls.accumulate(x, 0)
        return np.moveaxis(total[::-1] if sig.get("reverse") else total, 0, axis or 0)


@irdl_op_definition
class CumsumOp(Cumulative):
    name = "relay.cumsum"

    @classmethod
    def accumulate(cls, x: AnyArray, axis: int) -> AnyArray:
        return np.cumsum(x, axis, x.dtype)


@irdl_op_definition
class CumprodOp(Cumulative):
    name = "relay.cumprod"
    NEUTRAL: ClassVar[int] = 1

    @classmethod
    def accumulate(cls, x: AnyArray, axis: int) -> AnyArray:
        return np.cumprod(x, axis, x.dtype)
