"""Operators on shapes: what a tensor's is, how many elements that makes, and another one read from its end."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ...support.dtypes import NAMES
from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import required_ints, string
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import FLAT, OPAQUE
from .transform import Reshaping


class OfShape(Operator):
    """Numbers of `dtype`, which the shape of `data` decides and no element of it."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    dtype = string("int32")
    # Not to take what makes `data`, of which nothing is read, into a kernel.
    traits = traits_def(OPAQUE, FLAT)

    @classmethod
    def made(cls, sig: Signature, shape: Sequence[int]) -> list[Tensor]:
        if sig.str("dtype") not in NAMES:
            sig.fail(f"a dtype among {', '.join(NAMES)}", repr(sig.str("dtype")))
        return [tensor_of(DTYPES[sig.str("dtype")], shape)]


@irdl_op_definition
class ShapeOfOp(OfShape):
    """The extents of `data`, a vector; that of a scalar has no elements."""

    name = "relay.shape_of"

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return cls.made(sig, (len(sig.shape(0)),))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.array(x.shape, np.int64)


@irdl_op_definition
class NdarraySizeOp(OfShape):
    """The number of elements of `data`, a scalar."""

    name = "relay.ndarray_size"

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return cls.made(sig, ())

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.array(x.size, np.int64)


@irdl_op_definition
class ContribReverseReshapeOp(Reshaping):
    """The elements in row-major order in `newshape`, of which special numbers are read from the right to the left.

    0 copies an extent, -1 takes what is left, -2 copies all extents that are left, -3 is the product of two. A number
    other than -2 and -3 stands for one extent of the operand: (10, 5, 4) in (-1, 0) is (50, 4).
    """

    name = "relay.contrib_reverse_reshape"
    newshape = required_ints()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, new = sig.shape(0), sig.ints("newshape")
        wanted = f"a newshape of sizes, 0, -1 once, -2 and -3 for {sig.types[0]}"
        rest = list(old)
        shape: list[int] = []
        for extent in reversed(new):
            count = {-2: len(rest), -3: 2}.get(extent, 1)
            if extent < -3 or (extent in (0, -3) and count > len(rest)):
                sig.fail(wanted, str(list(new)))
            source = [rest.pop() for _ in range(min(count, len(rest)))]
            match extent:
                case 0 | -2:
                    shape += source
                case -3:
                    shape.append(prod(source))
                case _:
                    shape.append(extent)
        product = prod(extent for extent in shape if extent != -1)
        if shape.count(-1) == 1 and product and prod(old) % product == 0:
            shape[shape.index(-1)] = prod(old) // product
        if -1 in shape or prod(shape) != prod(old):
            sig.fail(wanted, str(list(new)))
        return shape[::-1]
