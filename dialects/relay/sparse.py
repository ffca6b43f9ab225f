"""Sparse tensors: rows or elements that are given with the places where they belong. What is given for none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def

from ...runtime.interpreting.dynamic import dense
from ..sizes.types import extents_of, tensor_of
from .attributes import boolean, required_integer, required_ints
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
            if default.element_type != sig.types[1].element_type or prod(extents_of(default)) != 1:
                sig.fail(f"one number of {sig.types[1].element_type} as default", str(default))
        return [tensor_of(sig.types[1].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, indices: AnyArray, values: AnyArray, default: AnyArray | None) -> AnyArray:
        return dense(sig.ints("output_shape"), indices, values, default)


class CompressedRows(Operator):
    """Operators of a matrix in compressed rows (CSR): row r has the `data` from `indptr[r]` to before `indptr[r + 1]`,
    in the columns that `indices` say. Blocks (n, p, q) in the place of numbers (BSR) are p rows of q columns.
    """

    traits = traits_def(OPAQUE)

    @classmethod
    def rows(cls, sig: Signature, first: int, blocks: bool) -> tuple[int, int, int]:
        """Return the number of rows, of blocks, and the extents of a block; operand `first` is the data."""
        data = sig.rank(first, 1, 3) if blocks else sig.rank(first, 1)
        (ends,) = sig.rank(first + 2, 1)
        for index in (first + 1, first + 2):
            sig.of(INTEGERS, index)
        if sig.rank(first + 1, 1) != data[:1] or ends < 1:
            sig.fail("a column for each entry, and where rows end", f"{sig.types[first + 1]}, {sig.types[first + 2]}")
        return (ends - 1, *data[1:]) if len(data) == 3 else (ends - 1, 1, 1)


@irdl_op_definition
class SparseDenseOp(CompressedRows):
    """`dense` (m, k) times the transpose of a sparse matrix (n, k); with `sparse_lhs` that matrix times `dense`'s
    transpose, (n, m). Half precision is summed in float32.
    """

    name = "relay.nn.sparse_dense"
    dense = operand_def(TensorType)
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    indptr = operand_def(TensorType)
    result = result_def(TensorType)
    sparse_lhs = boolean(False)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        count, _ = sig.rank(0, 2)
        rows, height, _ = cls.rows(sig, 1, blocks=True)
        if sig.types[0].element_type != sig.types[1].element_type or sig.types[0].element_type == i1:
            sig.fail("numbers of one dtype", f"{sig.types[0]} and {sig.types[1]}")
        shape = (rows * height, count) if sig.get("sparse_lhs") else (count, rows * height)
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def evaluate(cls, sig: Signature, dense: AnyArray, data: AnyArray, columns: AnyArray, ends: AnyArray) -> AnyArray:
        rows, height, width = cls.rows(sig, 1, blocks=True)
        x, blocks = widened(dense), widened(data).reshape(-1, height, width)
        out = np.zeros((len(x), rows, height), x.dtype)
        for row in range(rows):
            for at in range(ends[row], ends[row + 1]):
                first = columns[at] * width
                out[:, row] += x[:, first : first + width] @ blocks[at].T
        flat = out.reshape(len(x), rows * height)
        return flat.T if sig.get("sparse_lhs") else flat


@irdl_op_definition
class SparseAddOp(CompressedRows):
    """`dense` (m, n) and a sparse matrix of as many rows."""

    name = "relay.nn.sparse_add"
    dense = operand_def(TensorType)
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    indptr = operand_def(TensorType)
    result = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        count, _ = sig.rank(0, 2)
        rows, _, _ = cls.rows(sig, 1, blocks=False)
        if sig.types[0].element_type != sig.types[1].element_type or sig.types[0].element_type == i1 or rows != count:
            sig.fail(f"{rows} rows of numbers of one dtype", f"{sig.types[0]} and {sig.types[1]}")
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, dense: AnyArray, data: AnyArray, columns: AnyArray, ends: AnyArray) -> AnyArray:
        out = widened(dense).copy()
        rows = np.repeat(np.arange(len(dense)), np.diff(ends))
        np.add.at(out, (rows, columns), widened(data))
        return out


@irdl_op_definition
class SparseTransposeOp(CompressedRows):
    """The transpose of a square sparse matrix, in compressed rows: data, indices and indptr."""

    name = "relay.nn.sparse_transpose"
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    indptr = operand_def(TensorType)
    sparse_data_out = result_def(TensorType)
    sparse_indices_out = result_def(TensorType)
    sparse_indptr_out = result_def(TensorType)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.rows(sig, 0, blocks=False)
        return list(sig.types)

    @classmethod
    def evaluate(cls, sig: Signature, data: AnyArray, columns: AnyArray, ends: AnyArray) -> tuple[AnyArray, ...]:
        order = np.argsort(columns, kind="stable")
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        starts = np.searchsorted(columns[order], np.arange(len(ends)))
        return data[order], rows[order], starts


@irdl_op_definition
class SparseReshapeOp(Operator):
    """The indices of a sparse tensor of `prev_shape` after it is reshaped to `new_shape`, and that shape.

    sparse_indices (n, r), prev_shape (r,), new_shape (s,), of which one number may be -1, that takes what is left; the
    results are (n, s) and (s,).
    """

    name = "relay.sparse_reshape"
    sparse_indices = operand_def(TensorType)
    prev_shape = operand_def(TensorType)
    new_shape = operand_def(TensorType)
    indices = result_def(TensorType)
    shape = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        for index in range(3):
            sig.of(INTEGERS, index)
        count, rank = sig.rank(0, 2)
        (own,) = sig.rank(2, 1)
        if sig.rank(1, 1) != (rank,) or rank < 1 or own < 1:
            sig.fail(f"an extent for each of {rank} columns", str(sig.types[1]))
        return [tensor_of(sig.types[0].element_type, (count, own)), tensor_of(sig.types[2].element_type, (own,))]

    @classmethod
    def evaluate(cls, sig: Signature, indices: AnyArray, before: AnyArray, after: AnyArray) -> tuple[AnyArray, ...]:
        old = before.astype(np.int64)
        rest = after[after != -1].astype(np.int64)
        new = np.where(after == -1, old.prod() // max(rest.prod(), 1), after)
        flat = indices.astype(np.int64) @ np.append(np.cumprod(old[:0:-1])[::-1], 1)
        strides = np.append(np.cumprod(new[:0:-1])[::-1], 1)
        return flat[:, None] // strides % new, new
