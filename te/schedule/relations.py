"""Loop nests: from a stage's schedule to the extents of its loops and the value of each axis in terms of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr

from ...dialects.affine import ZERO, substitute
from ...dialects.sizes import Size, product, proves, same
from ...dialects.sizes.kernel import lifted
from .itervar import Fuse, IterVar, Singleton, Split, Transform
from .stage_state import StageState


@dataclass(frozen=True)
class Interval:
    """The part of a dimension that is needed: `start`, an affine function of outer loops, and how many from there."""

    start: AffineExpr
    extent: Size

    def is_whole(self, extent: Size) -> bool:
        """Return whether it is all of a dimension."""
        return self.start == ZERO and same(self.extent, extent)


def full_region(shape: Sequence[Size]) -> list[Interval]:
    return [Interval(ZERO, extent) for extent in shape]


def last_of(extent: Size) -> Size:
    """The largest value of a loop; of one that is known not to run, as if it ran once."""
    return max(0, extent - 1) if isinstance(extent, int) else extent - 1


def loop_extents(stage: StageState, region: Sequence[Interval], more: int = 0) -> dict[IterVar, Size]:
    """The extent of every iteration variable when the data axes cover `region`, reduce axes in full, and `more`."""
    extents = {axis: interval.extent for axis, interval in zip(stage.axes, region, strict=True)}
    extents.update((axis, axis.extent + more) for axis in stage.reduce_axes)
    for relation in stage.relations:
        match relation:
            case Split():
                extents[relation.outer], extents[relation.inner] = relation.extents(extents[relation.parent])
            case Fuse():
                extents[relation.fused] = extents[relation.outer] * extents[relation.inner]
            case Singleton():
                extents[relation.axis] = 1
            case Transform():
                transformed = relation.extents([extents[axis] for axis in relation.originals])
                extents.update(zip(relation.transformed, transformed, strict=True))
    return extents


def overruns(stage: StageState, extents: Mapping[IterVar, Size]) -> list[IterVar]:
    """The iteration variables past whose end the loops made of them run."""
    guarded: list[IterVar] = []
    for relation in stage.relations:
        covered, wanted = (product(extents[axis] for axis in axes) for axes in (relation.children, relation.parents))
        if not proves(covered, "<=", wanted):
            guarded += relation.guarded
    return guarded


def mixed_axes(stage: StageState) -> set[IterVar]:
    """The iteration variables that run over data and over terms of a reduction."""
    axes: set[IterVar] = set()
    for relation in stage.relations:
        if not axes.isdisjoint(relation.parents) or len({axis.reduce for axis in relation.parents}) > 1:
            axes.update(relation.children)
    return axes


def axis_values(
    stage: StageState,
    extents: Mapping[IterVar, Size],
    leaves: Mapping[IterVar, AffineExpr],
    within: Callable[[Split, AffineExpr], AffineExpr] = lambda _, value: value,
) -> dict[IterVar, AffineExpr]:
    """The value of every iteration variable, given those of the loops; region starts are not added.

    within: what to take as the value of one that was split, whose loops may run past its end.
    """
    values = dict(leaves)
    for relation in reversed(stage.relations):
        match relation:
            case Split():
                value = values[relation.outer] * lifted(extents[relation.inner]) + values[relation.inner]
                values[relation.parent] = within(relation, value)
            case Fuse():
                # Without iterations any width will do.
                width = extents[relation.inner]
                width = lifted(max(1, width) if isinstance(width, int) else width)
                values[relation.outer] = values[relation.fused] // width
                values[relation.inner] = values[relation.fused] % width
            case Singleton():
                pass
            case Transform():
                places = [values[axis] for axis in relation.transformed]
                for axis, expr in zip(relation.originals, relation.inverse, strict=True):
                    values[axis] = substitute(expr, places)
    return values


def loop_values(
    stage: StageState, extents: Mapping[IterVar, Size], roots: Mapping[IterVar, AffineExpr]
) -> dict[IterVar, AffineExpr]:
    """The value of every iteration variable that some of the root axes decide, given theirs."""
    values = dict(roots)
    for relation in stage.relations:
        match relation:
            case Split(parent=parent) if parent in values:
                width = lifted(extents[relation.inner])
                values[relation.outer], values[relation.inner] = values[parent] // width, values[parent] % width
            case Fuse(outer=outer, inner=inner) if outer in values and inner in values:
                values[relation.fused] = values[outer] * lifted(extents[inner]) + values[inner]
            case Singleton(axis=axis):
                values[axis] = ZERO
            case Transform(originals=originals) if all(axis in values for axis in originals):
                point = [values[axis] for axis in originals]
                for axis, expr in zip(relation.transformed, relation.layout, strict=True):
                    values[axis] = substitute(expr, point)
            case _:
                pass
    return values
