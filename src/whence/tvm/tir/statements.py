"""Statements, as they are written: nodes that know where they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr

from whence.provenance.span import SequentialSpan, Span
from whence.support.dtypes import check_dtype, fail
from whence.te.language.expr import Expr, ExprLike, Extent, Read, Var, convert
from whence.te.language.locations import here
from whence.te.language.tensor import PlaceholderOp, Tensor, check_shape


class ForKind(IntEnum):
    """The kind of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3


KINDS = ("serial", "parallel", "vectorized", "unrolled")


class Buffer:
    """Elements in memory: `buffer[i, j]` is one of them, as an expression."""

    def __init__(self, shape: Sequence[Extent] | Extent, dtype: str = "float32", name: str = "buffer", scope: str = ""):
        self.shape = check_shape(shape, "tir.decl_buffer")
        self.dtype = check_dtype(dtype, "tir.decl_buffer")
        self.name = name
        self.location = here(name)
        self.tensor: Tensor = PlaceholderOp(name, [self.shape], [self.dtype]).output(0)
        self.tensor.buffer = self
        self._scope = scope or "global"
        self.data = Var(name, "handle")
        """The pointer to its elements."""

    def scope(self) -> str:
        """The scope: `global`, or `local` to a thread."""
        return self._scope

    def __getitem__(self, indices: Any) -> Read:
        return load(self, list(cast("tuple[Any, ...]", indices)) if isinstance(indices, tuple) else [indices])

    def vload(self, begin: Sequence[ExprLike] | ExprLike, dtype: str | None = None) -> Read:
        """The element at a point; raises ScheduleError for a dtype of several lanes."""
        if dtype not in (None, self.dtype):
            fail(f"tir.Buffer.vload: expected {self.dtype}, got {dtype}: vectors are made of vectorized loops")
        return load(self, _point(begin))

    def vstore(self, begin: Sequence[ExprLike] | ExprLike, value: ExprLike) -> BufferStore:
        """A store of an element at a point."""
        return BufferStore(self, value, _point(begin))

    def __repr__(self) -> str:
        return f"Buffer({self.name}, {list(self.shape)}, {self.dtype})"


def _point(begin: Any) -> list[ExprLike]:
    return list(cast("list[ExprLike]", begin)) if isinstance(begin, list | tuple) else [begin]


def decl_buffer(
    shape: Sequence[Extent] | Extent, dtype: str = "float32", name: str = "buffer", *, scope: str = ""
) -> Buffer:
    """A buffer. An extent may be a variable: it is a size that calls decide. scope: `global` or `local`."""
    return Buffer(shape, dtype, name, scope)


def load(buffer: Buffer, indices: Sequence[ExprLike]) -> Read:
    """Return an element of a buffer, as an expression."""
    return cast(Read, buffer.tensor(*indices))


@dataclass(eq=False)
class Stmt:
    """Base of statements."""

    location: LocationAttr = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.location = here(type(self).__name__, __name__)

    @property
    def span(self) -> Span | SequentialSpan | None:
        """The location as a span."""
        return Span.of(self.location)


def stmts_in(stmt: Stmt) -> Iterator[Stmt]:
    """The statements directly inside one."""
    for value in vars(stmt).values():
        if isinstance(value, Stmt):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, Stmt))  # pyright: ignore[reportUnknownVariableType]


def exprs_in(stmt: Stmt) -> Iterator[Expr]:
    """The expressions directly inside a statement."""
    for value in vars(stmt).values():
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, Expr))  # pyright: ignore[reportUnknownVariableType]


@dataclass(eq=False)
class BufferStore(Stmt):
    """Writes an element."""

    buffer: Buffer
    value: Any
    indices: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.value = convert(self.value)
        self.indices = [convert(index) for index in self.indices]
        if len(self.indices) != len(self.buffer.shape):
            fail(
                f"tir.BufferStore: expected {len(self.buffer.shape)} indices of '{self.buffer.name}', "
                f"got {len(self.indices)}"
            )


@dataclass(eq=False)
class SeqStmt(Stmt):
    """Statements in a row."""

    seq: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seq = list(self.seq)


@dataclass(eq=False)
class For(Stmt):
    """A loop: the variable takes `extent` values from `min` on."""

    loop_var: Var
    min: Any
    extent: Any
    kind: Any
    body: Stmt
    thread_binding: None = None
    annotations: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())

    def __post_init__(self) -> None:
        super().__post_init__()
        self.min, self.extent = convert(self.min), convert(self.extent)
        self.kind = KINDS.index(self.kind) if isinstance(self.kind, str) and self.kind in KINDS else self.kind
        if self.kind not in range(len(KINDS)):
            fail(f"tir.For: expected a kind among {', '.join(KINDS)}, got {self.kind!r}")


@dataclass(eq=False)
class IfThenElse(Stmt):
    """A branch."""

    condition: Any
    then_case: Stmt
    else_case: Stmt | None = None


@dataclass(eq=False)
class While(Stmt):
    """Repeats its body as long as a condition holds, which is computed anew before each time."""

    condition: Any
    body: Stmt


@dataclass(eq=False)
class LetStmt(Stmt):
    """A name for a value in `body`."""

    var: Var
    value: Any
    body: Stmt

    def __post_init__(self) -> None:
        super().__post_init__()
        self.value = convert(self.value)


@dataclass(eq=False)
class AssertStmt(Stmt):
    """A condition that has to hold, else the call fails with the message; `body` follows it."""

    condition: Any
    message: Any
    body: Stmt | None = None


@dataclass(eq=False)
class Allocate(Stmt):
    """A buffer that lives in `body`."""

    buffer: Buffer
    body: Stmt
    annotations: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())


@dataclass(eq=False)
class AllocateConst(Stmt):
    """A buffer of numbers known beforehand, in `body`."""

    buffer: Buffer
    data: DenseIntOrFPElementsAttr
    body: Stmt


@dataclass(eq=False)
class DeclBuffer(Stmt):
    """Another name for part of a buffer in `body`, from a point on; strides as those of `tir.decl_buffer`."""

    buffer: Buffer
    source: Buffer
    indices: Any
    strides: Any
    body: Stmt


@dataclass(eq=False)
class Evaluate(Stmt):
    """A value that is computed and not used, for its effects if it has any."""

    value: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.value = convert(self.value)
