"""The part of the session document that shows schedules: a film of each kernel's, one frame per primitive.

Indexes and line numbers are as in `document`, whose `Session` has a list of these `Schedule`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .ranges import Amount, Count, KernelRow

Edit: TypeAlias = tuple[int, int, list[str]]
"""The first line (from 0, of the text as edits before it left it), how many lines go, and the lines that come."""


@dataclass
class LoopRow:
    """A loop of a scheduled stage, outermost first."""

    name: str
    extent: str
    kind: str
    """TVM's word for how it runs: serial, parallel, vectorized, unrolled, tensorized, .."""
    type: str
    """TVM's name of its iteration type: kDataPar, kCommReduce, kVectorized, .."""
    reduce: bool
    computes: list[str]
    """The stages that are computed in it."""
    notes: list[str]
    depth: Count
    """The number of loops around it."""
    variable: int
    """Index into `TreeStage.variables`."""


@dataclass
class Variable:
    """An iteration variable: an axis, or what primitives made of others."""

    name: str
    extent: str
    type: str


@dataclass
class Relation:
    """The making of iteration variables, indexes into `TreeStage.variables`, from others."""

    kind: str
    """split, fuse, singleton or transform."""
    parents: list[int]
    children: list[int]


@dataclass
class TreeStage:
    """A stage of a schedule tree."""

    label: str
    place: str
    """root, inlined, or `@ dense.i.outer`."""
    scope: str
    storage: str
    """The layout and the like of its buffer; "" for the plain one."""
    compute: list[str]
    """Its formula, line by line."""
    loops: list[LoopRow]
    variables: list[Variable]
    relations: list[Relation]
    slots: list[Count]
    reads: list[str]
    """The labels of the stages and tensors that it reads."""
    outputs: list[str]
    """The types of its tensors."""


@dataclass
class Cost:
    """An estimate by rule; no measurement."""

    seconds: Amount
    flops: Count
    bytes: Count
    """Read and written beyond the second level of the cache."""
    computing: Amount
    """The seconds of its instructions alone; those of its bytes alone are `seconds` where these are more."""


@dataclass
class NextPrimitive:
    """A primitive that is legal after a frame."""

    call: str
    """The primitive as a call in Python: `s["C"].split(i, 16)`."""
    lines: list[str]
    """The lines of text that are appended to those of the frame to choose it."""
    cost: Cost | None


@dataclass
class Frame:
    """A schedule after one more primitive; the first frame is that before any."""

    primitive: str
    """The primitive in the text; "" for the first frame."""
    at: str
    """file:line that issued it."""
    lines: Count
    """The lines of `Schedule.text` up to it."""
    tree: list[int]
    """Its stages, producers first: indexes into `Schedule.stages`."""
    changed: list[str]
    """Labels of the stages that the primitive changed."""
    loaded: bool
    """False where `tir` and `next` were left out: `explorer.session.schedules` makes them of the text."""
    tir: list[Edit]
    """The loops, as edits to those of the frame before; where there is an error, none."""
    error: str
    """The reason why there are no loops; "" where there are."""
    cost: Cost | None
    next: list[NextPrimitive]


@dataclass
class Schedule:
    """The film of a kernel's schedule."""

    kernel: KernelRow
    text: str
    """All of it, from which it can be made again: intrinsics, function, and the sequence of primitives, that comes last
    and is closed by the last line, `}`."""
    arguments: list[tuple[str, str]]
    """Name and type of the function's arguments."""
    stages: list[TreeStage]
    """The distinct stages of all frames."""
    frames: list[Frame]
