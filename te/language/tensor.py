"""Tensors and the operations that make them: `placeholder` and `compute`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from ...dialects.sizes import SizeExpr
from ...support.dtypes import check_dtype, fail, is_float, lanes_of, python_number
from .expr import Axis, Const, Expr, ExprLike, Extent, Read, Select, binary, compare, constant, convert
from .locations import here
from .reductions import Reduce
from .walks import walk
from .whole_tensors import Operand, WholeTensor

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
"""The function that gives the element of a compute, for its axes."""

_tag: ContextVar[str] = ContextVar("te_tag", default="")


def current_tag() -> str:
    """The tag of the innermost `tag_scope`, "" outside of any."""
    return _tag.get()


class Operation:
    """An operation that makes tensors. `name` is its stage's label."""

    name: str
    location: LocationAttr

    def __init__(self, name: str, shapes: Sequence[Sequence[Extent]], dtypes: Sequence[str]):
        self.name = name
        self.location = here(name)
        outputs = enumerate(zip(shapes, dtypes, strict=True))
        self.outputs = [Tensor(self, index, tuple(shape), dtype) for index, (shape, dtype) in outputs]
        self.axis: list[Axis] = []
        self.reduce_axis: list[Axis] = []

    @property
    def num_outputs(self) -> int:
        return len(self.outputs)

    @property
    def root_iter_vars(self) -> list[Axis]:
        return [*self.axis, *self.reduce_axis]

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
        for expr in walk(body):
            if lanes_of(expr.dtype) != 1:
                fail(f"te.compute '{name}': expected scalars, got {expr.dtype}; vectorize a loop")
        super().__init__(name, [[axis.extent for axis in axes]] * len(body), [expr.dtype for expr in body])
        self.axis = list(axes)
        self.body = tuple(body)
        self.tag = tag
        self.attrs = attrs
        first = body[0]
        if isinstance(first, Reduce):
            self.reduce_axis = list(first.axes)
        self.alike: list[tuple[Extent, Extent]] = []
        """Open sizes that must be the same."""
        nodes = walk(self.body)
        _check_reductions(name, self.body, nodes)
        self._inputs = tuple(dict.fromkeys(tensor_of(node) for node in nodes if isinstance(node, Read)))

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(self._inputs)


class FullOp(ComputeOp):
    """A tensor of one number. Its readers contain the number, so only an output of a function is a stage."""

    def __init__(self, name: str, axes: Sequence[Axis], number: Const):
        super().__init__(name, axes, [number], "", {})
        self.number = Const(number.value, number.dtype, self.location)

    def element(self, point: Sequence[Expr], otherwise: Const | None) -> Expr:
        """The number, or `otherwise` where the point lies outside."""
        if otherwise is None or not point:
            return self.number
        inside: Expr | None = None
        for index, extent in zip(point, self.outputs[0].shape, strict=True):
            for test in (compare("ge", index, 0), compare("lt", index, extent)):
                inside = test if inside is None else binary("and", inside, test)
        assert inside is not None
        return Select(inside, self.number, otherwise, False)


class Tensor(WholeTensor):
    """An output of an operation. `T[i, j]` and `T(i, j)` read an element; fewer indices give a slice.

    `T(i - 1, j, otherwise=0.0)` reads a padded tensor: the number where the point lies outside.
    """

    def __init__(self, op: Operation, value_index: int, shape: tuple[Extent, ...], dtype: str):
        self.op = op
        self.value_index = value_index
        self.shape = shape
        self.dtype = dtype

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The operation's name, with `.v<index>` when it has several outputs."""
        return self.op.name if self.op.num_outputs == 1 else f"{self.op.name}.v{self.value_index}"

    def __call__(self, *indices: ExprLike | slice, otherwise: float | None = None) -> Expr:
        if len(indices) != self.ndim:
            fail(f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided (tensor '{self.name}')")
        default = None if otherwise is None else constant(otherwise, self.dtype)
        point = tuple(self._index(index) for index in indices)
        return self.op.element(point, default) if isinstance(self.op, FullOp) else Read(self, point, default)

    def _index(self, index: ExprLike | slice) -> Expr:
        if isinstance(index, Axis):
            return index
        if isinstance(index, slice):
            fail(f"te: expected one index per dimension of tensor '{self.name}', got {index}; ranges are not indices")
        expr = convert(index)
        if is_float(expr.dtype):
            fail(f"te: expected integers as indices of tensor '{self.name}', got {expr.dtype}")
        return expr

    def __getitem__(self, indices: ExprLike | slice | tuple[ExprLike | slice, ...]) -> Any:
        index_tuple = indices if isinstance(indices, tuple) else (indices,)
        is_element = len(index_tuple) >= self.ndim and not any(isinstance(index, slice) for index in index_tuple)
        return self(*index_tuple) if is_element else TensorSlice(self, index_tuple)

    def __iter__(self) -> Iterator[Any]:
        fail(f"te: tensor '{self.name}' cannot be iterated; index it")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, op.name={self.op.name})"

    def broadcast(self, name: str, function: Callable[..., Expr], *operands: Operand) -> Tensor:
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        shape, alike = _broadcast_shape([tensor.shape for tensor in tensors], name)
        axes = [Axis(f"ax{i}", extent) for i, extent in enumerate(shape)]

        def element(tensor: Tensor) -> Expr:
            last = axes[len(axes) - tensor.ndim :]
            return tensor(*(0 if extent == 1 else axis for axis, extent in zip(last, tensor.shape, strict=True)))

        value = function(*(element(operand) if isinstance(operand, Tensor) else operand for operand in operands))
        op = ComputeOp(name, axes, [value], "broadcast" if len(tensors) > 1 else "elemwise", {})
        op.alike = alike
        return op.output(0)


def _broadcast_shape(
    shapes: Sequence[tuple[Extent, ...]], what: str
) -> tuple[list[Extent], list[tuple[Extent, Extent]]]:
    """The shape in which others meet, sizes of 1 stretched, and the pairs of open sizes that must be the same."""
    shape: list[Extent] = []
    alike: list[tuple[Extent, Extent]] = []
    for position in range(1, max(map(len, shapes)) + 1):
        common: Extent = 1
        for extent in [shape[-position] for shape in shapes if position <= len(shape)]:
            if extent is common or (isinstance(extent, int) and extent in (1, common)):
                continue
            if isinstance(common, int) and common == 1:
                common = extent
                continue
            if isinstance(common, int) and isinstance(extent, int):
                both = " and ".join(map(_spelled, shapes))
                fail(f"te: Incompatible broadcast dims: {common} and {extent} in {both} ({what})")
            alike.append((common, extent))
            common = common if isinstance(common, int) else extent
        shape.insert(0, common)
    return shape, alike


def _spelled(shape: Sequence[Extent]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def tensor_of(read: Read) -> Tensor:
    """The tensor that an element is read of."""
    assert isinstance(read.tensor, Tensor)
    return read.tensor


@dataclass(frozen=True, eq=False)
class TensorSlice(Expr):
    """A tensor with its first indices given; more indices make it an element. Ranges make it an intrinsic's region."""

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


class InnerCompute:
    """A possible result of a compute's function for its outer axes: something that computes the inner ones, too."""

    def operation(
        self, name: str, outer: Sequence[Axis], extents: Sequence[Extent], tag: str, attrs: dict[str, Any]
    ) -> ComputeOp:
        """The compute whose last dimensions, of `extents`, are these; raises ScheduleError when it has others."""
        raise NotImplementedError


def check_extent(extent: Extent, what: str) -> Extent:
    """`extent`; raises ScheduleError when it is no size."""
    extent = python_number(extent)
    if isinstance(extent, SizeExpr):
        return extent
    if isinstance(extent, Expr):
        if is_float(extent.dtype):
            fail(f"{what}: expected sizes that are integers, got {extent.dtype}")
    elif isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"{what}: expected non-negative ints as sizes, got {extent!r}")
    return extent


def check_shape(shape: Sequence[Extent] | Extent, what: str) -> tuple[Extent, ...]:
    """A shape as a tuple; raises ScheduleError when a part of it is no size."""
    extents = (shape,) if isinstance(shape, int | np.integer | Expr | SizeExpr) else tuple(shape)
    return tuple(check_extent(extent, what) for extent in extents)


def placeholder(shape: Sequence[Extent] | Extent, dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """An input tensor."""
    check_dtype(dtype, "te.placeholder")
    return PlaceholderOp(name, [check_shape(shape, "te.placeholder")], [dtype]).output(0)


def full(shape: Sequence[Extent] | Extent, fill_value: float, dtype: str = "float32", name: str = "full") -> Tensor:
    """A tensor of one number. What reads it has the number itself, at the location of this operation.

    Raises ScheduleError when the dtype cannot hold the number.
    """
    check_dtype(dtype, "te.full")
    axes = [Axis(f"i{k}", extent) for k, extent in enumerate(check_shape(shape, "te.full"))]
    return FullOp(name, axes, constant(fill_value, dtype)).output(0)


def compute(
    shape: Sequence[Extent] | Extent,
    fcompute: Body,
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Make a tensor whose element at `(i, j, ..)` is `fcompute(i, j, ..)`; a list of tensors if that is a tuple.

    Fewer arguments than dimensions are the outer axes of a call of a tensor intrinsic, which computes the others.
    `lambda *i` gets all axes, called i0, i1, .. or as `varargs_names` says. attrs: attributes of the stage; True
    becomes a flag, as in {"keep": True}, False none, and another value its text.
    Raises ScheduleError when the lambda's arguments do not match the shape.
    """
    extents = check_shape(shape, "te.compute")
    names = _argument_names(fcompute, len(extents), varargs_names)
    axes = [Axis(n, e) for n, e in zip(names, extents, strict=False)]
    result = fcompute(*axes)
    if isinstance(result, InnerCompute):
        tagged = _tagged("te.compute", tag)
        return result.operation(name, axes, extents[len(axes) :], tagged, dict(attrs or {})).output(0)
    if len(axes) != len(extents):
        _wrong_count(len(axes), len(extents))
    several = isinstance(result, tuple | list)
    body = [convert(expr) for expr in (cast(Sequence[ExprLike], result) if several else (result,))]
    if not body:
        fail(f"te.compute: expected at least one value, got an empty tuple (stage '{name}')")
    op = ComputeOp(name, axes, body, _tagged("te.compute", tag), dict(attrs or {}))
    return op.outputs if several else op.output(0)


def _tagged(what: str, tag: str) -> str:
    """The tag of an operation that is made now."""
    scope = current_tag()
    if scope and tag:
        fail(f"{what}: nested tag is not allowed for now")
    return tag or scope


def _wrong_count(arguments: int, rank: int) -> NoReturn:
    fail(f"Number of args to fcompute does not match dimension, args={arguments}, dimension={rank}")


def _argument_names(fcompute: Callable[..., Any], rank: int, varargs_names: Sequence[str] | None) -> list[str]:
    names, more = _parameters(fcompute)
    rest = rank - len(names)
    if more and rest >= 0:
        if varargs_names is not None and len(varargs_names) != rest:
            fail(f"te.compute: expected {rest} varargs_names, got {len(varargs_names)}")
        names += list(varargs_names) if varargs_names is not None else [f"i{k}" for k in range(len(names), rank)]
    if len(names) > rank:
        _wrong_count(len(names), rank)
    return names


def _parameters(fcompute: Callable[..., Any]) -> tuple[list[str], bool]:
    """The names of a function's plain arguments, and whether it takes more of them."""
    if isinstance(fcompute, Tensor):
        return [], True
    if isinstance(fcompute, FunctionType) and not hasattr(fcompute, "__wrapped__"):
        # As `inspect.signature` says, in a tenth of the time.
        code = fcompute.__code__
        plain = not (fcompute.__defaults__ or code.co_kwonlyargcount or code.co_flags & inspect.CO_VARKEYWORDS)
        names, more = list(code.co_varnames[: code.co_argcount]), bool(code.co_flags & inspect.CO_VARARGS)
    else:
        parameters = list(inspect.signature(fcompute).parameters.values())
        odd = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        plain = all(p.kind not in odd and p.default is p.empty for p in parameters)
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not plain:
        fail("te.compute: expected a function of plain arguments, got keyword or default arguments")
    return names, more


def _check_reductions(name: str, body: Sequence[Expr], nodes: Sequence[Expr]) -> None:
    reductions = [node for node in nodes if isinstance(node, Reduce)]
    if not reductions:
        return
    tops = [expr for expr in body if isinstance(expr, Reduce)]
    if len(reductions) > len(set(tops)):
        fail(f"te.compute: Reductions are only allowed at the top level of compute (stage '{name}')")
    first = tops[0]
    same = all(top.values is first.values for top in tops)
    if not same or [top.index for top in tops] != list(range(len(first.values))) or len(tops) != len(body):
        fail(
            f"te.compute: expected the values of one reduction, all {len(first.values)} of them in order, "
            f"got {len(body)} expressions of which {len(tops)} reduce (stage '{name}')"
        )


@contextmanager
def tag_scope(tag: str) -> Generator[None]:
    """Computes made inside get this tag. Raises ScheduleError inside another."""
    if current_tag():
        fail("te.tag_scope: nested tag is not allowed for now")
    token = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(token)
