"""Tensors and the operations that make them: `placeholder` and `compute`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from .dtypes import check_dtype, fail, is_float
from .expr import Axis, Expr, ExprLike, Extent, Read, Reduce, convert, walk

# One case per rank, so that type checkers know the arguments of a lambda.
Body: TypeAlias = (
    Callable[[], Any]
    | Callable[[Expr], Any]
    | Callable[[Expr, Expr], Any]
    | Callable[[Expr, Expr, Expr], Any]
    | Callable[[Expr, Expr, Expr, Expr], Any]
    | Callable[[Expr, Expr, Expr, Expr, Expr], Any]
    | Callable[[Expr, Expr, Expr, Expr, Expr, Expr], Any]
)
"""What gives the element of a compute, for its axes."""

_tag: ContextVar[str] = ContextVar("te_tag", default="")


def current_tag() -> str:
    """The tag of the innermost `tag_scope`, "" outside of any."""
    return _tag.get()


class Operation:
    """What makes tensors. `name` is its stage's label."""

    name: str
    location: LocationAttr

    def __init__(self, name: str, shapes: Sequence[Sequence[Extent]], dtypes: Sequence[str]):
        self.name = name
        self.location = UNKNOWN_LOC
        outputs = enumerate(zip(shapes, dtypes, strict=True))
        self.outputs = [Tensor(self, index, tuple(shape), dtype) for index, (shape, dtype) in outputs]
        self.axis: list[Axis] = []
        self.reduce_axis: list[Axis] = []

    @property
    def num_outputs(self) -> int:
        return len(self.outputs)

    def output(self, index: int) -> Tensor:
        return self.outputs[index]

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors read, each once, in order of their first read."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class PlaceholderOp(Operation):
    """An input of the function."""


class ComputeOp(Operation):
    """An element per point of the axes."""

    def __init__(
        self,
        name: str,
        axes: Sequence[Axis],
        body: Sequence[Expr],
        tag: str,
        attrs: dict[str, Any],
    ):
        super().__init__(name, [[axis.extent for axis in axes]] * len(body), [expr.dtype for expr in body])
        self.axis = list(axes)
        self.body = tuple(body)
        self.tag = tag
        self.attrs = attrs
        first = body[0]
        if isinstance(first, Reduce):
            self.reduce_axis = list(first.axes)

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(node.tensor for node in walk(self.body) if isinstance(node, Read)))


class Tensor:
    """One output of an operation. `T[i, j]` and `T(i, j)` read an element; fewer indices give a slice."""

    def __init__(self, op: Operation, value_index: int, shape: tuple[Extent, ...], dtype: str):
        self.op = op
        self.value_index = value_index
        self.shape = shape
        self.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        """The operation's name, with `.v<index>` when it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __call__(self, *indices: ExprLike | slice) -> Expr:
        if len(indices) != self.ndim:
            fail(f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided (tensor '{self.name}')")
        return Read(self, tuple(self._index(index) for index in indices))

    def _index(self, index: ExprLike | slice) -> Expr:
        if isinstance(index, slice):
            fail(f"te: expected one index per dimension of tensor '{self.name}', got {index}; ranges are not indices")
        expr = convert(index)
        if is_float(expr.dtype):
            fail(f"te: expected integers as indices of tensor '{self.name}', got {expr.dtype}")
        return expr

    def __getitem__(self, indices: ExprLike | slice | tuple[ExprLike | slice, ...]) -> Any:
        given = indices if isinstance(indices, tuple) else (indices,)
        return self(*given) if len(given) >= self.ndim else TensorSlice(self, given)

    def __iter__(self) -> Iterator[Any]:
        fail(f"te: tensor '{self.name}' cannot be iterated; index it")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, op.name={self.op.name})"


@dataclass(frozen=True, eq=False)
class TensorSlice(Expr):
    """A tensor with its first indices given; more indices make it an element."""

    tensor: Tensor
    indices: tuple[ExprLike | slice, ...]

    @property
    def dtype(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.tensor.dtype

    def scalar(self) -> Expr:
        return self.tensor(*self.indices)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        return self.tensor[(*self.indices, *more)]


def check_extent(extent: Extent, what: str) -> Extent:
    """`extent`; raises ScheduleError when it is no size."""
    if isinstance(extent, Expr):
        if is_float(extent.dtype):
            fail(f"{what}: expected sizes that are integers, got {extent.dtype}")
    elif isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"{what}: expected non-negative ints as sizes, got {extent!r}")
    return extent


def check_shape(shape: Sequence[Extent] | Extent, what: str) -> tuple[Extent, ...]:
    """A shape as a tuple; raises ScheduleError when a part of it is no size."""
    extents = (shape,) if isinstance(shape, int | Expr) else tuple(shape)
    return tuple(check_extent(extent, what) for extent in extents)


def placeholder(shape: Sequence[Extent] | Extent, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """An input tensor."""
    check_dtype(dtype, "te.placeholder")
    return PlaceholderOp(name, [check_shape(shape, "te.placeholder")], [dtype]).output(0)


def compute(
    shape: Sequence[Extent] | Extent,
    fcompute: Body,
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at `(i, j, ..)` is `fcompute(i, j, ..)`; several, as a list, when that is a tuple.

    `lambda *i` gets all axes, called i0, i1, .. or as `varargs_names` says.
    Raises ScheduleError when the lambda's arguments do not match the shape.
    """
    extents = check_shape(shape, "te.compute")
    axes = [Axis(n, e) for n, e in zip(_argument_names(fcompute, len(extents), varargs_names), extents, strict=True)]
    result = fcompute(*axes)
    several = isinstance(result, tuple | list)
    body = [convert(expr) for expr in (cast(Sequence[ExprLike], result) if several else (result,))]
    if not body:
        fail(f"te.compute: expected at least one value, got an empty tuple (stage '{name}')")
    _check_reductions(name, body)
    scope = current_tag()
    if scope and tag:
        fail("te.compute: nested tag is not allowed for now")
    op = ComputeOp(name, axes, body, tag or scope, dict(attrs or {}))
    return op.outputs if several else op.output(0)


def _argument_names(fcompute: Callable[..., Any], rank: int, varargs_names: Sequence[str] | None) -> list[str]:
    parameters = list(inspect.signature(fcompute).parameters.values())
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) or p.default is not p.empty for p in parameters):
        fail("te.compute: expected a function of plain arguments, got keyword or default arguments")
    names = [p.name for p in plain]
    rest = rank - len(names)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) and rest >= 0:
        if varargs_names is not None and len(varargs_names) != rest:
            fail(f"te.compute: expected {rest} varargs_names, got {len(varargs_names)}")
        names += list(varargs_names) if varargs_names is not None else [f"i{k}" for k in range(len(names), rank)]
    if len(names) != rank:
        fail(f"Number of args to fcompute does not match dimension, args={len(names)}, dimension={rank}")
    return names


def _check_reductions(name: str, body: Sequence[Expr]) -> None:
    if any(isinstance(node, Reduce) for expr in body for node in walk([expr])[1:]):
        fail(f"te.compute: Reductions are only allowed at the top level of compute (stage '{name}')")
    tops = [expr for expr in body if isinstance(expr, Reduce)]
    if not tops:
        return
    first = tops[0]
    same = all(top.values is first.values for top in tops)
    if not same or [top.index for top in tops] != list(range(len(first.values))) or len(tops) != len(body):
        fail(
            f"te.compute: expected the values of one reduction, all {len(first.values)} of them in order, "
            f"got {len(body)} expressions of which {len(tops)} reduce (stage '{name}')"
        )


@contextmanager
def tag_scope(tag: str) -> Generator[None]:
    """Computes made inside get this tag."""
    token = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(token)
