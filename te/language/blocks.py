"""Blocks as statements: a computation over iteration variables, and the point that the loops around run it at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...support.dtypes import fail
from .expr import Expr, ExprLike, Extent, Range, Var, convert
from .statements import Allocate, AllocateConst, Buffer, Stmt, stmts_in

SPATIAL, REDUCE, ORDERED, OPAQUE = 0, 2, 3, 4
ITER_TYPES = {SPATIAL: "spatial", REDUCE: "reduce", ORDERED: "scan", OPAQUE: "opaque"}
"""TVM's numbers of the ways in which a block depends on a variable, and the words that TVMScript has for them."""


class IterVar:
    """An iteration variable of a block: `var` takes the values of `dom`, a range or the pair of its ends.

    Raises ScheduleError for an iter_type that is not in ITER_TYPES.
    """

    def __init__(
        self, dom: Range | Sequence[Any], var: Var | str, iter_type: int, thread_tag: str = "", span: object = None
    ):
        del span
        if iter_type not in ITER_TYPES:
            fail(f"tir.IterVar: expected an iter_type among {', '.join(map(str, ITER_TYPES))}, got {iter_type}")
        if thread_tag:
            fail(f"tir.IterVar: expected a variable of loops on a CPU, got the thread '{thread_tag}'")
        begin, end = dom
        self.dom = dom if isinstance(dom, Range) else Range(begin, end if _is_zero(begin) else end - begin)
        self.var = Var(var, "int32") if isinstance(var, str) else var
        self.iter_type = iter_type
        self.thread_tag = thread_tag

    @property
    def kind(self) -> str:
        """The word for the iter_type."""
        return ITER_TYPES[self.iter_type]

    def __repr__(self) -> str:
        return f"IterVar({self.var}, {self.kind}, {self.dom.min} + {self.dom.extent})"


def _is_zero(value: object) -> bool:
    return isinstance(value, int) and value == 0


@dataclass(frozen=True, eq=False)
class BufferRegion:
    """A box of a buffer: for each dimension a range. exact: False for a hull of what is accessed."""

    buffer: Buffer
    region: tuple[Range, ...]
    exact: bool = True

    @classmethod
    def at(cls, buffer: Buffer, indices: Sequence[ExprLike]) -> BufferRegion:
        """Return the region of one element."""
        return cls(buffer, tuple(Range(convert(index), 1) for index in indices))


@dataclass(frozen=True, eq=False)
class MatchBufferRegion:
    """A buffer that is a part of another one."""

    buffer: Buffer
    source: BufferRegion


@dataclass(eq=False)
class Block(Stmt):
    """A computation over iteration variables; `init` runs first, where all reduce variables are at their beginning.

    reads, writes: what it accesses, or None, which means what its statements access. alloc_buffers live in the block;
    match_buffers are names in it for parts of other buffers.
    """

    iter_vars: Sequence[IterVar]
    reads: Sequence[BufferRegion] | None
    writes: Sequence[BufferRegion] | None
    name_hint: str
    body: Stmt
    init: Stmt | None = None
    alloc_buffers: Sequence[Buffer] = ()
    match_buffers: Sequence[MatchBufferRegion] = ()
    annotations: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())


@dataclass(eq=False)
class BlockRealize(Stmt):
    """Runs a block with values of its variables, where `predicate` holds; raises ScheduleError for another number."""

    iter_values: Any
    predicate: Any
    block: Block

    def __post_init__(self) -> None:
        super().__post_init__()
        self.iter_values = [convert(value) for value in self.iter_values]
        self.predicate = convert(self.predicate)
        if len(self.iter_values) != len(self.block.iter_vars):
            fail(
                f"tir.BlockRealize: expected {len(self.block.iter_vars)} values for the variables of "
                f"'{self.block.name_hint}', got {len(self.iter_values)}"
            )

    @property
    def is_root(self) -> bool:
        """Return whether it stands for a whole function: it is called root and only holds what is in it."""
        block = self.block
        own = block.iter_vars or block.init is not None or block.match_buffers
        return block.name_hint == "root" and not own and self.is_always

    @property
    def is_always(self) -> bool:
        """Return whether the predicate is the number True."""
        value = getattr(self.predicate, "value", None)
        return value is True or (isinstance(value, int) and value == 1)


BlockPart = IterVar | BufferRegion | MatchBufferRegion


def with_expressions(part: BlockPart, change: Callable[[Expr], Expr]) -> BlockPart:
    """Return a part of a block in which `change` gives what stands for each expression."""

    def changed(value: Extent) -> Extent:
        return change(value) if isinstance(value, Expr) else value

    def ranges(region: Sequence[Range]) -> tuple[Range, ...]:
        return tuple(Range(changed(one.min), changed(one.extent)) for one in region)

    match part:
        case IterVar():
            return IterVar(ranges([part.dom])[0], part.var, part.iter_type)
        case BufferRegion():
            return BufferRegion(part.buffer, ranges(part.region), part.exact)
        case MatchBufferRegion():
            return MatchBufferRegion(part.buffer, BufferRegion(part.source.buffer, ranges(part.source.region)))


def in_order(root: Stmt) -> Iterator[Stmt]:
    """Give a statement and those in it, each before those inside it, in the order of their ops."""
    stack = [root]
    while stack:
        stmt = stack.pop()
        yield stmt
        match stmt:
            case BlockRealize():
                inner = [stmt.block]
            case Block():
                inner = [part for part in (stmt.init, stmt.body) if part is not None]
            case _:
                inner = list(stmts_in(stmt))
        stack += reversed(inner)


def allocated(stmt: Stmt) -> list[Buffer]:
    """Return the buffers that a statement alone makes, without those in it."""
    match stmt:
        case Allocate() | AllocateConst():
            return [stmt.buffer]
        case Block():
            return list(stmt.alloc_buffers)
        case _:
            return []
