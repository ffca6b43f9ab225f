"""The check that the loops of a tile compute what an intrinsic does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import te
from ...dialects.affine import ZERO, Linear, Range, linear, linear_bounds, substitute
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import known
from .itervar import IterVar
from .relations import axis_values, full_region, loop_extents, mixed_axes
from .stage_state import StageState
from .tensor_intrin import TensorIntrin


@dataclass
class Tile:
    """The match of an intrinsic's tensors with those of the stage: for each of its dimensions one of the stage's."""

    output: list[int]
    inputs: dict[SSAValue, tuple[te.ReadOp, list[int]]] = field(
        default_factory=dict[SSAValue, tuple[te.ReadOp, list[int]]]
    )
    """Argument of the pattern -> the read of the stage that it matches, and the dimensions."""


def match_tile(
    stage: StageState, axis: IterVar, intrin: TensorIntrin, extents: Mapping[IterVar, Size] | None = None
) -> Tile:
    """The tile that a stage's loops from `axis` on compute.

    extents: of the loops; those of the whole stage without.

    Raises ScheduleError when that is not what the intrinsic computes.
    """
    return _Match(stage, axis, intrin, extents or loop_extents(stage, full_region(stage.compute.shape))).run()


class _Match:
    def __init__(self, stage: StageState, axis: IterVar, intrin: TensorIntrin, extents: Mapping[IterVar, Size]):
        self.stage = stage
        self.intrin = intrin
        self.extents = dict(extents)
        first = stage.leaf.index(axis)
        self.outer = first
        leaves: dict[IterVar, AffineExpr] = {leaf: AffineDimExpr(i) for i, leaf in enumerate(stage.leaf)}
        self.ranges: tuple[Range, ...] = tuple((0, self.extents[leaf] - 1) for leaf in stage.leaf)
        values = axis_values(stage, self.extents, leaves)
        self.roots: dict[SSAValue, AffineExpr] = {
            argument: values[root]
            for argument, root in zip(stage.compute.block.args, [*stage.axes, *stage.reduce_axes], strict=True)
        }

    def fail(self, text: str) -> NoReturn:
        self.stage.fail("tensorize", f"{text} (intrinsic '{self.intrin.name}')")

    def _inside(self, expr: AffineExpr) -> Linear:
        """The part of an expression that moves in the tile."""
        inner: list[tuple[AffineExpr, Size]] = []
        for atom, factor in linear(expr, self.ranges).terms:
            dims = atom.used_dims()
            if any(dim >= self.outer for dim in dims):
                if any(dim < self.outer for dim in dims):
                    self.fail("expected whole axes inside the tile, got one that a loop outside shares")
                inner.append((atom, factor))
        return Linear(tuple(inner), 0)

    def run(self) -> Tile:
        mine, theirs = self.stage.compute, self.intrin.compute
        if len(mine.outputs) > 1 or mine.reducer != theirs.reducer:
            actual, wanted = (c.reducer.data if c.reducer is not None else "no reduction" for c in (mine, theirs))
            self.fail(f"expected {wanted}, got {actual}")
        if mixed := [axis.name for axis in self.stage.leaf if axis in mixed_axes(self.stage)]:
            self.fail(f"expected loops over data or over terms, got {mixed[0]} over both")
        partial = any(leaf.reduce for leaf in self.stage.leaf[: self.outer])
        if partial and not self.intrin.accumulates:
            self.fail("Reduction update op is not defined, and a loop of the reduction stays outside the tile")
        if not partial and self.intrin.body is None:
            self.fail("Normal body op is not defined, and no loop of the reduction stays outside the tile")
        output = self._axes(list(mine.axes), list(theirs.axes))
        self._axes(list(mine.reduce_axes), list(theirs.reduce_axes))
        tile = Tile(output)
        same: dict[SSAValue, SSAValue] = {}
        left = [op for op in mine.block.ops if not isinstance(op, te.YieldOp)]
        right = [op for op in theirs.block.ops if not isinstance(op, te.YieldOp)]
        if len(left) != len(right):
            self.fail(f"expected a body of {len(right)} operations, got {len(left)}")
        for a, b in zip(left, right, strict=True):
            self._operation(a, b, same, tile)
        if mine.inits or theirs.inits:
            self.fail("expected reductions that start from what their reducers say, got one with init")
        if same.get(mine.yielded) is not theirs.yielded:
            self.fail("expected the intrinsic's result, got another value")
        return tile

    def _axes(self, mine: list[SSAValue], theirs: list[SSAValue]) -> list[int]:
        """The position of the stage's axis for each axis of the intrinsic."""
        inner = {argument: self._inside(self.roots[argument]) for argument in mine}
        moving = [argument for argument in mine if inner[argument].terms]
        compute = self.intrin.compute
        sizes = map(known, (*compute.shape, *compute.reduce_shape))
        extents = dict[SSAValue, int](zip(compute.block.args, sizes, strict=True))
        wanted = [extents[argument] for argument in theirs]
        counts = [known(linear_bounds(inner[argument], self.ranges)[1] + 1) for argument in moving]
        if counts != [extent for extent in wanted if extent != 1]:
            self.fail(f"expected a tile of {wanted}, got {counts}")
        positions: list[int] = []
        free = [i for i, argument in enumerate(mine) if argument not in moving]
        for argument, extent in zip(theirs, wanted, strict=True):
            if extent != 1:
                position = mine.index(moving.pop(0))
            elif not free:
                self.fail(f"expected an axis for each of {wanted}")
            else:
                position = free.pop(0)
            positions.append(position)
            self.roots[argument] = inner[mine[position]].expr if extent != 1 else ZERO
        return positions

    def _operation(self, a: Operation, b: Operation, same: dict[SSAValue, SSAValue], tile: Tile) -> None:
        match a, b:
            case te.ReadOp(), te.ReadOp():
                if a.otherwise is not None or any(index not in self.roots for index in a.indices):
                    self.fail("expected reads at affine places inside their tensors")
                if a.result.type != b.result.type:
                    self.fail(f"expected a tensor of {b.tensor.type}, got {a.tensor.type}")
                dims = self._read(a, b)
                matched = tile.inputs.setdefault(b.tensor, (a, dims))
                if matched[0].tensor is not a.tensor:
                    self.fail("expected one tensor for each input of the intrinsic")
            case te.IndexOp(), te.IndexOp():
                self.fail("expected a body that does not use its axes as numbers")
            case _:
                if a.name != b.name or a.properties != b.properties or a.attributes != b.attributes:
                    spell = _spelled if a.name == b.name else _name
                    self.fail(f"expected {spell(b)}, got {spell(a)}")
                if [same.get(operand) for operand in a.operands] != list(b.operands):
                    self.fail(f"expected other operands of {a.name}")
        same.update(zip(a.results, b.results, strict=True))

    def _read(self, a: te.ReadOp, b: te.ReadOp) -> list[int]:
        mine, theirs = (
            [self._inside(substitute(expr, [self.roots[i] for i in op.indices])) for expr in op.map.data.results]
            for op in (a, b)
        )
        dims: list[int] = []
        position = 0
        for form in theirs:
            while position < len(mine) and form.terms and not mine[position].terms:
                position += 1
            if position == len(mine) or linear(mine[position].expr - form.expr, self.ranges).terms:
                self.fail("expected the intrinsic's way through its inputs, got another")
            dims.append(position)
            position += 1
        if any(form.terms for i, form in enumerate(mine) if i not in dims):
            self.fail("expected the intrinsic's way through its inputs, got another")
        return dims


def _name(op: Operation) -> str:
    return op.name


def _spelled(op: Operation) -> str:
    """An op by its name; a number by its value, and another op that has attributes with them."""
    if isinstance(op, arith.ConstantOp) and isinstance(value := op.value, FloatAttr | IntegerAttr):
        return f"the number {value.value.data} : {op.result.type}"
    attributes = ", ".join(f"{key} = {value}" for key, value in sorted({**op.properties, **op.attributes}.items()))
    return f"{op.name} {{{attributes}}}" if attributes else op.name
