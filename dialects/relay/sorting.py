"""Operators that sort, and what is found by sorting. All sorts are stable; NaN counts as greater than any number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_result_def

from ...runtime.interpreting.dynamic import greatest, order
from ..element_types import DTYPES, numpy_dtype
from ..sizes.types import tensor_of
from .attributes import boolean, integer, integer_or_size, string
from .numerics import AnyArray, is_float
from .operator import Operator, Signature, Tensor
from .traits import FLAT, OPAQUE


class Sorting(Operator):
    """Along `axis`, ascending or descending; equals stay in order."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-1)
    is_ascend = boolean(True)
    traits = traits_def(OPAQUE)

    @classmethod
    def along(cls, sig: Signature) -> int:
        """The axis, non-negative."""
        return sig.axis(sig.int("axis"), len(sig.shape(0)))


@irdl_op_definition
class SortOp(Sorting):
    name = "relay.sort"

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.along(sig)
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.take_along_axis(x, order(x, cls.along(sig), bool(sig.get("is_ascend"))), cls.along(sig))


@irdl_op_definition
class ArgsortOp(Sorting):
    """The indices that sort, as numbers of `dtype`."""

    name = "relay.argsort"
    traits = traits_def(FLAT)
    dtype = string("int32")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.along(sig)
        return [tensor_of(index_type(sig), sig.shape(0))]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return order(x, cls.along(sig), bool(sig.get("is_ascend")))


def index_type(sig: Signature):
    """The element type of indices, of the attribute `dtype`."""
    if (dtype := sig.str("dtype")) not in DTYPES:
        sig.fail(f"a dtype among {', '.join(DTYPES)}", repr(dtype))
    return DTYPES[dtype]


@irdl_op_definition
class TopKOp(Operator):
    """The `k` greatest elements along `axis` (all for a k below 1; the least with `is_ascend`), sorted.

    A symbolic k, `#relay.sizes<min(n, 100)>`, is just as many, none for 0. `ret_type`: "both" for values and indices,
    or "values" or "indices". Of equals, the one of lower index comes first.
    """

    name = "relay.topk"
    data = operand_def(TensorType)
    results_ = var_result_def(TensorType)

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        return count != 1

    k = integer_or_size(1)
    axis = integer(-1)
    ret_type = string("both")
    is_ascend = boolean(False)
    dtype = string("int32")
    traits = traits_def(OPAQUE)

    @classmethod
    def count(cls, sig: Signature) -> int:
        """The elements that are kept."""
        shape = sig.shape(0)
        if not shape:
            sig.fail("an operand of at least 1 dimension", str(sig.types[0]))
        extent = shape[sig.axis(sig.int("axis"), len(shape))]
        sized = isinstance(sig.get("k"), tuple)
        k = sig.int("k") if sized or sig.int("k") > 0 else extent
        sig.require(extent - k, f"k of at most {extent}", str(k))
        return k

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        shape = list(sig.shape(0))
        k = cls.count(sig)
        shape[sig.axis(sig.int("axis"), len(shape))] = k
        values, indices = tensor_of(sig.types[0].element_type, shape), tensor_of(index_type(sig), shape)
        kinds = {"both": [values, indices], "values": [values], "indices": [indices]}
        if sig.str("ret_type") not in kinds:
            sig.fail("ret_type both, values or indices", repr(sig.str("ret_type")))
        return kinds[sig.str("ret_type")]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> tuple[AnyArray, ...]:
        axis = sig.axis(sig.int("axis"), x.ndim)
        values, indices = greatest(x, cls.count(sig), axis, bool(sig.get("is_ascend")))
        return {"both": (values, indices), "values": (values,), "indices": (indices,)}[sig.str("ret_type")]


@irdl_op_definition
class SearchSortedOp(Operator):
    """The positions of `values` in their rows of `sorted_sequence`, the last axis: before equals, or (`right`) after.

    A sequence of one dimension is for all values; else all dimensions but the last are those of the values.
    """

    name = "relay.searchsorted"
    sorted_sequence = operand_def(TensorType)
    values = operand_def(TensorType)
    result = result_def(TensorType)
    right = boolean(False)
    dtype = string("int32")
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        rows, values = sig.shape(0), sig.shape(1)
        sig.same_element()
        if not rows or (len(rows) > 1 and rows[:-1] != values[:-1]):
            sig.fail("sequences for each row of the values", f"{sig.types[0]} and {sig.types[1]}")
        return [tensor_of(index_type(sig), values)]

    @classmethod
    def evaluate(cls, sig: Signature, rows: AnyArray, values: AnyArray) -> AnyArray:
        side = "right" if sig.get("right") else "left"
        if rows.ndim == 1:
            return np.searchsorted(rows, values, side)
        flat = zip(rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True)
        return np.reshape([np.searchsorted(row, wanted, side) for row, wanted in flat], values.shape)


@irdl_op_definition
class UniqueOp(Operator):
    """The distinct elements of a vector, or rows of a matrix, each once, and how many they are.

    Results, of which those with n rows are filled with 0 past the last distinct one: the elements (n or n x m),
    ascending by their first numbers that differ if `sorted`, else in order of appearance; where each appears first
    (n); which of them each element is (n); how often each appears (n); their number (a scalar). All but the first are
    of int64.
    """

    name = "relay.padded_unique"
    data = operand_def(TensorType)
    unique = result_def(TensorType)
    indices = result_def(TensorType)
    inverse = result_def(TensorType)
    counts = result_def(TensorType)
    number = result_def(TensorType)
    sorted = boolean(True)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        vector = tensor_of(DTYPES["int64"], sig.rank(0, 1, 2)[:1])
        return [sig.types[0], vector, vector, vector, tensor_of(DTYPES["int64"], ())]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> tuple[AnyArray, ...]:
        # NaNs differ from each other, as they do in ONNX.
        values, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True, axis=0, equal_nan=False
        )
        by = np.arange(first.size) if sig.get("sorted") else np.argsort(first, kind="stable")
        rank = np.empty_like(by)
        rank[by] = np.arange(by.size)
        padded = [np.zeros(x.shape, x.dtype), *(np.zeros(len(x), np.int64) for _ in range(3))]
        for target, part in zip(padded, (values[by], first[by], rank[inverse.ravel()], counts[by]), strict=True):
            target[: len(part)] = part
        return (*padded, np.asarray(first.size))


@irdl_op_definition
class InvertPermutationOp(Operator):
    """The position of each index in a permutation."""

    name = "relay.invert_permutation"
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.rank(0, 1)
        if is_float(numpy_dtype(sig.types[0].element_type)):
            sig.fail("integers", str(sig.types[0]))
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        out = np.zeros_like(x)
        out[x] = np.arange(x.size, dtype=x.dtype)
        return out
