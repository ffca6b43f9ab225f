"""Convolutions that no operator says, of plain images: computed in blocks of channels, as those of operators are.

    C[n, o, y, x] = sum(A[n, i, y + p, x + q] * B[o, i, p, q])

becomes four stages: A and B packed in blocks of channels, the convolution of these, and its result as it was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr, StringAttr, UnitAttr, f32, f64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import substitute
from ...dialects.relay.signature import as_tensor
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.sizes.types import extents_of
from ...passes.relay.blocking import vector_block
from ...provenance.builder import LocatedBuilder, fill
from ...support.machine import CHANNEL_BLOCK
from .convolution import are_joined
from .structure import Operand, name_computes, operands_of

_RANK = 4
"""Axes of the result: images, channels, rows and columns of pixels."""
_CHANNELS = 1
"""The axis of channels in results and images."""
_LEAST = CHANNEL_BLOCK // 2
"""Channels that are no multiple of this leave more of a vector empty than packing wins, and so do few of them."""


def prepare(func: te.FuncOp) -> te.FuncOp:
    """Bring tensor expressions that no operator says to the form that strategies expect; returns them.

    Stages get the tags of their structure, and convolutions are packed.
    """
    computes = func.computes
    name_computes(computes)
    for compute in computes:
        tag = compute.attributes.get("tag")
        if tag == StringAttr("conv2d_nchw") and (packing := _Packing.of(compute)) is not None:
            packing.apply()
    return func


class _Packing(NamedTuple):
    """A convolution of plain images that is to be packed."""

    compute: te.ComputeOp
    image: Operand
    weight: Operand
    summed: int
    """The reduce axis of input channels, among all axes."""
    weight_dims: tuple[int, int]
    """The dimensions of output and of input channels in the weight."""
    blocks: tuple[int, int]
    """The output and the input channels of a block."""

    @staticmethod
    def of(compute: te.ComputeOp) -> _Packing | None:
        """Return how a convolution is packed; None where it is none of plain images, or takes less time as it is."""
        operands = operands_of(compute)
        if compute.rank != _RANK or operands is None or any(operand.blocked for operand in operands):
            return None
        image, weight = operands if _CHANNELS in operands[1].axes else operands[::-1]
        shape = _shape(image)
        extents = (*compute.shape, *compute.reduce_shape)
        closed = all(isinstance(extent, int) for extent in (*extents, *shape, *_shape(weight)))
        if len(shape) != _RANK or not closed or any(operand.read.result.type not in (f32, f64) for operand in operands):
            return None
        summed, columns = _plain(image)[_CHANNELS], _plain(weight)
        if summed is None or summed < _RANK or 0 in weight.axes or not {_CHANNELS, summed} <= set(columns):
            return None
        dims = columns.index(_CHANNELS), columns.index(summed)
        sizes = list(map(known, extents))
        # Of an image whose elements are needed few times, all products take about as long as it takes to pack.
        few = prod(sizes) <= CHANNEL_BLOCK * prod(map(known, shape))
        if few or sizes[_CHANNELS] < CHANNEL_BLOCK or sizes[_CHANNELS] % _LEAST:
            return None
        blocks = vector_block(sizes[_CHANNELS], CHANNEL_BLOCK), vector_block(sizes[summed], CHANNEL_BLOCK)
        return _Packing(compute, image, weight, summed, dims, blocks)

    def apply(self) -> None:
        """Replace the convolution by four stages."""
        compute, (outputs, _) = self.compute, self.blocks
        batch, channels, *pixels = map(known, compute.shape)
        joined = self._is_of_single_pixels() and are_joined(batch, channels // outputs, pixels)
        blocked = self._blocked(self._packed_image(), self._packed_weight(), joined)
        n, o, y, x = _dims(_RANK)
        place = [y * pixels[1] + x] if joined else [y, x]
        names = [axis.name_hint or f"ax{number}" for number, axis in enumerate(compute.axes)]
        point = [n, o // outputs, *place, o % outputs]
        result = self._copy(
            blocked,
            compute.label.data,
            compute.shape,
            point,
            compute.location,
            names,
            keep="keep" in compute.attributes,
        )
        compute.result.replace_all_uses_with(result)
        compute.detach()
        compute.erase()

    def _is_of_single_pixels(self) -> bool:
        """Return whether windows are single pixels, side by side, of all of the image."""
        pixels = list(range(_CHANNELS + 1, _RANK))
        return _plain(self.image)[2:] == pixels and _shape(self.image)[2:] == self.compute.shape[2:]

    def _packed_image(self) -> SSAValue:
        """The image with the channels that are summed in blocks: [n, i // b, y, x, i % b]."""
        batch, _, *pixels = _shape(self.image)
        block, channels = self.blocks[1], known(self.compute.reduce_shape[self.summed - _RANK])
        n, chunk, y, x, lane = _dims(_RANK + 1)
        tensor, location = self.image.read.tensor, self.image.read.location
        extents = [batch, channels // block, *pixels, block]
        return self._copy(tensor, "data_vec", extents, [n, chunk * block + lane, y, x], location)

    def _packed_weight(self) -> SSAValue:
        """The weight with both channels in blocks: [o // a, i // b, .., i % b, o % a]."""
        shape, (outputs, inputs) = _shape(self.weight), self.blocks
        others = [dim for dim in range(len(shape)) if dim not in self.weight_dims]
        chunks = [known(shape[dim]) // block for dim, block in zip(self.weight_dims, self.blocks, strict=True)]
        extents = [*chunks, *(shape[dim] for dim in others), inputs, outputs]
        o, i, *taps, i_lane, o_lane = _dims(len(extents))
        at = dict(zip((*self.weight_dims, *others), (o * outputs + o_lane, i * inputs + i_lane, *taps), strict=True))
        tensor, location = self.weight.read.tensor, self.weight.read.location
        return self._copy(tensor, "kernel_vec", extents, [at[dim] for dim in range(len(shape))], location)

    def _blocked(self, image: SSAValue, weight: SSAValue, joined: bool) -> SSAValue:
        """The convolution of packed operands; joined: pixels are one axis."""
        original, (outputs, inputs) = self.compute, self.blocks
        batch, channels, *pixels = map(known, original.shape)
        hints = [axis.name_hint or f"ax{number}" for number, axis in enumerate(original.block.args)]
        taps = [axis for axis in range(_RANK, len(hints)) if axis != self.summed]
        sizes = dict(enumerate(map(known, (*original.shape, *original.reduce_shape))))
        places, names = ([prod(pixels)], ["p"]) if joined else (pixels, hints[2:_RANK])
        compute = te.ComputeOp.make(
            f"{original.label.data}_NCHWc",
            [batch, channels // outputs, *places, outputs],
            original.result.type.element_type,
            reduce_extents=[sizes[self.summed] // inputs, *(sizes[axis] for axis in taps), inputs],
            reducer="sum",
            names=[hints[0], "oc", *names, "ol", "ic", *(hints[axis] for axis in taps), "il"],
        )
        compute.attributes |= original.attributes | {"tag": StringAttr("conv2d_NCHWc")}
        n, o, *pixel, o_lane, i = (dims := _dims(len(compute.block.args)))[: len(places) + 4]
        old = {0: n, **dict(zip(taps, dims[len(places) + 4 :], strict=False))}
        old |= {2: pixel[0] // pixels[1], 3: pixel[0] % pixels[1]} if joined else {2: pixel[0], 3: pixel[1]}
        first, _, *row = _at(self.image, old)
        others = [at for dim, at in enumerate(_at(self.weight, old)) if dim not in self.weight_dims]
        moved = {
            self.image.read: (image, [first, i, *row, dims[-1]]),
            self.weight.read: (weight, [o, i, *others, dims[-1], o_lane]),
        }
        values: dict[SSAValue, SSAValue] = {}
        builder = LocatedBuilder(compute.block, original.location)
        for op in original.block.ops:
            if isinstance(op, te.ReadOp):
                tensor, point = moved[op]
                read = te.ReadOp.make(tensor, affine_map(len(dims), tuple(point)), compute.block.args)
                with builder.located(op.location):
                    values[op.result] = builder.add(read).result
            elif not isinstance(op, te.IndexOp):
                builder.add(op.clone(values))
        return self._added(compute, original.location)

    def _copy(
        self,
        tensor: SSAValue,
        label: str,
        extents: Sequence[Size],
        point: Sequence[AffineExpr],
        location: LocationAttr,
        names: Sequence[str] = (),
        keep: bool = True,
    ) -> SSAValue:
        """Add a stage of the elements of a tensor at a point; keep: it has a buffer."""
        element = as_tensor(tensor).element_type
        compute = te.ComputeOp.make(label, extents, element, names=names)
        builder = LocatedBuilder(compute.block, location)
        read = te.ReadOp.make(tensor, affine_map(len(extents), tuple(point)), compute.block.args)
        builder.add(te.YieldOp(builder.add(read)))
        if keep:
            compute.attributes["keep"] = UnitAttr()
        return self._added(compute, location)

    def _added(self, compute: te.ComputeOp, location: LocationAttr) -> SSAValue:
        """Put a stage in front of the convolution."""
        fill(compute, location)
        block = self.compute.parent
        assert block is not None
        block.insert_op_before(compute, self.compute)
        return compute.result


def _shape(operand: Operand) -> tuple[Size, ...]:
    return extents_of(as_tensor(operand.read.tensor))


def _dims(count: int) -> list[AffineExpr]:
    return [AffineDimExpr(number) for number in range(count)]


def _at(operand: Operand, axes: Mapping[int, AffineExpr]) -> list[AffineExpr]:
    """The indices of an operand where its convolution's axes have these values, and others are at 0."""
    args: list[SSAValue] = list(operand.compute.block.args)
    dims = [axes.get(args.index(index), AffineConstantExpr(0)) for index in operand.read.indices]
    return [substitute(expr, dims) for expr in operand.read.map.data.results]


def _plain(operand: Operand) -> list[int | None]:
    """The axis that is the index of each dimension of an operand; None where it is none as it is."""
    exprs = _at(operand, {axis: AffineDimExpr(axis) for axis in range(len(operand.compute.block.args))})
    return [expr.position if isinstance(expr, AffineDimExpr) else None for expr in exprs]
