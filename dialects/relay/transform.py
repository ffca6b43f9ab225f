"""Operators that move data (injective). Their meanings in numpy are views wherever numpy allows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ...runtime.interpreting.dynamic import PADS, padded
from ...runtime.values.tensors import lasting_empty
from ..sizes import (
    ENDLESS,
    Size,
    UndecidedSize,
    ceil_div,
    decide,
    proves,
    same,
    size_max,
    size_min,
    span,
    stretches,
    symbols_of,
)
from ..sizes.types import tensor_of
from .attributes import integer, optional_integer, optional_ints, required_ints, required_string, string
from .layout import blocked_shape, layout_view
from .layout_traits import Arrangement, InLayout, Layout, Takes
from .moves import CHANGES_LAYOUT, RESHAPES, TRANSPOSES
from .numerics import AnyArray
from .operator import Operator, Signature, Tensor, shape_of
from .reduce import MaxOp as MaxOp
from .reduce import MeanOp as MeanOp
from .reduce import MinOp as MinOp
from .reduce import Reduce as Reduce
from .reduce import SumOp as SumOp
from .reshape_codes import spelled_out
from .traits import BROADCAST, INJECTIVE, Selects


class Injective(Operator):
    data = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(INJECTIVE)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        """The result's shape."""
        raise NotImplementedError(cls.name)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [tensor_of(sig.types[0].element_type, tuple(cls.extents(sig)))]

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return tuple(cls.extents(sig)) == sig.shape(0)


def _reshaped(op: Operator, layout: Arrangement) -> InLayout | None:
    """A layout that has but extents of 1 elsewhere leaves the elements in order."""
    kept = layout.without([axis for axis, extent in enumerate(shape_of(op.operands[0])) if extent == 1])
    shape = shape_of(op.results[0])
    if kept.stored != kept.plain or min(shape, default=1) < 1:
        return None
    return InLayout(None, {"newshape": shape}, ReshapeOp)


def _squeezed(op: Operator, layout: Arrangement) -> InLayout | None:
    if layout.blocks:
        return None
    axes, shape = op.signature.get("axis"), shape_of(op.operands[0])
    axes = [a % len(shape) for a in axes] if axes is not None else [i for i, n in enumerate(shape) if n == 1]
    return InLayout(layout.without(axes), {"axis": sorted(map(layout.axis, axes))})


def _concatenated(op: Operator, layout: Arrangement) -> InLayout:
    return InLayout(layout, {"axis": layout.axis(op.signature.int("axis"))})


def _padded(op: Operator, layout: Arrangement) -> InLayout | None:
    widths = op.signature.ints("pad_width")
    pairs = dict(zip(layout.plain, zip(widths[::2], widths[1::2], strict=True), strict=True))
    if any(any(pairs[letter]) for letter in layout.blocks):
        return None
    return InLayout(layout, {"pad_width": [w for a in layout.axes for w in ((0, 0) if a.factor else pairs[a.letter])]})


def _sliced(op: Operator, layout: Arrangement) -> InLayout | None:
    """Axes in blocks are cut between blocks, and forwards."""
    rows: list[tuple[int, int, int]] = []
    for axis, begin, end, stride in StridedSliceOp.asked(op.signature):
        if layout.splits(axis):
            indices, block = range(shape_of(op.operands[0])[axis])[begin:end:stride], layout.block(axis)
            if stride != 1 or indices.start % block or indices.stop % block:
                return None
            begin, end = indices.start // block, indices.stop // block
        rows.append((begin, end, layout.axis(axis)))
    begins, ends, axes = ([row[column] for row in rows] for column in range(3))
    return InLayout(layout, {"begin": begins, "end": ends, "axes": axes})


class Reshaping(Injective):
    """The elements in row-major order, in another shape."""

    traits = traits_def(Layout(_reshaped), Selects(), RESHAPES)

    @classmethod
    def evaluate(cls, sig: Signature, *operands: Any) -> AnyArray:
        return operands[0].reshape(tuple(cls.extents(sig)))


@irdl_op_definition
class ReshapeOp(Reshaping):
    """0 in `newshape` copies the input's extent (unless `allowzero`), -1 takes what is left; -2 copies all extents that
    follow, -3 is the product of two, -4 splits one in the two behind it."""

    name = "relay.reshape"
    newshape = required_ints()
    allowzero = integer(0)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, (new, others, written) = sig.shape(0), spelled_out(sig, bool(sig.int("allowzero")))
        left = [i for i, extent in enumerate(new) if same(extent, -1)]
        if len(left) > 1 or any(proves(extent, "<", -1) for extent in new):
            sig.fail("a newshape of sizes with at most one -1", str(new))
        if left:
            elements, divisor = prod(others), -prod(written)
            if same(divisor, 0) or not same(elements % divisor, 0):
                divided = 0 if same(divisor, 0) else elements // divisor * divisor
                if (fits := decide(divided, "==", elements)) is None:
                    raise UndecidedSize(f"whether {divisor} divides {elements} elements", (divided, elements))
                if not fits or same(divisor, 0):
                    sig.fail(f"a newshape that divides {prod(old)} elements", str(new))
            new[left[0]] = elements // divisor
        sig.require_equal(prod(new), prod(old), f"a newshape of {prod(old)} elements", str(new))
        return new


@irdl_op_definition
class TransposeOp(Injective):
    """Without `axes` the order of the axes is reversed."""

    name = "relay.transpose"
    traits = traits_def(Selects(), TRANSPOSES)
    axes = optional_ints()

    @classmethod
    def order(cls, sig: Signature) -> tuple[int, ...]:
        """The input axis of each output axis."""
        rank, axes = len(sig.shape(0)), sig.get("axes")
        order = tuple(reversed(range(rank))) if axes is None else tuple(sig.axis(a, rank, "axes") for a in axes)
        if sorted(order) != list(range(rank)):
            sig.fail(f"axes that permute {rank} dimensions", str(list(order)))
        return order

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old = sig.shape(0)
        return [old[axis] for axis in cls.order(sig)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return x.transpose(TransposeOp.order(sig))

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return cls.order(sig) == tuple(range(len(sig.shape(0))))


@irdl_op_definition
class SqueezeOp(Reshaping):
    """Without `axis` every extent of 1 goes."""

    name = "relay.squeeze"
    traits = traits_def(Layout(_squeezed))
    axis = optional_ints()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, axes = sig.shape(0), sig.get("axis")
        gone = {i for i, e in enumerate(old) if e == 1} if axes is None else {sig.axis(a, len(old)) for a in axes}
        for i in gone:
            sig.require_equal(old[i], 1, "axes of extent 1", f"axis {sorted(gone)} of {sig.types[0]}")
        return [extent for i, extent in enumerate(old) if i not in gone]


@irdl_op_definition
class ExpandDimsOp(Reshaping):
    name = "relay.expand_dims"
    traits = traits_def(BROADCAST)
    axis = integer(0)
    num_newaxis = integer(1)

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(old) + 1)
        if sig.int("num_newaxis") < 0:
            sig.fail("num_newaxis >= 0", str(sig.int("num_newaxis")))
        return [*old[:axis], *([1] * sig.int("num_newaxis")), *old[axis:]]


@irdl_op_definition
class ConcatenateOp(Operator):
    name = "relay.concatenate"
    data = var_operand_def(TensorType)
    result = result_def(TensorType)
    axis = integer(0)
    traits = traits_def(INJECTIVE, Layout(_concatenated, Takes.PARTS))

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if not sig.types:
            sig.fail("at least one operand", "none")
        first = sig.shape(0)
        axis = sig.axis(sig.int("axis"), len(first))
        for index in range(len(sig.types)):
            shape = sig.shape(index)
            if len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
                sig.fail(f"operands that agree but for axis {axis}", ", ".join(map(str, sig.types)))
        total = sum(sig.shape(index)[axis] for index in range(len(sig.types)))
        return [tensor_of(sig.same_element(), (*first[:axis], total, *first[axis + 1 :]))]

    @classmethod
    def evaluate(cls, sig: Signature, parts: Sequence[AnyArray]) -> AnyArray:
        return np.concatenate(parts, axis=sig.int("axis"))


def _clamped(bound: Size, extent: Size, backwards: bool) -> Size:
    """A bound of a slice, between 0 and the extent, or one less; a negative one counts from the end."""
    least, most = -backwards, extent - backwards
    if proves(bound, "<", 0):
        return least if proves(bound, "<=", -ENDLESS) else size_max(bound + extent, least)
    if proves(bound, ">=", ENDLESS):
        return most
    if not proves(bound, ">=", 0):
        text = f"whether {bound} counts from the end depends on the values of sizes"
        raise UndecidedSize(text, (0, bound), relation="<=")
    return bound if proves(bound, "<=", most) else most if proves(most, "<=", bound) else size_min(bound, most)


@irdl_op_definition
class StridedSliceOp(Injective):
    """`begin`, `end`, `strides` per axis of `axes` (from axis 0 without it); negative indices count from the end."""

    name = "relay.strided_slice"
    traits = traits_def(Layout(_sliced), Selects())
    begin = required_ints()
    end = required_ints()
    strides = optional_ints()
    axes = optional_ints()

    @classmethod
    def ranges(cls, sig: Signature) -> list[range]:
        """The indices taken, per axis of the input, of which all extents are numbers."""
        indices = [range(extent) for extent in sig.shape(0)]
        for axis, begin, end, stride in cls.asked(sig):
            indices[axis] = indices[axis][begin:end:stride]
        return indices

    @classmethod
    def spans(cls, sig: Signature) -> list[tuple[Size, Size, int]]:
        """The first index, the number of indices and their stride, per axis of the input.

        Raises UndecidedSize where a call decides whether a bound counts from the end.
        """
        spans: list[tuple[Size, Size, int]] = [(0, extent, 1) for extent in sig.shape(0)]
        for axis, begin, end, stride in cls.asked(sig):
            extent = sig.shape(0)[axis]
            if not any(map(symbols_of, (extent, begin, end))):
                indices = range(extent)[begin:end:stride]
                spans[axis] = indices.start, len(indices), indices.step
            else:
                first, stop = (_clamped(bound, extent, stride < 0) for bound in (begin, end))
                length, step = (first - stop, -stride) if stride < 0 else (span(first, stop), stride)
                spans[axis] = first, ceil_div(size_max(length, 0), step), stride
        return spans

    @classmethod
    def asked(cls, sig: Signature) -> list[tuple[int, int, int, int]]:
        """Axis, begin, end and stride, as the attributes have them."""
        old = sig.shape(0)
        begin, end = sig.ints("begin"), sig.ints("end")
        axes = sig.get("axes") or tuple(range(len(begin)))
        strides = sig.get("strides") or (1,) * len(begin)
        if not len(begin) == len(end) == len(axes) == len(strides) <= len(old):
            lengths = f"{list(begin)}, {list(end)}, {list(strides)} and {list(axes)}"
            sig.fail(f"begin, end, strides and axes of one length, at most {len(old)}", lengths)
        if 0 in strides:
            sig.fail("strides other than 0", str(list(strides)))
        places = [sig.axis(a, len(old), "axes") for a in axes]
        if len(set(places)) < len(places):
            sig.fail("axes that differ", str(list(axes)))
        return list(zip(places, begin, end, strides, strict=True))

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        return [cast("int", count) for _, count, _ in cls.spans(sig)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        def taken(indices: range) -> slice:
            if not indices:
                return slice(0, 0)
            return slice(indices.start, indices.stop if indices.stop >= 0 else None, indices.step)

        return x[tuple(map(taken, StridedSliceOp.ranges(sig)))]

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        spans = zip(cls.spans(sig), sig.shape(0), strict=True)
        return all(same(begin, 0) and same(count, n) and stride == 1 for (begin, count, stride), n in spans)


@irdl_op_definition
class TakeOp(Operator):
    """The elements of `data` at `indices` along `axis`, without one in row-major order; mode "clip" brings an index
    outside into range.

    batch_dims: so many leading dimensions are those of `indices`, too, and each of their places has its own ones.
    """

    name = "relay.take"
    data = operand_def(TensorType)
    indices = operand_def(TensorType)
    result = result_def(TensorType)
    batch_dims = integer(0)
    axis = optional_integer()
    mode = string("clip")
    traits = traits_def(INJECTIVE, Selects())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        old, indices = sig.shape(0), sig.shape(1)
        if not isinstance(sig.types[1].element_type, IntegerType):
            sig.fail("integer indices", str(sig.types[1]))
        if sig.str("mode") not in ("clip", "wrap", "fast"):
            sig.fail("mode clip, wrap or fast", repr(sig.str("mode")))
        shape = indices
        if (where := cls.place(sig)) is None:
            sig.require_source(0, list(old), indices)
        else:
            axis, batch = where
            if old[:batch] != indices[:batch]:
                sig.fail(f"indices whose first {batch} extents are those of {sig.types[0]}", str(sig.types[1]))
            sig.require_source(0, [old[axis]], indices)
            shape = (*old[:axis], *indices[batch:], *old[axis + 1 :])
        return [tensor_of(sig.types[0].element_type, shape)]

    @classmethod
    def place(cls, sig: Signature) -> tuple[int, int] | None:
        """The axis, counted from the first, and the number of batch dimensions; None where all axes are one."""
        batch, ranks = sig.int("batch_dims"), (len(sig.shape(0)), len(sig.shape(1)))
        if sig.get("axis") is None:
            if batch:
                sig.fail("no batch_dims without an axis", str(batch))
            return None
        axis = sig.axis(sig.int("axis"), ranks[0])
        batch += ranks[1] if batch < 0 else 0
        if not 0 <= batch <= min(axis, ranks[1]):
            sig.fail(f"batch_dims up to {min(axis, ranks[1])}", str(sig.int("batch_dims")))
        return axis, batch

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, indices: AnyArray) -> AnyArray:
        mode = "wrap" if sig.str("mode") == "wrap" else "clip"
        if (where := cls.place(sig)) is None:
            return np.take(x, indices, mode=mode)
        axis, batch = where
        if not batch:
            return np.take(x, indices, axis=axis, mode=mode)
        gathered = np.empty((*x.shape[:axis], *indices.shape[batch:], *x.shape[axis + 1 :]), x.dtype)
        for point in np.ndindex(indices.shape[:batch]):
            gathered[point] = np.take(x[point], indices[point], axis=axis - batch, mode=mode)
        return gathered


@irdl_op_definition
class BroadcastToOp(Injective):
    name = "relay.broadcast_to"
    traits = traits_def(BROADCAST, Selects())
    shape = required_ints()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, new = sig.shape(0), sig.ints("shape")
        tail = new[len(new) - len(old) :] if len(new) >= len(old) else ()
        if len(tail) != len(old) or any(not stretches(o, n) and o != n for o, n in zip(old, tail, strict=True)):
            sig.fail(f"a shape that {sig.types[0]} broadcasts to", str(list(new)))
        return new

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        return np.broadcast_to(x, sig.ints("shape"))


@irdl_op_definition
class LayoutTransformOp(Injective):
    """From one layout to another, `NCHW` to `NCHW16c` for example: the last has channels in blocks of 16, innermost."""

    name = "relay.layout_transform"
    traits = traits_def(CHANGES_LAYOUT)
    src_layout = required_string()
    dst_layout = required_string()

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        return blocked_shape(sig, sig.shape(0))

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray) -> AnyArray:
        """A dense, aligned array; one value repeated (a broadcast view) stays a view."""
        view = layout_view(x, sig.str("src_layout"), sig.str("dst_layout"))
        if x.size and not any(x.strides):
            return view
        out = lasting_empty(view.shape, view.dtype)
        out[...] = view
        return out

    @classmethod
    def leaves_as_is(cls, sig: Signature) -> bool:
        return sig.str("src_layout") == sig.str("dst_layout")


@irdl_op_definition
class PadOp(Injective):
    """`pad_width`: before and after of each axis in turn. The second operand is the value, a scalar."""

    name = "relay.nn.pad"
    traits = traits_def(Layout(_padded))
    data = operand_def(TensorType)  # again: a class's own operands come before inherited ones
    value = operand_def(TensorType)
    pad_width = required_ints()
    pad_mode = string("constant")

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old, width = sig.shape(0), sig.ints("pad_width")
        if prod(sig.shape(1)) != 1:
            sig.fail("one pad value", str(sig.types[1]))
        sig.same_element()
        if len(width) != 2 * len(old) or any(w < 0 for w in width):
            sig.fail(f"{2 * len(old)} non-negative pad widths", str(list(width)))
        if sig.str("pad_mode") not in PADS:
            sig.fail("pad_mode constant, edge, reflect or wrap", repr(sig.str("pad_mode")))
        if sig.str("pad_mode") != "constant":
            for extent, before, after in zip(old, width[::2], width[1::2], strict=True):
                sig.require_source(0, [extent], [before + after])
        return [before + extent + after for before, extent, after in zip(width[::2], old, width[1::2], strict=True)]

    @classmethod
    def evaluate(cls, sig: Signature, x: AnyArray, value: AnyArray) -> AnyArray:
        return padded(x, value, sig.ints("pad_width"), sig.str("pad_mode"))


@irdl_op_definition
class BatchFlattenOp(Reshaping):
    name = "relay.nn.batch_flatten"

    @classmethod
    def extents(cls, sig: Signature) -> Sequence[int]:
        old = sig.shape(0)
        if not old:
            sig.fail("an operand of at least 1 dimension", str(sig.types[0]))
        return [old[0], prod(old[1:])]
