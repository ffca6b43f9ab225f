"""The iteration variables of a stage, how they were made from each other, and where a stage is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from .stage import Stage

Kind = Literal["serial", "parallel", "vectorized", "unrolled"]


class IterVar:
    """One iteration variable of a stage."""

    def __init__(self, stage: Stage, name: str, extent: int, reduce: bool):
        self.stage = stage
        self.name = name
        self.extent = extent
        self.reduce = reduce
        """Whether it runs over a reduction."""
        self.kind: Kind = "serial"

    def __repr__(self) -> str:
        return f"{self.name} in {self.extent}" + ("" if self.kind == "serial" else f" # {self.kind}")


@dataclass(frozen=True)
class Split:
    """`parent = outer * factor + inner`."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: int

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def children(self) -> tuple[IterVar, ...]:
        return self.outer, self.inner


@dataclass(frozen=True)
class Fuse:
    """`fused = outer * extent(inner) + inner`."""

    outer: IterVar
    inner: IterVar
    fused: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return self.outer, self.inner

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.fused,)


@dataclass(frozen=True)
class Singleton:
    """`axis` is a loop of one pass, made from no other."""

    axis: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.axis,)


Relation: TypeAlias = Split | Fuse | Singleton
"""How the iteration variables that a primitive made (`children`) stand to those it took (`parents`)."""


@dataclass(frozen=True)
class Attach:
    """Computed inside the loop `axis` of `stage`."""

    stage: Stage
    axis: IterVar

    @property
    def loop(self) -> IterVar:
        """The loop that `axis` is now: after a split the inner one, after a fuse the fused one."""
        axis = self.axis
        for relation in self.stage.relations:
            if axis in relation.parents:
                axis = relation.children[-1]
        return axis
