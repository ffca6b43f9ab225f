"""Axes that all stages of a function walk together become one, and those of one pass go.

What is left between two places where an index is more than an axis is one long row, so that a last axis of 3, or the
9 x 11 pixels that a mean is taken of, need not be vectors by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, DenseArrayBase, FunctionType, StringAttr, TensorType, i64
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import FAR, ZERO, Linear, Range, bounds, flatten, linear, simplify, substitute
from ...dialects.sizes import Size, SizeExpr, product, proves, same
from ...dialects.sizes.kernel import affine_map, dense, shape_map
from ...dialects.sizes.types import extents_of, tensor_of
from ...dialects.te.types import INDEX
from ...provenance.span import fuse
from .stages import JOINED

_TAGS = {
    "",
    "comm_reduce",
    "adaptive_pool_max",
    "adaptive_pool_sum",
    "softmax_output",
    "log_softmax_output",
    "layer_norm",
    JOINED,
}
"""The tags of stages whose schedules read no meaning into the number of axes."""
_WHOLE = 16
"""Rows of a multiple of so many elements are whole vectors on every machine."""

_Pair = tuple[object, int]
"""A tensor or a compute, and the first of two neighbouring dimensions, or axes, of it."""


class _Joining:
    """Finds the axes that can go or be joined, for a whole function."""

    def __init__(self, func: te.FuncOp):
        self.func = func
        self.computes = func.computes
        self.tensors: list[SSAValue] = [
            *func.block.args,
            *(result for compute in self.computes for result in compute.results),
        ]
        self.single: dict[SSAValue, set[int]] = {
            tensor: {dim for dim, extent in enumerate(_shape(tensor)) if same(extent, 1)} for tensor in self.tensors
        }
        self.apart = set[_Pair]()
        self.links = dict[_Pair, set[_Pair]]()
        self._find_singles()
        self._find_pairs()

    # Axes of one pass

    def _find_singles(self) -> None:
        """Leave in `single` the dimensions of one element that all reads are at 0 of."""
        for compute in self.computes:
            values = _values(compute)
            ranges = _ranges(compute, len(values))
            for read in compute.reads:
                zero = {dim for dim, expr in enumerate(_map(read, values)) if _is_zero(expr, ranges)}
                self.single[read.tensor] &= zero
        for tensor in self.tensors:
            if len(self.single[tensor]) == len(_shape(tensor)):
                self.single[tensor] -= {0}
        for compute in self.computes:
            # All results have the same axes.
            kept = set[int].intersection(*(self.single[result] for result in compute.results))
            for result in compute.results:
                self.single[result] = kept

    def singles(self, compute: te.ComputeOp) -> set[int]:
        """The axes of a compute that go."""
        reduced = [compute.rank + i for i, extent in enumerate(compute.reduce_shape) if same(extent, 1)]
        if reduced and len(reduced) == len(compute.reduce_shape):
            reduced = reduced[1:]
        return self.single[compute.results[0]] | set(reduced)

    # Pairs

    def dims(self, tensor: SSAValue) -> list[int]:
        return [dim for dim in range(len(_shape(tensor))) if dim not in self.single[tensor]]

    def axes(self, compute: te.ComputeOp) -> list[int]:
        gone = self.singles(compute)
        return [axis for axis in range(len(compute.block.args)) if axis not in gone]

    def _kept(self, of: SSAValue | te.ComputeOp) -> list[int]:
        return self.axes(of) if isinstance(of, te.ComputeOp) else self.dims(of)

    def _find_pairs(self) -> None:
        # A size that a call decides is an axis of its own.
        for of, extents in [(of, _shape(of)) for of in self.tensors] + [(of, _extents(of)) for of in self.computes]:
            for number, extent in enumerate(extents):
                if isinstance(extent, SizeExpr):
                    before = [other for other in self._kept(of) if other < number]
                    self.apart |= {(of, number), *((of, other) for other in before[-1:])}
        for compute in self.computes:
            axes, values = self.axes(compute), _values(compute)
            for a, b in pairwise(axes):
                if a < compute.rank <= b:
                    self.apart.add((compute, a))
                elif a < compute.rank:
                    for result in compute.results:
                        self._link((compute, a), (result, a))
            ranges = _ranges(compute, len(values))
            for read in compute.reads:
                self._read(read, compute, _map(read, values), ranges)
            for op in compute.block.ops:
                if isinstance(op, te.IndexOp):
                    self._separate(compute, _map(op, values), ranges)
        self._spread()

    def _read(self, read: te.ReadOp, compute: te.ComputeOp, exprs: list[AffineExpr], ranges: tuple[Range, ...]) -> None:
        extents, shape = _extents(compute), _shape(read.tensor)
        before = {b: a for a, b in pairwise(self.axes(compute))}
        together = dict[int, tuple[int, int]]()
        for d, e in pairwise(self.dims(read.tensor)):
            first, second = exprs[d], exprs[e]
            axis = before.get(second.position) if isinstance(second, AffineDimExpr) else None
            extent = shape[e]
            if isinstance(extent, SizeExpr):
                continue
            if (
                axis is not None
                and isinstance(second, AffineDimExpr)
                and same(extents[second.position], extent)
                and axis in first.used_dims()
                and _is_one(first * extent + second, axis, second.position, ranges)
            ):
                # Elements that follow one another, from wherever the first of the two begins.
                self._link((compute, axis), (read.tensor, d))
                together[axis] = d, e
            elif not _is_taken_apart(first, second, extent, ranges):
                self.apart.add((read.tensor, d))
        self._separate(compute, exprs, ranges, together)

    def _separate(
        self,
        compute: te.ComputeOp,
        exprs: Sequence[AffineExpr],
        ranges: tuple[Range, ...],
        together: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    ) -> None:
        """Keep neighbouring axes apart that these expressions use otherwise than as one.

        together: the first of two axes that are two dimensions -> these.
        """
        for a, b in pairwise(self.axes(compute)):
            rest = [expr for i, expr in enumerate(exprs) if i not in together.get(a, ())]
            if not all(_is_one(expr, a, b, ranges) for expr in rest):
                self.apart.add((compute, a))

    def _link(self, a: _Pair, b: _Pair) -> None:
        self.links.setdefault(a, set()).add(b)
        self.links.setdefault(b, set()).add(a)

    def _spread(self) -> None:
        pending = list(self.apart)
        while pending:
            for other in self.links.get(pending.pop(), ()):
                if other not in self.apart:
                    self.apart.add(other)
                    pending.append(other)

    def groups(self, of: SSAValue | te.ComputeOp) -> list[list[int]]:
        """The dimensions of a tensor, or the axes of a compute, that become one each."""
        groups: list[list[int]] = []
        for number in self._kept(of):
            if groups and (of, groups[-1][-1]) not in self.apart:
                groups[-1].append(number)
            else:
                groups.append([number])
        return groups

    def worth(self) -> bool:
        """Return whether a row becomes longer that is no whole number of vectors, or that guards take apart."""
        for compute in self.computes:
            extents, groups = _extents(compute), self.groups(compute)
            guarded = any(read.otherwise is not None for read in compute.reads)
            for last in (compute.rank - 1, len(extents) - 1):
                if last < 0 or (_is_whole(extents[last]) and not guarded):
                    continue
                if last in self.singles(compute) or any(len(group) > 1 and group[-1] == last for group in groups):
                    return True
        return any(
            not _is_whole(_shape(tensor)[-1]) and len(groups[-1]) > 1
            for tensor in self.tensors
            if (groups := self.groups(tensor))
        )


def join_axes(func: te.FuncOp) -> None:
    """Join neighbouring axes, in place, where rows of vectors gain by it.

    Nothing in a function with stages that are no computes, or whose schedule wants the axes that they have.
    """
    if not all(isinstance(op, te.ComputeOp | te.ReturnOp) for op in func.block.ops):
        return
    tags = [compute.attributes.get("tag") for compute in func.computes]
    if any(isinstance(tag, StringAttr) and tag.data not in _TAGS for tag in tags):
        return
    joining = _Joining(func)
    if joining.worth():
        _apply(joining)


def _apply(joining: _Joining) -> None:
    func = joining.func
    types: dict[SSAValue, Attribute] = {}
    for tensor in joining.tensors:
        shape, element = _shape(tensor), cast("TensorType[Attribute]", tensor.type).element_type
        types[tensor] = tensor_of(element, [product(shape[dim] for dim in group) for group in joining.groups(tensor)])
    for compute in joining.computes:
        _rewrite(compute, joining)
    for argument in func.block.args:
        new = func.block.insert_arg(types[argument], argument.index)
        _stand_for(argument, new)
        func.block.erase_arg(argument)
    for compute in joining.computes:
        again = te.ComputeOp.create(
            result_types=[types[result] for result in compute.results],
            properties=compute.properties,
            attributes=compute.attributes,
            regions=[compute.detach_region(region) for region in list(compute.regions)],
        )
        again.location = compute.location
        func.block.insert_op_before(again, compute)
        for old, new in zip(compute.results, again.results, strict=True):
            _stand_for(old, new)
        compute.detach()
        compute.erase()
    inputs, outputs = ([value.type for value in values] for values in (func.block.args, func.return_op.values))
    func.properties["function_type"] = FunctionType.from_lists(inputs, outputs)


def _stand_for(old: SSAValue, new: SSAValue) -> None:
    new.name_hint = old.name_hint
    if isinstance(old, BlockArgument) and isinstance(new, BlockArgument):
        new.location = old.location
    old.replace_all_uses_with(new)


def _rewrite(compute: te.ComputeOp, joining: _Joining) -> None:
    """Give a compute its new axes, and its reads their new indices."""
    groups, rank, extents = joining.groups(compute), compute.rank, _extents(compute)
    block, old, values = compute.block, list(compute.block.args), _values(compute)
    # The last of the axes of a group stands for all: they occur together alone, as one index.
    stands: list[AffineExpr] = [ZERO] * len(old)
    for number, group in enumerate(groups):
        stands[group[-1]] = AffineDimExpr(number)
    new: list[SSAValue] = []
    for group in groups:
        argument = block.insert_arg(INDEX, len(block.args))
        argument.name_hint = ".".join(old[axis].name_hint or "" for axis in group) or None
        argument.location = fuse(old[axis].location for axis in group)
        new.append(argument)
    computed = list(values)[len(old) :]
    stands += [AffineDimExpr(len(groups) + number) for number in range(len(computed))]
    new += computed
    sizes = [product(extents[axis] for axis in group) for group in groups]
    ranges: tuple[Range, ...] = (*((0, size - 1) for size in sizes), *[(-FAR, FAR)] * len(computed))
    for op in list(block.ops):
        if isinstance(op, te.ReadOp):
            shape = _shape(op.tensor)
            exprs = [substitute(expr, stands) for expr in _map(op, values)]
            results = [
                simplify(flatten([exprs[dim] for dim in group], _strides([shape[dim] for dim in group])), ranges)
                if len(group) > 1
                else exprs[group[0]]
                for group in joining.groups(op.tensor)
            ]
            _set_map(op, [op.tensor], results, new)
        elif isinstance(op, te.IndexOp):
            _set_map(op, [], [substitute(expr, stands) for expr in _map(op, values)], new)
    for argument in old:
        block.erase_arg(argument)
    if isinstance(axis := compute.attributes.get("axis"), StringAttr):
        numbers = [str(number) for number, group in enumerate(groups) if int(axis.data) in group]
        if numbers:
            compute.attributes["axis"] = StringAttr(numbers[0])
        else:
            del compute.attributes["axis"], compute.attributes["tag"]
    data = sum(group[0] < rank for group in groups)
    compute.properties["extents"] = DenseArrayBase.from_list(i64, dense(sizes[:data]))
    compute.properties["reduce_extents"] = DenseArrayBase.from_list(i64, dense(sizes[data:]))
    if (open_sizes := shape_map(sizes)) is not None:
        compute.properties["sizes"] = open_sizes


def _set_map(
    op: te.ReadOp | te.IndexOp, leading: Sequence[SSAValue], results: Sequence[AffineExpr], axes: Sequence[SSAValue]
) -> None:
    """Give an op a map over those of `axes` that it uses."""
    used = sorted(set[int]().union(*(expr.used_dims() for expr in results)))
    dims: list[AffineExpr] = [ZERO] * len(axes)
    for number, axis in enumerate(used):
        dims[axis] = AffineDimExpr(number)
    op.properties["map"] = AffineMapAttr(affine_map(len(used), tuple(substitute(expr, dims) for expr in results)))
    op.operands = [*leading, *(axes[axis] for axis in used)]


def _strides(extents: Sequence[Size]) -> tuple[Size, ...]:
    return tuple(product(extents[i + 1 :]) for i in range(len(extents)))


def _is_whole(extent: Size) -> bool:
    return same(extent % _WHOLE, 0)


def _shape(tensor: SSAValue) -> tuple[Size, ...]:
    return extents_of(cast("TensorType[Attribute]", tensor.type))


def _extents(compute: te.ComputeOp) -> tuple[Size, ...]:
    """The extents of all axes."""
    return (*compute.shape, *compute.reduce_shape)


def _ranges(compute: te.ComputeOp, count: int) -> tuple[Range, ...]:
    """The ranges of the axes, and of as many numbers as make it `count`."""
    ranges = [(0, extent - 1) for extent in _extents(compute)]
    return (*ranges, *[(-FAR, FAR)] * (count - len(ranges)))


def _is_taken_apart(first: AffineExpr, second: AffineExpr, extent: int, ranges: tuple[Range, ...]) -> bool:
    """Return whether two neighbouring indices are quotient and rest of one, which is simpler than they are."""
    low, high = bounds(second, ranges)
    if not (proves(low, ">=", 0) and proves(high, "<", extent)):
        return False
    whole = linear(first * extent + second, ranges)
    return _divisions(whole) < _divisions(linear(first, ranges)) + _divisions(linear(second, ranges))


def _divisions(form: Linear) -> int:
    return sum(not isinstance(atom, AffineDimExpr) for atom, _ in form.terms)


def _is_one(expr: AffineExpr, a: int, b: int, ranges: tuple[Range, ...]) -> bool:
    """Return whether an expression of two axes is one of `a * extent of b + b`."""
    used = expr.used_dims()
    if a not in used and b not in used:
        return True
    extent, count = ranges[b][1] + 1, ranges[a][1] + 1
    if not isinstance(extent, int) or not isinstance(count, int):
        return False
    dims: list[AffineExpr] = [AffineDimExpr(number) for number in range(len(ranges))]
    dims[b] = dims[b] - dims[a] * extent
    wide = (*ranges[:b], (0, extent * count - 1), *ranges[b + 1 :])
    return a not in linear(substitute(expr, dims), wide).expr.used_dims()


def _is_zero(expr: AffineExpr, ranges: tuple[Range, ...]) -> bool:
    form = linear(expr, ranges)
    return not form.terms and same(form.constant, 0)


def _values(compute: te.ComputeOp) -> dict[SSAValue, int]:
    """The axes of a compute, and behind them the numbers that it makes and reads at."""
    values: dict[SSAValue, int] = {axis: number for number, axis in enumerate(compute.block.args)}
    for op in compute.block.ops:
        if isinstance(op, te.ReadOp | te.IndexOp):
            for index in op.indices:
                values.setdefault(index, len(values))
    return values


def _map(op: te.ReadOp | te.IndexOp, values: dict[SSAValue, int]) -> list[AffineExpr]:
    """The results of a map over the axes of a compute and the numbers that it makes."""
    dims = [AffineDimExpr(values[index]) for index in op.indices]
    return [substitute(expr, dims) for expr in op.map.data.results]
