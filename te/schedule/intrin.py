"""Tensor intrinsics, which compute a tile of a stage in place of its innermost loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeAlias, cast, overload

from ...dialects import te
from ...dialects.schedule.intrin import PARTS, PATTERN, TensorIntrinOp
from ...support.errors import ScheduleError
from ..language.buffers import bound_strides, packed_strides
from ..language.emit import build_function
from ..language.expr import Const, ExprLike, Extent, Read, Var, constant
from ..language.externs import extern
from ..language.statements import Buffer, BufferStore, Evaluate, ExternCall, Pointer, Stmt
from ..language.tensor import ComputeOp, Operation, PlaceholderOp, Tensor, placeholder
from ..language.tensor_compute import with_numbers
from ..language.walks import walk
from .create import create_schedule
from .intrin_parameters import OpenIntrin
from .schedule import Schedule, replay
from .tensor_intrin import TensorIntrin

Replacement: TypeAlias = Tensor | Schedule | ExternCall | Stmt | Sequence[ExternCall | Stmt | None]
"""The computation of a tile: a tensor of the inputs, its schedule, a call or statements, or such for each part."""


class Tile(Tensor):
    """An input or output of an intrinsic. A C function gets a pointer to its elements, which lie close together."""

    def __init__(self, source: Operation, shape: tuple[Extent, ...], dtype: str):
        super().__init__(source, 0, shape, dtype)
        self.buffer: Buffer = Buffer(shape, dtype, source.name)
        """The tile in statements, as which `ir_builder.buffer_ptr` takes the tile, too."""
        self.buffer.tensor = self

    def vload(self, begin: Sequence[ExprLike] | ExprLike, dtype: str | None = None) -> Read:
        """The element at a point."""
        return self.buffer.vload(begin, dtype)

    def vstore(self, begin: Sequence[ExprLike] | ExprLike, value: ExprLike) -> BufferStore:
        """A store of an element at a point."""
        return self.buffer.vstore(begin, value)

    @property
    def data(self) -> Self:
        """The tile, as the argument of a call."""
        return self

    def access_ptr(
        self,
        access_mask: str | int = "r",
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
        extent: ExprLike | None = None,
    ) -> Self | Pointer:
        """The tile, or a pointer into it, as the argument of a call; as `Buffer.access_ptr`."""
        pointer = self.buffer.access_ptr(access_mask, ptr_type, content_lanes, offset, extent)
        return self if pointer.is_whole else pointer

    @property
    def strides(self) -> list[int]:
        """The distances between neighbours along each dimension."""
        return packed_strides(self.shape)


def intrin_of(op: TensorIntrinOp) -> TensorIntrin:
    """The intrinsic that a text says. Raises ScheduleError when a sequence in it does not fit its function."""
    functions, sequences = op.functions, op.sequences
    parts: dict[str, Schedule | None] = {}
    for name in PARTS:
        func = functions[name].clone() if name in functions else None
        if func is not None:
            parts[name] = replay(func, sequences[name]) if name in sequences else Schedule(func)
    pattern = functions[PATTERN].clone()
    return _intrin(op.label.data, pattern, [parts.get(name) for name in PARTS], None)


def _intrin(
    name: str, pattern: te.FuncOp, parts: Sequence[Schedule | None], operation: ComputeOp | None
) -> TensorIntrin:
    """An intrinsic of the schedules of its parts."""
    body, reset, update = [*parts, None, None][:3]
    programs = [part.program() if part is not None else None for part in (body, reset, update)]
    accumulates = update is not None or (body is not None and _accumulates(body, pattern))
    return TensorIntrin(name, pattern, *programs, accumulates=accumulates, operation=operation)


def _accumulates(body: Schedule, pattern: te.FuncOp) -> bool:
    """Return whether a body that is computes ends as the pattern reduces."""
    last = body.func.return_op.values[0].owner
    (compute,) = pattern.computes
    return isinstance(last, te.ComputeOp) and last.reducer == compute.reducer


@overload
def decl_tensor_intrin(
    op: Operation | Tensor,
    fcompute: Callable[[list[Tile], list[Tile]], Replacement],
    name: str = ...,
    binds: Mapping[Tensor, Buffer] | None = ...,
    scalar_params: None = ...,
    default_buffer_params: Mapping[str, Any] | None = ...,
) -> TensorIntrin: ...
@overload
def decl_tensor_intrin(
    op: Operation | Tensor,
    fcompute: Callable[[list[Tile], list[Tile], list[Const]], Replacement],
    name: str = ...,
    binds: Mapping[Tensor, Buffer] | None = ...,
    *,
    scalar_params: Var | Sequence[Var],
    default_buffer_params: Mapping[str, Any] | None = ...,
) -> OpenIntrin: ...
def decl_tensor_intrin(
    op: Operation | Tensor,
    fcompute: Callable[..., Replacement],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Var | Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin | OpenIntrin:
    """Make an intrinsic that replaces the compute `op` on its input tensors.

    fcompute: from tiles for the inputs, in order of first read, and one for the output to what takes the loops' place:
    a tensor; a schedule of one; the statements of an `ir_builder`; a call,
    `te.call_extern("int32", "gemv", ins[0].access_ptr("r"), .., 16)`; or a triple
    of calls (body, reset, update), the last two for when loops of the reduction stay outside the tile, None for what
    there is not. What is called gets pointers to tiles whose elements lie close together, to copies where they do not;
    it only reads its inputs, and an update finds in the output what there is. `te.call_packed("gemv", ins[0], outs[0])`
    calls a Python function with arrays of the tiles, in parallel loops from several threads. A body that is computes
    and ends as `op` reduces needs no update.
    binds: a `te.decl_buffer` for tensors of `op`. As tiles lie close together, variables among its strides get those
    strides, and numbers must be them. default_buffer_params: what `te.decl_buffer` takes, for the other tensors.
    scalar_params: variables of `op`. fcompute gets their numbers as a third list, and the intrinsic, called in a
    compute, `scalar_inputs`; before it is a `tensorize`, `with_scalars(2.0)` says them.
    Raises ScheduleError when `op` is more than one compute of placeholders, or the replacement does not look like it.
    """
    operation = op.op if isinstance(op, Tensor) else op
    inputs = operation.input_tensors
    if not isinstance(operation, ComputeOp) or any(not isinstance(tensor.op, PlaceholderOp) for tensor in inputs):
        raise ScheduleError(f"decl_tensor_intrin: expected one compute of placeholders, got {operation} ('{name}')")
    if operation.num_outputs != 1:
        raise ScheduleError(f"decl_tensor_intrin: expected one tensor, got {operation.num_outputs} ('{name}')")
    strides = bound_strides([*inputs, *operation.outputs], binds, default_buffer_params, name)
    params = (scalar_params,) if isinstance(scalar_params, Var) else tuple(scalar_params or ())
    if not params:
        return _declared(operation, fcompute, name, strides, {})
    nodes = walk(operation.body)
    if unused := [param for param in params if not any(node is param for node in nodes)]:
        raise ScheduleError(
            f"decl_tensor_intrin: expected scalar_params that {operation} uses, got {', '.join(map(str, unused))} "
            f"('{name}')"
        )

    def make(numbers: tuple[Const, ...]) -> TensorIntrin:
        return _declared(operation, fcompute, name, strides, dict(zip(params, numbers, strict=True)))

    return OpenIntrin(name, params, make)


def _declared(
    operation: ComputeOp,
    fcompute: Callable[..., Replacement],
    name: str,
    strides: Mapping[Var, int],
    numbers: Mapping[Var, Const],
) -> TensorIntrin:
    """The intrinsic of a compute whose scalar parameters have numbers."""
    if numbers:
        operation = with_numbers(operation, numbers)
    inputs = operation.input_tensors
    pattern, _ = build_function(operation.outputs, inputs, name)
    ins, outs = ([_tile(tensor) for tensor in tensors] for tensors in (inputs, operation.outputs))
    answer = fcompute(ins, outs, *([list(numbers.values())] if numbers else []))
    several = isinstance(answer, tuple | list)
    calls: list[Any] = list(answer) if several else [answer]
    if len(calls) > len(PARTS) or (
        several and any(part is not None and not isinstance(part, ExternCall | Stmt) for part in calls)
    ):
        raise ScheduleError(f"decl_tensor_intrin: expected calls for {', '.join(PARTS)} ('{name}')")
    parts = [_part(which, part, ins, outs, strides, name) for which, part in zip(PARTS, calls, strict=False)]
    if all(part is None for part in parts):
        raise ScheduleError(f"decl_tensor_intrin: expected something that computes a tile, got nothing ('{name}')")
    for part in parts:
        if part is not None and _types(part.func) != _types(pattern):
            raise ScheduleError(
                f"decl_tensor_intrin: expected a replacement of {_types(pattern)}, got {_types(part.func)} ('{name}')"
            )
    return _intrin(name, pattern, parts, operation)


def _tile(tensor: Tensor) -> Tile:
    source = placeholder(tensor.shape, tensor.dtype, tensor.name)
    tile = Tile(source.op, source.shape, source.dtype)
    source.op.outputs[0] = tile
    return tile


def _part(
    which: str, answer: object, ins: list[Tile], outs: list[Tile], strides: Mapping[Var, int], name: str
) -> Schedule | None:
    """The schedule of a part; its function has the part's name."""
    if answer is None or isinstance(answer, Schedule):
        return answer
    if isinstance(answer, Tensor):
        return create_schedule(answer, ins, which)
    out = outs[0]
    if isinstance(answer, Stmt) and not isinstance(getattr(answer, "value", None), ExternCall):
        filled = extern(
            [out.shape],
            ins,
            lambda _ins, _outs: answer,
            name=out.name,
            dtype=[out.dtype],
            in_buffers=[tile.buffer for tile in ins],
            out_buffers=[tile.buffer for tile in outs],
        )
        return create_schedule(filled, ins, which)
    answer = answer.value if isinstance(answer, Evaluate) else answer
    if not isinstance(answer, ExternCall):
        raise ScheduleError(
            f"decl_tensor_intrin: expected a tensor, a schedule or calls, got {type(answer).__name__} ('{name}')"
        )
    tensors = [a.buffer.tensor if isinstance(a, Pointer) else a for a in answer.arguments]
    if unknown := [a.name for a in tensors if isinstance(a, Tensor) and a not in (*ins, *outs)]:
        raise ScheduleError(f"decl_tensor_intrin: expected the intrinsic's tiles, got {', '.join(unknown)} ('{name}')")
    numbers: dict[object, Const] = {var: constant(n, var.dtype) for var, n in strides.items()}

    def call(inputs: list[Buffer], outputs: list[Buffer]) -> ExternCall:
        buffers = dict(zip((*ins, *outs), (*inputs, *outputs), strict=True))
        values: dict[object, Buffer | Const] = {**buffers, **numbers}
        return replace(
            answer,
            arguments=tuple(
                replace(argument, buffer=buffers[cast(Tile, argument.buffer.tensor)])
                if isinstance(argument, Pointer)
                else values.get(argument, argument)
                for argument in answer.arguments
            ),
        )

    filled = extern([out.shape], ins, call, name=out.name, dtype=[out.dtype])
    return create_schedule(filled, ins, which)


def _types(func: te.FuncOp) -> str:
    sides = [value.type for value in func.block.args], [value.type for value in func.return_op.values]
    return " -> ".join(f"({', '.join(map(str, side))})" for side in sides)
