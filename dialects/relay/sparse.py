"""Tensors made of rows or elements that are given with the places where they belong. What is given for none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ..size_types import tensor_of
from .attributes import required_integer, required_ints
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import INTEGERS, OPAQUE


@irdl_op_definition
class SegmentSumOp(Operator):
    """Sums of the rows of `data` with one number in `segment_ids`: (n, ..) and (n,) -> (num_segments, ..).

    The numbers need not be sorted. Rows of a number that is no segment's are left out; half precision is summed in
    float32.
    """

    name = "relay.segment_sum"
    data = operand_def(TensorType)
    segment_ids = operand_def(TensorType)
    result = result_def(TensorType)
    num_segments = required_integer()
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS, 1)
        data, count = sig.shape(0), sig.int("num_segments")
        if not data or sig.shape(1) != data[:1] or sig.types[0].element_type == i1:
            sig.fail("rows of numbers, and a segment of each", f"{sig.types[0]} and {sig.types[1]}")
        if count < 0:
            sig.fail("num_segments of at least 0", str(count))
        return [tensor_of(sig.types[0].element_type, (count, *data[1:]))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, ids: AnyArray) -> AnyArray:
        rows, count = widened(x), sig.int("num_segments")
        there = (ids >= 0) & (ids < count)
        out = np.zeros((count, *x.shape[1:]), rows.dtype)
        np.add.at(out, ids[there].astype(np.int64), rows[there])
        return out


@irdl_op_definition
class SparseToDenseOp(Operator):
    """A tensor of `output_shape` with `sparse_values` at the points of `sparse_indices`, `default_value` (0) elsewhere.

    Indices are (n, rank), or (n,) for a vector and a scalar for one element of it, with as many values: (n,) or a
    scalar. Of several values for a point the last one counts; one for a point outside is left out.
    """

    name = "relay.sparse_to_dense"
    sparse_indices = operand_def(TensorType)
    sparse_values = operand_def(TensorType)
    default_value = opt_operand_def(TensorType)
    result = result_def(TensorType)
    output_shape = required_ints()
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS)
        shape, indices = sig.ints("output_shape"), sig.rank(0, 0, 1, 2)
        if any(extent < 0 for extent in shape):
            sig.fail("extents of at least 0", str(list(shape)))
        if sig.shape(1) != indices[:1] or len(shape) != (indices[1] if len(indices) == 2 else 1):
            wanted = f"coordinates in {list(shape)}, and a value for each"
            sig.fail(wanted, f"{sig.types[0]} and {sig.types[1]}")
        for default in sig.operand("default_value"):
            if default.element_type != sig.types[1].element_type or prod(default.get_shape()) != 1:
                sig.fail(f"one number of {sig.types[1].element_type} as default", str(default))
        return [tensor_of(sig.types[1].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, indices: AnyArray, values: AnyArray, default: AnyArray | None) -> AnyArray:
        shape = sig.ints("output_shape")
        out = np.full(shape, 0 if default is None else default.reshape(()), values.dtype)
        points = indices.reshape(-1, len(shape)).astype(np.int64).tolist()
        for point, value in zip(points, values.reshape(-1), strict=True):
            if all(0 <= at < extent for at, extent in zip(point, shape, strict=True)):
                out[tuple(point)] = value
        return out
