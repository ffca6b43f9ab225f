"""Operators that write parts of a tensor: at indices which are data, in a range, on diagonals.

An index below 0 counts from the end, one outside is brought to the nearest inside. Of several updates of one element,
the later ones act on what the earlier ones left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def

from ..sizes import same_shape
from .attributes import boolean, integer, ints, optional_ints, required_ints, string
from .indexing import inside
from .numerics import AnyArray, widened
from .operator import Operator, Signature, Tensor
from .traits import INJECTIVE, INTEGERS, OPAQUE
from .transform import StridedSliceOp

UPDATES: dict[str, Callable[[AnyArray, AnyArray], AnyArray]] = {
    "update": lambda old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
"""The effect of an update on an element, by the name of the mode."""


class Scatter(Operator):
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(OPAQUE)

    @classmethod
    def check(cls, sig: Signature, mode: str) -> None:
        """Check what all have in common."""
        sig.of(INTEGERS, 1)
        if sig.types[2].element_type != sig.types[0].element_type:
            sig.fail(f"updates of {sig.types[0].element_type}", str(sig.types[2]))
        if sig.str(mode) not in UPDATES:
            sig.fail(f"{mode} among {', '.join(UPDATES)}", repr(sig.str(mode)))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return 0 in sig.shape(2)


@irdl_op_definition
class ScatterElementsOp(Scatter):
    """`data`, updated at the points of `updates`, of which the coordinate along `axis` is the index there."""

    name = "relay.scatter_elements"
    axis = integer(0)
    reduction = string("update")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.check(sig, "reduction")
        data, indices = sig.shape(0), sig.shape(1)
        axis = sig.axis(sig.int("axis"), len(data))
        fits = len(indices) == len(data) and sig.shape(2) == indices
        if not fits or any(i > d for at, (i, d) in enumerate(zip(indices, data, strict=True)) if at != axis):
            wanted = f"indices and updates of one shape inside of {sig.types[0]}"
            sig.fail(wanted, f"{sig.types[1]} and {sig.types[2]}")
        sig.require_source(0, [data[axis]], indices)
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, indices: AnyArray, updates: AnyArray) -> AnyArray:
        out, axis, act = x.copy(), sig.int("axis") % x.ndim, UPDATES[sig.str("reduction")]
        rows = inside(indices, x.shape[axis])
        for point in np.ndindex(*indices.shape):
            target = (*point[:axis], rows[point], *point[axis + 1 :])
            out[target] = act(widened(out[target]), widened(updates[point])).astype(x.dtype)
        return out


@irdl_op_definition
class ScatterNdOp(Scatter):
    """`data`, updated in slices at points: `indices` is (m, y0, y1, ..), with coordinates of the first m dimensions.

    `updates` has a slice of the data's other dimensions for each of (y0, y1, ..).
    """

    name = "relay.scatter_nd"
    mode = string("update")

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        cls.check(sig, "mode")
        data, indices = sig.shape(0), sig.shape(1)
        if not indices or indices[0] > len(data) or sig.shape(2) != (*indices[1:], *data[indices[0] :]):
            wanted = f"coordinates of {sig.types[0]} and slices of it"
            sig.fail(wanted, f"{sig.types[1]} and {sig.types[2]}")
        sig.require_source(0, data[: indices[0]], indices[1:])
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, indices: AnyArray, updates: AnyArray) -> AnyArray:
        out, act = x.copy(), UPDATES[sig.str("mode")]
        rows = [inside(row, x.shape[m]) for m, row in enumerate(indices)]
        for point in np.ndindex(*indices.shape[1:]):
            target = tuple(int(row[point]) for row in rows)
            out[target] = act(widened(out[target]), widened(updates[point])).astype(x.dtype)
        return out


@irdl_op_definition
class TensorScatterOp(Operator):
    """A cache with new rows along `axis`: entry b of the first axis gets those of `updates` from `indices[b]` on.

    In mode "circular" what would go behind the end goes to the start; in mode "linear" it is dropped.
    """

    name = "relay.tensor_scatter"
    data = operand_def(TensorType)
    updates = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(-2)
    mode = string("linear")
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        data, updates = sig.shape(0), sig.shape(1)
        axis = sig.axis(sig.int("axis"), len(data))
        same = len(updates) == len(data) and updates[:axis] + updates[axis + 1 :] == data[:axis] + data[axis + 1 :]
        expected = "updates of some rows, and a start for each entry of the batch"
        if not axis or not same or sig.shape(2) != data[:1]:
            sig.fail(expected, ", ".join(map(str, sig.types)))
        sig.require(data[axis] - updates[axis], expected, ", ".join(map(str, sig.types)))
        if sig.str("mode") not in ("linear", "circular"):
            sig.fail("mode linear or circular", repr(sig.str("mode")))
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, updates: AnyArray, indices: AnyArray) -> AnyArray:
        axis = sig.int("axis") % x.ndim
        out = x.copy()
        rows, new = np.moveaxis(out, axis, 1), np.moveaxis(updates, axis, 1)
        for b, start in enumerate(indices.tolist()):
            for t in range(new.shape[1]):
                at = (start + t) % rows.shape[1] if sig.str("mode") == "circular" else start + t
                if 0 <= at < rows.shape[1]:
                    rows[b, at] = new[b, t]
        return out


@irdl_op_definition
class StridedSetOp(Operator):
    """`data` with `v` in place of its strided slice, which is described as for `relay.strided_slice`.

    in_place: the result is in the memory of `data`, so that nothing but the slice is written. It is then an argument of
    the program that nothing else reads, and a result for which callers give the same memory.
    """

    name = "relay.strided_set"
    data = operand_def(TensorType)
    v = operand_def(TensorType)
    result = result_def(TensorType)
    begin = required_ints()
    end = required_ints()
    strides = optional_ints()
    axes = optional_ints()
    in_place = boolean(False)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.same_element()
        shape = tuple(count for _, count, _ in StridedSliceOp.spans(sig))
        if not same_shape(sig.shape(1), shape):
            sig.fail(f"values of shape {list(shape)}", str(sig.types[1]))
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, v: AnyArray) -> AnyArray:
        out = x.copy()
        out[np.ix_(*ranges(sig))] = v
        return out


@irdl_op_definition
class MatrixSetDiagOp(Operator):
    """The matrices of `input`, the last two axes, with new diagonals number k[0] to k[1] (above the main one from 1).

    `diagonal` is (.., d, m), or (.., m) for one: the highest diagonal first, m the length of the longest. Shorter ones
    stand at the right or left of their rows as `align` says, of those above and of those below the main one.
    """

    name = "relay.matrix_set_diag"
    input = operand_def(TensorType)
    diagonal = operand_def(TensorType)
    result = result_def(TensorType)
    k = ints(0, 0)
    align = string("RIGHT_LEFT")
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        sig.same_element()
        *batch, rows, columns = sig.shape(0)
        low, high = sig.spatial("k", 2)
        longest = min(rows + min(high, 0), columns + min(-low, 0))
        wanted = (*batch, *([high - low + 1] if low != high else []), longest)
        sides = sig.str("align").split("_")
        if low > high or sig.shape(1) != wanted or len(sides) != 2 or not set(sides) <= {"LEFT", "RIGHT"}:
            sig.fail(f"diagonals of shape {list(wanted)}, aligned LEFT or RIGHT", f"{sig.types[1]}, {sig.str('align')}")
        return [sig.types[0]]

    @classmethod
    def place(cls, sig: Signature, number: int) -> int:
        """Return the start of the row of diagonal `number` in `diagonal`."""
        rows, columns = sig.shape(0)[-2:]
        upper, lower = sig.str("align").split("_")
        length = min(rows + min(number, 0), columns + min(-number, 0))
        return sig.shape(1)[-1] - length if (upper if number >= 0 else lower) == "RIGHT" else 0

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, diagonal: AnyArray) -> AnyArray:
        low, high = sig.spatial("k", 2)
        out, (rows, columns) = x.copy(), x.shape[-2:]
        parts = diagonal if low != high else diagonal[..., None, :]
        for number in range(low, high + 1):
            length, first = min(rows + min(number, 0), columns + min(-number, 0)), cls.place(sig, number)
            along = np.arange(int(length))
            out[..., along - min(number, 0), along + max(number, 0)] = parts[..., high - number, first : first + length]
        return out


def ranges(sig: Signature) -> list[range]:
    """The indices of a strided slice of the first operand, per axis."""
    old = sig.shape(0)
    begin, end = sig.ints("begin"), sig.ints("end")
    axes, strides = sig.get("axes") or tuple(range(len(begin))), sig.get("strides") or (1,) * len(begin)
    if not len(begin) == len(end) == len(axes) == len(strides) <= len(old) or 0 in strides:
        sig.fail("begin, end, axes and strides other than 0 of one length", f"{begin}, {end}, {axes}, {strides}")
    indices = [range(extent) for extent in old]
    for axis, b, e, s in zip(axes, begin, end, strides, strict=True):
        at = sig.axis(axis, len(old), "axes")
        indices[at] = range(old[at])[b:e:s]
    return indices
