"""Operators that read at indices which are data.

An index below 0 counts from the end where the operator says so; one outside is brought to the nearest inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ...runtime.interpreting.dynamic import one_hot
from ..element_types import DTYPES
from ..sizes.types import tensor_of
from .attributes import integer, integer_or_size, optional_integer, real, string
from .elementwise import broadcast_shape
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor
from .traits import INJECTIVE, INTEGERS, OPAQUE


def inside(indices: AnyArray, extent: int) -> AnyArray:
    """Indices of an axis, those below 0 counted from the end, those outside clamped."""
    wide = indices.astype(np.int64)
    return np.clip(np.where(wide < 0, wide + extent, wide), 0, max(extent - 1, 0))


class Indexed(Operator):
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)


@irdl_op_definition
class GatherOp(Indexed):
    """The elements of `data` at the points of `indices`, of which the coordinate along `axis` is the index there."""

    name = "relay.gather"
    axis = integer(0)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS, 1)
        data, indices = sig.shape(0), sig.shape(1)
        axis = sig.axis(sig.int("axis"), len(data))
        if len(indices) != len(data) or any(
            i > d for at, (i, d) in enumerate(zip(indices, data, strict=True)) if at != axis
        ):
            sig.fail(f"indices of {len(data)} dimensions inside of {sig.types[0]}", str(sig.types[1]))
        sig.require_source(0, [data[axis]], indices)
        return [tensor_of(sig.types[0].element_type, indices)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, indices: AnyArray) -> AnyArray:
        axis = sig.int("axis") % x.ndim
        window = tuple(slice(None if at == axis else n) for at, n in enumerate(indices.shape))
        return np.take_along_axis(x[window], inside(indices, x.shape[axis]), axis)


@irdl_op_definition
class GatherNdOp(Indexed):
    """Slices of `data` at points: `indices` is (m, y0, y1, ..), of which the first dimension holds the coordinates.

    The first `batch_dims` dimensions of the data go along with y0, y1, ..; the coordinates are those of the next m.
    """

    name = "relay.gather_nd"
    batch_dims = integer(0)
    index_rank = optional_integer()

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS, 1)
        data, indices, batch = sig.shape(0), sig.shape(1), sig.int("batch_dims")
        if not indices or not 0 <= batch < len(indices) or indices[0] + batch > len(data):
            sig.fail(f"coordinates of {sig.types[0]} behind {batch} batch dimensions", str(sig.types[1]))
        if indices[1 : batch + 1] != data[:batch]:
            sig.fail(f"indices with batch dimensions {list(data[:batch])}", str(sig.types[1]))
        sig.require_source(0, data[batch : batch + indices[0]], indices[1:])
        return [tensor_of(sig.types[0].element_type, (*indices[1:], *data[batch + indices[0] :]))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, indices: AnyArray) -> AnyArray:
        batch, rank = sig.int("batch_dims"), indices.ndim - 1
        grid = np.ogrid[tuple(slice(n) for n in indices.shape[1:])]
        points = [inside(row, x.shape[batch + m]) for m, row in enumerate(indices)]
        elements = (
            x[(*grid[:batch], *points)] if batch or points else np.broadcast_to(x, (*indices.shape[1:], *x.shape))
        )
        return elements.reshape(*indices.shape[1:], *x.shape[batch + len(points) :]) if rank else elements


@irdl_op_definition
class OneHotOp(Operator):
    """`on_value` where the new axis, of extent `depth`, equals the index, else `off_value`; both scalars.

    An index outside gives a row of `off_value`.
    """

    name = "relay.one_hot"
    indices = operand_def(TensorType)
    on_value = operand_def(TensorType)
    off_value = operand_def(TensorType)
    result = result_def(TensorType)
    depth = integer_or_size(1)
    axis = integer(-1)
    dtype = string("float32")
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS)
        shape = list(sig.shape(0))
        shape.insert(sig.axis(sig.int("axis"), len(shape) + 1), sig.int("depth"))
        actual = f"{sig.types[1]}, {sig.types[2]}, {sig.int('depth')}"
        if prod(sig.shape(1)) != 1 or prod(sig.shape(2)) != 1:
            sig.fail("two scalars and a depth of at least 0", actual)
        sig.require(sig.int("depth"), "two scalars and a depth of at least 0", actual)
        return [tensor_of(DTYPES[sig.str("dtype")], shape)]

    @classmethod
    def evaluate(cls, sig: Signature, indices: AnyArray, on: AnyArray, off: AnyArray) -> AnyArray:
        return one_hot(indices, on, off, sig.int("depth"), sig.int("axis") % (indices.ndim + 1))


@irdl_op_definition
class AdvIndexOp(Operator):
    """numpy's `data[i0, i1, ..]`: index tensors, which broadcast, for the first dimensions."""

    name = "relay.adv_index"
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        count = len(sig.types) - 1
        if not 1 <= count <= len(sig.shape(0)):
            sig.fail("a tensor and indices for some of its dimensions", f"{count + 1} operands")
        shape: tuple[int, ...] = ()
        for at in range(1, count + 1):
            sig.of(INTEGERS, at)
            shape = broadcast_shape(sig, shape, sig.shape(at))
        sig.require_source(0, sig.shape(0)[:count], shape)
        return [tensor_of(sig.types[0].element_type, (*shape, *sig.shape(0)[count:]))]

    @classmethod
    def evaluate(cls, sig: Signature, inputs: Sequence[AnyArray]) -> AnyArray:
        x, *indices = inputs
        return x[tuple(inside(row, x.shape[at]) for at, row in enumerate(indices))]


@irdl_op_definition
class ArgwhereOp(Operator):
    """The points of the elements that are not 0, in row-major order, and how many there are.

    (n, rank) of int64 for n elements, filled with zeros behind the last point; and a scalar of int64.
    """

    name = "relay.padded_argwhere"
    condition = operand_def(TensorType)
    points = result_def(TensorType)
    number = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = sig.shape(0)
        return [tensor_of(DTYPES["int64"], (prod(shape), len(shape))), tensor_of(DTYPES["int64"], ())]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> tuple[AnyArray, ...]:
        positions = np.argwhere(x)
        points = np.zeros((x.size, x.ndim), np.int64)
        points[: len(positions)] = positions
        return points, np.asarray(len(positions))


@irdl_op_definition
class UnravelIndexOp(Operator):
    """The points of row-major positions in a tensor whose extents are the second operand: (rank, n) of (n), clamped."""

    name = "relay.unravel_index"
    data = operand_def(TensorType)
    shape = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS)
        sig.of(INTEGERS, 1)
        (rank,) = sig.rank(1, 1)
        return [tensor_of(sig.types[0].element_type, (rank, *sig.shape(0)))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, shape: AnyArray) -> AnyArray:
        return np.stack(np.unravel_index(np.clip(x, 0, prod(shape.tolist()) - 1), shape.tolist()))


@irdl_op_definition
class SequenceMaskOp(Operator):
    """`mask_value` behind the first `valid_length` elements of a sequence, along `axis` (0, or 1 behind the batch)."""

    name = "relay.sequence_mask"
    data = operand_def(TensorType)
    valid_length = operand_def(TensorType)
    result = result_def(TensorType)
    mask_value = real(0.0)
    axis = integer(0)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape, axis = sig.shape(0), sig.int("axis")
        if len(shape) < 2 or axis not in (0, 1) or sig.shape(1) != (shape[1 - axis],):
            sig.fail("axis 0 or 1, and a length for each row of the other", f"{axis}, {sig.types[0]}, {sig.types[1]}")
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, length: AnyArray) -> AnyArray:
        axis = sig.int("axis")
        index = np.arange(int(x.shape[axis]))
        kept = index[:, None] < length if axis == 0 else index < length[:, None]
        return np.where(kept.reshape(*kept.shape, *[1] * (x.ndim - 2)), x, x.dtype.type(sig.get("mask_value")))


@irdl_op_definition
class ReverseSequenceOp(Operator):
    """The first `seq_lengths[b]` elements along `seq_axis` in reverse order, of each entry b of `batch_axis`."""

    name = "relay.reverse_sequence"
    data = operand_def(TensorType)
    seq_lengths = operand_def(TensorType)
    result = result_def(TensorType)
    seq_axis = integer(1)
    batch_axis = integer(0)
    traits = traits_def(INJECTIVE)

    @classmethod
    def axes(cls, sig: Signature) -> tuple[int, int]:
        """The axis of time and that of the batch."""
        rank = len(sig.shape(0))
        return sig.axis(sig.int("seq_axis"), rank, "seq_axis"), sig.axis(sig.int("batch_axis"), rank, "batch_axis")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.of(INTEGERS, 1)
        time, batch = cls.axes(sig)
        if time == batch or sig.shape(1) != (sig.shape(0)[batch],):
            sig.fail("two axes, and a length for each entry of the batch", f"{time}, {batch} and {sig.types[1]}")
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, lengths: AnyArray) -> AnyArray:
        time, batch = cls.axes(sig)
        out = x.copy()
        for b, length in enumerate(np.clip(lengths, 0, x.shape[time]).tolist()):
            rows, there = np.moveaxis(out, (batch, time), (0, 1)), np.moveaxis(x, (batch, time), (0, 1))
            rows[b, :length] = there[b, :length][::-1]
        return out
