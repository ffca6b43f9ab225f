"""Tensors and the operations that make them: `placeholder`, `compute`, reductions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from ..dialects.relay.constants import DTYPES
from .expr import Axis, Const, Expr, ExprLike, Read, Reduce, convert, fail, walk

_tag: ContextVar[str] = ContextVar("te_tag", default="")


class Operation:
    """What makes tensors: a placeholder or a compute. `name` is its stage's label."""

    name: str
    location: LocationAttr

    def __init__(self, name: str, shape: Sequence[int], dtypes: Sequence[str]):
        self.name = name
        self.location = UNKNOWN_LOC
        self.shape = tuple(shape)
        self.outputs = [Tensor(self, index, dtype) for index, dtype in enumerate(dtypes)]
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
        super().__init__(name, [axis.extent for axis in axes], [expr.dtype for expr in body])
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

    def __init__(self, op: Operation, value_index: int, dtype: str):
        self.op = op
        self.value_index = value_index
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.op.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def name(self) -> str:
        """The operation's name, with `.v<index>` when it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __call__(self, *indices: ExprLike) -> Expr:
        if len(indices) != self.ndim:
            fail(f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided (tensor '{self.name}')")
        return Read(self, tuple(convert(index) for index in indices))

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Any:
        given = indices if isinstance(indices, tuple) else (indices,)
        return self(*given) if len(given) >= self.ndim else TensorSlice(self, given)

    def __iter__(self) -> Iterator[Any]:
        fail(f"te: tensor '{self.name}' cannot be iterated; index it")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, op.name={self.op.name})"


@dataclass(frozen=True)
class TensorSlice:
    """A tensor with its first indices given."""

    tensor: Tensor
    indices: tuple[ExprLike, ...]

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Any:
        more = indices if isinstance(indices, tuple) else (indices,)
        return self.tensor[(*self.indices, *more)]


def _shape(shape: Sequence[int] | int, what: str) -> tuple[int, ...]:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(not isinstance(e, int) or e < 0 for e in extents):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te.{what}: expected a shape of non-negative ints, got {extents}")
    return extents


def placeholder(shape: Sequence[int] | int, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """An input tensor."""
    if dtype not in DTYPES:
        fail(f"te.placeholder: expected a dtype among {', '.join(DTYPES)}, got {dtype!r}")
    return PlaceholderOp(name, _shape(shape, "placeholder"), [dtype]).output(0)


def compute(
    shape: Sequence[int] | int,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor whose element at `(i, j, ..)` is `fcompute(i, j, ..)`; several, as a list, when that is a tuple.

    `lambda *i` gets all axes, called i0, i1, .. or as `varargs_names` says.
    Raises ScheduleError when the lambda's arguments do not match the shape.
    """
    extents = _shape(shape, "compute")
    axes = [Axis(n, e) for n, e in zip(_argument_names(fcompute, len(extents), varargs_names), extents, strict=True)]
    result = fcompute(*axes)
    several = isinstance(result, tuple | list)
    body = [convert(expr) for expr in (cast(Sequence[ExprLike], result) if several else (result,))]
    _check_reductions(name, body)
    scope = _tag.get()
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
    inner = [node for expr in body for node in walk([expr])[1:] if isinstance(node, Reduce)]
    if inner:
        fail(f"te.compute: Reductions are only allowed at the top level of compute (stage '{name}')")
    tops = [expr for expr in body if isinstance(expr, Reduce)]
    if tops and (len(tops) != len(body) or any(t.axes != tops[0].axes for t in tops)):
        fail(f"te.compute: expected all outputs to reduce over the same axes (stage '{name}')")


@contextmanager
def tag_scope(tag: str) -> Generator[None]:
    """Computes made inside get this tag."""
    token = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(token)


def reduce_axis(dom: tuple[int, int], name: str = "rv") -> Axis:
    """A reduction variable over `dom = (begin, end)`; a begin other than 0 is shifted into the expressions."""
    begin, end = dom
    if begin != 0:
        fail(f"te.reduce_axis: expected a domain from 0, got {dom}; add the offset to the index")
    return Axis(name, end, reduce=True)


def _reducer(kind: str) -> Callable[..., Expr]:
    def reduce(expr: ExprLike, axis: Axis | Sequence[Axis], where: Expr | None = None) -> Expr:
        axes = (axis,) if isinstance(axis, Axis) else tuple(axis)
        if not axes or any(not a.reduce for a in axes):
            fail(f"te.{kind}: expected reduce axes, got {axes}")
        return Reduce(kind, convert(expr), axes, where)

    reduce.__doc__ = f"The {kind} of an expression over one or several reduce axes, where a condition holds."
    return reduce


sum = _reducer("sum")
prod = _reducer("prod")
max = _reducer("max")
min = _reducer("min")


def const(value: float | int | bool, dtype: str = "int32") -> Expr:
    return Const(value, dtype)
