"""Statements, as they are written: nodes that know where they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr

from ...provenance.span import SequentialSpan, Span
from ...support.dtypes import check_dtype, element_of, fail, is_float, lanes_of
from .expr import Const, Expr, ExprLike, Extent, Read, Var, accessed, convert
from .lanes import Ramp
from .locations import here
from .tensor import PlaceholderOp, Tensor, check_shape


class ForKind(IntEnum):
    """The kind of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3


KINDS = ("serial", "parallel", "vectorized", "unrolled")


class Buffer:
    """Elements in memory: `buffer[i, j]` is one of them, as an expression.

    strides, in elements, elem_offset, data_alignment, in bytes, offset_factor and buffer_type say how they lie there;
    what cannot be so is refused where a function is made.
    """

    READ, WRITE = 1, 2
    """Bits of access masks."""

    def __init__(
        self,
        shape: Sequence[Extent] | Extent,
        dtype: str = "float32",
        name: str = "buffer",
        scope: str = "",
        *,
        strides: Sequence[Extent] | None = None,
        elem_offset: ExprLike | None = None,
        data_alignment: int = -1,
        offset_factor: int = 0,
        buffer_type: str = "",
        axis_separators: Sequence[int] | None = None,
    ):
        self.shape = check_shape(shape, "tir.decl_buffer")
        self.dtype = check_dtype(dtype, "tir.decl_buffer")
        self.name = name
        self.location = here(name)
        self.tensor: Tensor = PlaceholderOp(name, [self.shape], [self.dtype]).output(0)
        self.tensor.buffer = self
        self.strides = list(strides or ())
        if self.strides and len(self.strides) != len(self.shape):
            fail(f"tir.decl_buffer: expected {len(self.shape)} strides, got {len(self.strides)} ('{name}')")
        if self.strides and axis_separators:
            fail(f"tir.decl_buffer: expected strides or axis_separators, got both ('{name}')")
        self.axis_separators = list(axis_separators or ())
        if self.axis_separators != sorted(a for a in set(self.axis_separators) if 0 <= a <= len(self.shape)):
            fail(f"tir.decl_buffer: expected increasing axis_separators, got {self.axis_separators} ('{name}')")
        if buffer_type not in ("", "auto_broadcast"):
            fail(f"tir.decl_buffer: expected the buffer_type '' or auto_broadcast, got {buffer_type!r} ('{name}')")
        self.elem_offset = convert(0 if elem_offset is None else elem_offset)
        self.data_alignment = data_alignment
        self.offset_factor = offset_factor
        self.buffer_type = buffer_type
        self._scope = scope or "global"
        self.data = Var(name, "handle")
        """The pointer to its elements."""

    def scope(self) -> str:
        """The scope: `global`, or `local` to a thread."""
        return self._scope

    def access_ptr(
        self,
        access_mask: str | int = "r",
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
        extent: ExprLike | None = None,
    ) -> Pointer:
        """A pointer into the buffer, `offset` elements behind its first, as the argument of a call.

        access_mask: of the letters r and w, or READ | WRITE; an input of statements can only be read. ptr_type,
        content_lanes (offsets count elements, not vectors) and extent change nothing. Raises ScheduleError for another
        mask, and for an offset that is no whole number.
        """
        del ptr_type, content_lanes, extent
        writes = access_mask in ("w", "rw", "wr", self.WRITE, self.READ | self.WRITE)
        if not writes and access_mask not in ("r", self.READ):
            fail(f"tir.Buffer.access_ptr: expected a mask of r and w, got {access_mask!r} ('{self.name}')")
        place = convert(offset)
        if is_float(place.dtype) or lanes_of(place.dtype) > 1:
            fail(f"tir.Buffer.access_ptr: expected a whole number as offset, got {place.dtype} ('{self.name}')")
        return Pointer(self, place, writes)

    def check_packed(self, what: str) -> None:
        """Raise ScheduleError unless the elements lie close together, from the start of the memory on."""
        if self.buffer_type == "auto_broadcast":
            fail(f"{what}: expected an element of '{self.name}' for each index, got buffer_type auto_broadcast")
        wanted: Extent = 1
        for axis in reversed(range(len(self.strides))):
            stride = self.strides[axis]
            free = isinstance(stride, Var) or self.shape[axis] == 1
            if not free and not (isinstance(stride, int) and isinstance(wanted, int) and stride == wanted):
                fail(f"{what}: expected elements of '{self.name}' close together, got strides {self.strides}")
            wanted = wanted * self.shape[axis]
        offset = self.elem_offset
        if not isinstance(offset, Var) and not (isinstance(offset, Const) and offset.value == 0):
            fail(f"{what}: expected the elements of '{self.name}' from the start on, got elem_offset {offset}")

    def offset_of(self, indices: Sequence[ExprLike] | ExprLike) -> list[Expr]:
        """The distance of an element from the start of the memory, in elements, for each flattened dimension."""
        point = [convert(index) for index in _point(indices)]
        if len(point) != len(self.shape):
            fail(f"tir.Buffer.offset_of: expected {len(self.shape)} indices of '{self.name}', got {len(point)}")
        if self.strides:
            terms = [index * convert(stride) for index, stride in zip(point, self.strides, strict=True)]
            return [sum(terms, self.elem_offset)]
        offsets: list[Expr] = []
        for begin, end in self._groups():
            offset = point[begin]
            for axis in range(begin + 1, end):
                offset = offset * convert(self.shape[axis]) + point[axis]
            offsets.append(offset)
        offsets[-1:] = [offset + self.elem_offset for offset in offsets[-1:]]
        return offsets

    def _groups(self) -> list[tuple[int, int]]:
        """The ranges of dimensions that become one when the buffer is flattened."""
        ends = [0, *self.axis_separators, len(self.shape)]
        return [(begin, end) for begin, end in pairwise(ends) if begin < end]

    def get_flattened_buffer(self) -> Buffer:
        """A buffer of the same elements, with one dimension for each group between axis separators."""
        groups = self._groups()
        if len(groups) == len(self.shape):
            return self
        shape = [prod(self.shape[begin:end], start=cast(Any, 1)) for begin, end in groups]
        separators = [sum(end <= position for _, end in groups) for position in self.axis_separators]
        flat = Buffer(shape, self.dtype, self.name, self._scope, axis_separators=separators)
        flat.data = self.data
        return flat

    def same_as(self, other: object) -> bool:
        """Return whether `other` is this very buffer."""
        return self is other

    def __getitem__(self, indices: Any) -> Read:
        return load(self, list(cast("tuple[Any, ...]", indices)) if isinstance(indices, tuple) else [indices])

    def vload(self, begin: Sequence[ExprLike] | ExprLike, dtype: str | None = None) -> Read:
        """The element at a point, or, of a dtype of several lanes, the neighbours from it on.

        Raises ScheduleError for a dtype of other elements.
        """
        if dtype is not None and element_of(dtype) != self.dtype:
            fail(f"tir.Buffer.vload: expected {self.dtype}, got {dtype}")
        return load(self, _neighbours(begin, dtype or self.dtype))

    def vstore(self, begin: Sequence[ExprLike] | ExprLike, value: ExprLike) -> BufferStore:
        """A store of an element at a point, or of a vector from it on."""
        number = convert(value, self.dtype if isinstance(value, int | float) else None)
        return BufferStore(self, number, _neighbours(begin, number.dtype))

    def __repr__(self) -> str:
        return f"Buffer({self.name}, {list(self.shape)}, {self.dtype})"


@dataclass(frozen=True, eq=False)
class Pointer:
    """A pointer into a buffer, as the argument of a call: so many elements behind the first."""

    buffer: Buffer
    offset: Expr
    writes: bool = True

    @property
    def is_whole(self) -> bool:
        """True for a pointer to the first element, which a buffer is, too."""
        return isinstance(self.offset, Const) and self.offset.value == 0


@dataclass(frozen=True)
class ExternCall:
    """A call of a function on buffers and numbers, for what it writes into the buffers."""

    callee: str
    arguments: tuple[Buffer | Pointer | Tensor | Expr, ...]
    """Tensors are the tiles of an intrinsic."""
    packed: bool


def _point(begin: Any) -> list[ExprLike]:
    return list(cast("list[ExprLike]", begin)) if isinstance(begin, list | tuple) else [begin]


def _neighbours(begin: Any, dtype: str) -> list[ExprLike]:
    """The indices from a point on of as many elements as a dtype has lanes."""
    *outer, last = _point(begin)
    return [*outer, last if lanes_of(dtype) == 1 else Ramp(last, 1, lanes_of(dtype))]


def decl_buffer(
    shape: Sequence[Extent] | Extent,
    dtype: str = "float32",
    name: str = "buffer",
    data: object = None,
    strides: Sequence[Extent] | None = None,
    elem_offset: ExprLike | None = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
) -> Buffer:
    """A buffer. An extent may be a variable: it is a size that calls decide.

    Functions take arrays whose elements lie close together: a variable among strides, or as elem_offset, is what that
    makes it. The alignment of an array does not matter. data: has no meaning, as buffers here are memory of their own.
    """
    del data
    return Buffer(
        shape,
        dtype,
        name,
        scope,
        strides=strides,
        elem_offset=elem_offset,
        data_alignment=data_alignment,
        offset_factor=offset_factor,
        buffer_type=buffer_type,
        axis_separators=axis_separators,
    )


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

    def same_as(self, other: object) -> bool:
        """Return whether this is the same object."""
        return self is other


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


class StringImm(str):
    """A text, as a part of statements and arguments of calls."""

    __slots__ = ()
    dtype = "handle"

    @property
    def value(self) -> str:
        return str(self)


@dataclass(eq=False)
class BufferStore(Stmt):
    """Writes an element, or a vector where the last index is one."""

    buffer: Buffer
    value: Any
    indices: Any

    @property
    def dtype(self) -> str:
        """The dtype of what is written, whatever that of the value is."""
        return accessed(self.buffer.dtype, self.indices)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.value = convert(self.value)
        self.indices = [convert(index) for index in self.indices]
        if len(self.indices) != len(self.buffer.shape):
            fail(
                f"tir.BufferStore: expected {len(self.buffer.shape)} indices of '{self.buffer.name}', "
                f"got {len(self.indices)}"
            )

    @property
    def producer(self) -> Tensor:
        """The tensor of which it writes an element."""
        return self.buffer.tensor


@dataclass(eq=False)
class SeqStmt(Stmt):
    """Statements in a row."""

    seq: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.seq = list(self.seq)

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)


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
        kind = {"vectorize": "vectorized", "unroll": "unrolled"}.get(str(self.kind), self.kind)
        self.kind = KINDS.index(kind) if isinstance(kind, str) and kind in KINDS else kind
        if self.kind not in range(len(KINDS)):
            fail(f"tir.For: expected a kind among {', '.join(KINDS)}, got {self.kind!r}")
        self.kind = ForKind(self.kind)


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

    def __post_init__(self) -> None:
        super().__post_init__()
        self.message = StringImm(self.message)


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
    """A value that is computed and not used, for its effects if it has any; or a call of a function."""

    value: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self.value = self.value if isinstance(self.value, ExternCall) else convert(self.value)
