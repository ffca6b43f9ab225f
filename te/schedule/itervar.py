"""Iteration variables, the threads that they are bound to, and the relations that made some from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ...dialects.affine import bounds
from ...dialects.sizes import Size, ceil_div, same
from ...support.errors import ScheduleError
from ..language.expr import Range
from .attrs import TYPES as ITER_TYPES
from .tensor_intrin import TensorIntrin

Kind = Literal["serial", "parallel", "vectorized", "unrolled", "tensorized"]
Sort = Literal["data", "reduce", "ordered", "opaque", "thread"]
"""The range of an iteration variable: elements, terms of a reduction, steps of a scan, those a stage keeps to itself,
or the threads around a scan."""
Tail = Literal["guard", "cut", "round_up"]
"""The treatment of the last pass of a split that does not come out even."""
TYPES: dict[Sort, str] = {
    "data": "DataPar",
    "reduce": "CommReduce",
    "ordered": "Ordered",
    "opaque": "Opaque",
    "thread": "ThreadIndex",
}
"""TVM's names of these, as it says them in errors."""


class ThreadAxis:
    """A thread of a grid. On a CPU the iterations of a loop bound to `blockIdx.*` run in parallel, others serially."""

    def __init__(self, tag: str, extent: int | None = None, name: str = ""):
        self.tag = tag
        self.extent = extent
        self.name = name or tag

    @property
    def is_block(self) -> bool:
        return self.tag.startswith("blockIdx")

    def __repr__(self) -> str:
        return f"thread_axis({self.tag})"


def thread_axis(dom: int | tuple[int, int] | str | None = None, tag: str = "", name: str = "") -> ThreadAxis:
    """A thread to bind loops to: `thread_axis("threadIdx.x")`, `thread_axis((0, 8), "threadIdx.x")`.

    Raises ScheduleError without a tag.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not isinstance(tag, str) or not tag:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScheduleError("te.thread_axis: tag must be given as Positional or keyword argument")
    if isinstance(dom, tuple) and dom[0] != 0:
        raise ScheduleError(f"te.thread_axis: expected a domain from 0, got {dom}")
    extent = dom[1] if isinstance(dom, tuple) else dom
    if extent is not None and (isinstance(extent, bool) or not isinstance(extent, int | np.integer) or extent < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScheduleError(f"te.thread_axis: expected an int as the extent, got {extent!r}")
    return ThreadAxis(tag, None if extent is None else int(extent), name)


class IterVar:
    """An iteration variable of a stage."""

    DataPar, ThreadIndex, CommReduce, Ordered, DimInfo, Unrolled, Vectorized, Parallelized, Tensorized = range(9)
    """TVM's numbers of what variables run over, and of their marks, as in `iter_var_attrs`."""

    def __init__(self, name: str, extent: Size, sort: Sort = "data"):
        self.name = name
        self.extent = extent
        self.sort: Sort = sort
        self.reduce = sort == "reduce"
        """True when it runs over a reduction."""
        self.kind: Kind = "serial"
        self.thread: ThreadAxis | None = None
        self.intrin: TensorIntrin | None = None
        """The intrinsic that computes this loop and those inside it."""
        self.hints: dict[str, Attribute] = {}
        """Attributes of the loop: pragmas and prefetches."""

    @property
    def var(self) -> IterVar:
        """The expression of the variable: itself."""
        return self

    @property
    def dom(self) -> Range:
        return Range(0, self.extent)

    @property
    def iter_type(self) -> int:
        """TVM's number for its kind of range; the stage's `iter_var_attrs` has its marks."""
        return ITER_TYPES[self.sort]

    @property
    def thread_tag(self) -> str:
        return self.thread.tag if self.sort == "thread" and self.thread is not None else ""

    def __repr__(self) -> str:
        return f"{self.name} in {self.extent}" + ("" if self.kind == "serial" else f" # {self.kind}")


@dataclass(frozen=True)
class Split:
    """`parent = outer * factor + inner`. Of a parent of another extent: `nparts` outer iterations, if given."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Size
    nparts: Size | None = None
    tail: Tail | None = None

    def extents(self, parent: Size) -> tuple[Size, Size]:
        """The extents of outer and inner if the parent has this extent."""
        parts = self.nparts
        if not (isinstance(parent, int) and isinstance(self.factor, int) and (parts is None or isinstance(parts, int))):
            return (ceil_div(parent, self.factor), self.factor) if parts is None else (parts, ceil_div(parent, parts))
        if parts is not None:
            outer = max(1, min(parts, parent))
            return outer, -(-parent // outer)
        inner = max(1, min(self.factor, parent))
        return -(-parent // inner), inner

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return (self.parent,)

    @property
    def guarded(self) -> tuple[IterVar, ...]:
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
    def guarded(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.fused,)


@dataclass(frozen=True)
class Singleton:
    """`axis` is a loop of one iteration, made from no other."""

    axis: IterVar

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def guarded(self) -> tuple[IterVar, ...]:
        return ()

    @property
    def children(self) -> tuple[IterVar, ...]:
        return (self.axis,)


@dataclass(frozen=True)
class Transform:
    """`transformed = layout(originals)`, `originals = inverse(transformed)`; other points are past the end."""

    originals: tuple[IterVar, ...]
    transformed: tuple[IterVar, ...]
    layout: tuple[AffineExpr, ...]
    inverse: tuple[AffineExpr, ...]

    def extents(self, originals: Sequence[Size]) -> list[Size]:
        """The extents of the new loops if the originals have these extents."""
        if any(same(extent, 0) for extent in originals):
            return [0] * len(self.transformed)
        ranges = [(0, extent - 1) for extent in originals]
        return [bounds(expr, ranges)[1] + 1 for expr in self.layout]

    @property
    def parents(self) -> tuple[IterVar, ...]:
        return self.originals

    @property
    def guarded(self) -> tuple[IterVar, ...]:
        return self.originals

    @property
    def children(self) -> tuple[IterVar, ...]:
        return self.transformed


Relation: TypeAlias = Split | Fuse | Singleton | Transform
"""The relation of the iteration variables that a primitive made (`children`) to those it took (`parents`).

The loops of the children may run past the end of those that are `guarded`.
"""
