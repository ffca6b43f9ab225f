"""The loops of a kernel inside those of another: how an intrinsic's replacement takes a tile's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects import tir
from ...dialects.affine import ZERO, Range, flatten, linear, substitute
from ...dialects.sizes.kernel import affine_map
from ...provenance.builder import LocatedBuilder

Place: TypeAlias = tuple[SSAValue, Callable[[Sequence[AffineExpr]], list[AffineExpr]]]
"""A buffer, and where in it a point of an argument is."""


class Host(Protocol):
    """The surroundings of the loops: dim i of every expression is `vars[i]`, which lies in `ranges[i]`."""

    builder: LocatedBuilder
    vars: list[SSAValue]
    ranges: list[Range]

    def access(self, exprs: Sequence[AffineExpr]) -> tuple[AffineMap, list[SSAValue]]: ...


def inline_kernel(host: Host, func: tir.PrimFuncOp, places: Mapping[SSAValue, Place]) -> None:
    """Copy the body of `func` to where the host builds; `places` says what its arguments are."""
    depth = len(host.vars)
    _Copy(host, places).block(func.block)
    del host.vars[depth:], host.ranges[depth:]


class _Copy:
    def __init__(self, host: Host, places: Mapping[SSAValue, Place]):
        self.host = host
        self.places = dict(places)
        self.values: dict[SSAValue, SSAValue] = {}
        self.indices: dict[SSAValue, AffineExpr] = {}

    def _exprs(self, map: AffineMap, indices: Sequence[SSAValue]) -> list[AffineExpr]:
        for index in indices:
            if index not in self.indices:
                self._variable(index, self.values[index], tir.UNBOUNDED)
        dims = [self.indices[index] for index in indices]
        return [substitute(expr, dims) for expr in map.results]

    def _variable(self, old: SSAValue, new: SSAValue, values: Range) -> None:
        self.indices[old] = AffineDimExpr(len(self.host.vars))
        self.host.vars.append(new)
        self.host.ranges.append(values)

    def block(self, block: Block) -> None:
        """The ops of one block, and those inside them."""
        host, builder = self.host, self.host.builder
        for op in block.ops:
            match op:
                case tir.ForOp():
                    loop = tir.ForOp.make(op.trip_count, op.kind.data, op.var.name_hint)
                    loop.attributes.update(op.attributes)
                    builder.add(loop)
                    depth = len(host.vars)
                    self._variable(op.var, loop.var, op.bounds)
                    with builder.at(loop.block):
                        self.block(op.block)
                    del host.vars[depth:], host.ranges[depth:]
                case tir.IfOp():
                    guard, operands = host.access(self._exprs(op.guard.data, op.indices))
                    branch = builder.add(
                        tir.IfOp.make(guard, operands, likely=op.likely is not None, orelse=op.orelse is not None)
                    )
                    for mine, theirs in zip(branch.regions, op.regions, strict=True):
                        with builder.at(mine.block):
                            self.block(theirs.block)
                case tir.AllocOp():
                    type_ = op.result.type
                    buffer_copy = builder.add(
                        tir.AllocOp(tir.BufferType.of(type_.get_shape(), type_.element_type, "local"))
                    ).result
                    buffer_copy.name_hint = op.result.name_hint
                    self.places[op.result] = buffer_copy, list
                case tir.LoadOp():
                    buffer, locate = self.places[op.buffer]
                    exprs = locate(self._exprs(op.map.data, op.indices))
                    guards = self._exprs(op.guard.data, op.indices) if op.guard is not None else []
                    map, operands = host.access([*exprs, *guards])
                    cut = len(exprs)
                    load = tir.LoadOp.make(
                        buffer,
                        affine_map(map.num_dims, map.results[:cut]),
                        operands,
                        guard=affine_map(map.num_dims, map.results[cut:]) if guards else None,
                        otherwise=op.otherwise,
                    )
                    self.values[op.result] = builder.add(load).result
                case tir.StoreOp():
                    buffer, locate = self.places[op.buffer]
                    target = host.access(locate(self._exprs(op.map.data, op.indices)))
                    builder.add(tir.StoreOp.make(self.values[op.value], buffer, *target))
                case tir.IndexOp():
                    access = host.access(self._exprs(op.map.data, op.indices))
                    self.values[op.result] = builder.add(tir.IndexOp.make(*access, IndexType())).result
                case tir.CallExternOp():
                    self._call(op)
                case _:
                    copy = op.clone({**self.values, **{old: new for old, (new, _) in self.places.items()}})
                    for part in copy.walk():
                        # As all of a tile: what it is for, not where the intrinsic was declared.
                        part.location = builder.location
                    builder.add(copy)
                    self.values.update(zip(op.results, copy.results, strict=True))

    def _call(self, op: tir.CallExternOp) -> None:
        """A call with pointers to where its buffers' first elements are."""
        host, builder = self.host, self.host.builder
        arguments: list[SSAValue] = []
        offsets: dict[int, SSAValue] = {}
        for number, argument in enumerate(op.arguments):
            if argument not in self.places:
                arguments.append(self.values[argument])
                continue
            buffer, locate = self.places[argument]
            arguments.append(buffer)
            start = locate([ZERO] * len(tir.buffer_of(argument).shape))
            place = flatten(start, tir.buffer_of(buffer).strides)
            if number in op.offset_of:
                # Elements lie close together for a call, so those of the tile are counted as those of the buffer.
                place += self._exprs(AffineMap.identity(1), [op.offset_of[number]])[0]
            map, operands = host.access([place])
            if map.results[0] != ZERO:
                offsets[number] = builder.add(tir.IndexOp.make(map, operands, IndexType())).result
        call = builder.add(tir.CallExternOp(op.callee.data, arguments, op.result_types, offsets))
        self.values.update(zip(op.results, call.results, strict=True))


def lies_packed(host: Host, argument: SSAValue, place: Place) -> bool:
    """Return whether a kernel's argument, where it is placed, is as densely packed as a buffer of its own."""
    buffer, at = place
    type_, depth = tir.buffer_of(argument), len(host.ranges)
    extents = type_.get_shape()
    local = [AffineDimExpr(depth + i) for i in range(len(extents))]
    ranges = (*host.ranges, *((0, extent - 1) for extent in extents))
    form = linear(flatten(at(local), tir.buffer_of(buffer).strides), ranges)
    inside = {dim.position: stride for dim, stride, n in zip(local, type_.strides, extents, strict=True) if n > 1}
    strides = {
        atom.position if isinstance(atom, AffineDimExpr) else None: factor
        for atom, factor in form.terms
        if any(dim >= depth for dim in atom.used_dims())
    }
    return strides == inside
