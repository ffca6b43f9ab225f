"""Operators that make tensors out of nothing, or of one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..element_types import DTYPES, numpy_dtype
from ..sizes.types import tensor_of
from .attributes import real, real_or_size, required_ints, required_string, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import BROADCAST, ELEMWISE, FLAT, INJECTIVE


class Creation(Operator):
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)

    @classmethod
    def made(cls, sig: Signature, shape: Sequence[int]) -> list[Tensor]:
        """The type of a result of the attribute `dtype`."""
        expected, actual = "a dtype, and extents of at least 0", f"{sig.str('dtype')!r}, {list(shape)}"
        if sig.str("dtype") not in DTYPES:
            sig.fail(expected, actual)
        for extent in shape:
            sig.require(extent, expected, actual)
        return [tensor_of(DTYPES[sig.str("dtype")], shape)]


@irdl_op_definition
class FullOp(Creation):
    """A tensor of one number, a scalar operand."""

    name = "relay.full"
    fill_value = operand_def(TensorType)
    shape = required_ints()
    dtype = required_string()
    traits = traits_def(BROADCAST)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if prod(sig.shape(0)) != 1:
            sig.fail("one number", str(sig.types[0]))
        return cls.made(sig, sig.ints("shape"))

    @classmethod
    def evaluate(cls, sig: Signature, value: AnyArray) -> AnyArray:
        return np.broadcast_to(value.reshape(()).astype(numpy_dtype(DTYPES[sig.str("dtype")])), sig.ints("shape"))


@irdl_op_definition
class FullLikeOp(Operator):
    """A tensor of the first operand's type and the second one's number."""

    name = "relay.full_like"
    data = operand_def(TensorType)
    fill_value = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(ELEMWISE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if prod(sig.shape(1)) != 1:
            sig.fail("one number", str(sig.types[1]))
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, value: AnyArray) -> AnyArray:
        return np.broadcast_to(value.reshape(()).astype(x.dtype), x.shape)


class Constant(Creation):
    traits = traits_def(FLAT)
    shape = required_ints()
    dtype = required_string()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return cls.made(sig, sig.ints("shape"))


@irdl_op_definition
class ZerosOp(Constant):
    name = "relay.zeros"

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        return np.broadcast_to(np.zeros((), numpy_dtype(DTYPES[sig.str("dtype")])), sig.ints("shape"))


@irdl_op_definition
class OnesOp(Constant):
    name = "relay.ones"

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        return np.broadcast_to(np.ones((), numpy_dtype(DTYPES[sig.str("dtype")])), sig.ints("shape"))


@irdl_op_definition
class SizesOp(Creation):
    """Sizes as numbers of a tensor of `shape`: `relay.sizes {values = #relay.sizes<batch, 2*seq>, shape = [2]}`."""

    name = "relay.sizes"
    values = required_ints()
    shape = required_ints()
    dtype = string("int64")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if prod(sig.ints("shape")) != len(sig.ints("values")):
            sig.fail(f"{prod(sig.ints('shape'))} values", str(len(sig.ints("values"))))
        return cls.made(sig, sig.ints("shape"))

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        return np.asarray(sig.ints("values"), np.int64).reshape(sig.ints("shape"))


@irdl_op_definition
class ArangeOp(Creation):
    """`start`, `start + step` and so on, below `stop` (above it for a negative step).

    With a symbolic `stop`, `#relay.sizes<seq>`, it counts from 0 by 1.
    """

    name = "relay.arange"
    traits = traits_def(FLAT)
    start = real(0.0)
    stop = real_or_size(0.0)
    step = real(1.0)
    dtype = string("float32")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        start, stop, step = (sig.get(name) for name in ("start", "stop", "step"))
        if isinstance(stop, tuple):
            if start != 0 or step != 1 or len(cast("tuple[int, ...]", stop)) != 1:
                sig.fail("a start of 0 and a step of 1 for a symbolic stop", f"{start} and {step}")
            return cls.made(sig, cast("tuple[int]", stop))
        if not step or not all(map(math.isfinite, (start, stop, step))):
            sig.fail("finite numbers and a step other than 0", f"{start}, {stop}, {step}")
        return cls.made(sig, (max(0, math.ceil((stop - start) / step)),))

    @classmethod
    def evaluate(cls, sig: Signature) -> AnyArray:
        (count,) = cls.infer(sig)[0].get_shape()
        return sig.get("start") + np.arange(count) * sig.get("step")
