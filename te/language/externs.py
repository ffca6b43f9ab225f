"""`extern`: a C function, or a registered Python one, as an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from ...dialects.sizes import SizeExpr
from ...runtime.values.registry import global_function, list_global_func_names
from ...runtime.values.registry import register_func as registered
from ...support.dtypes import check_dtype, fail
from .expr import Const, Expr, Extent, Var, convert
from .statements import Buffer, Evaluate, ExternCall, Pointer, Stmt
from .tensor import Operation, Tensor, check_shape, current_tag

PackedFunction: TypeAlias = Callable[..., object]
Argument: TypeAlias = Buffer | Pointer | Tensor | Expr


def register_func(name: str, function: PackedFunction | None = None, override: bool = False) -> Any:
    """Make a Python function known to `call_packed` by its name, as `whence.register_func`.

    It is called with arrays, the outputs writable, and numbers. Raises ScheduleError when the name is taken.
    """
    if global_function(name) is not None and not override:
        fail(f"te.register_func: Global PackedFunc {name} is already registered")
    return registered(name, function, override)


def packed_function(name: str) -> PackedFunction:
    """The function of a name; raises ScheduleError when there is none."""
    function = global_function(name)
    if function is None:
        names = ", ".join(sorted(list_global_func_names())) or "none"
        fail(f"te.call_packed: Cannot find function {name} in the registered ones ({names}); use te.register_func")
    return function


def _arguments(what: str, values: Sequence[object]) -> tuple[Argument, ...]:
    arguments = [
        value if isinstance(value, Buffer | Pointer | Tensor) else convert(cast(Any, value)) for value in values
    ]
    for value in arguments:
        if not isinstance(value, Buffer | Pointer | Tensor | Const | Var):
            fail(f"te.{what}: expected buffers and numbers as arguments, got {type(value).__name__}")
    return tuple(arguments)


def _whole(argument: Argument) -> Argument:
    """The buffer for a pointer to its first element."""
    return argument.buffer if isinstance(argument, Pointer) and argument.is_whole else argument


def call_packed(name: str, *arguments: object) -> ExternCall:
    """A call of a registered Python function on buffers and numbers."""
    given = tuple(map(_whole, _arguments("call_packed", arguments)))
    if moved := [value.buffer.name for value in given if isinstance(value, Pointer)]:
        fail(f"te.call_packed: expected whole buffers, which a function gets as arrays, got '{moved[0]}' at an offset")
    return ExternCall(name, given, True)


def call_extern(dtype: str, name: str, *arguments: object) -> ExternCall:
    """A call of a C function: buffers are pointers to their elements. What it returns is not used."""
    if dtype not in ("void", "handle"):
        check_dtype(dtype, "te.call_extern")
    return ExternCall(name, _arguments("call_extern", arguments), False)


class ExternOp(Operation):
    """Tensors that a function or statements fill."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Tensor],
        buffers: tuple[Sequence[Buffer], Sequence[Buffer]],
        body: ExternCall | Stmt,
        shapes: Sequence[Sequence[Extent]],
        dtypes: Sequence[str],
        tag: str,
        attrs: dict[str, Any],
    ):
        super().__init__(name, shapes, dtypes)
        self.inputs = list(inputs)
        self.body = body
        """The call or the statements, on the buffers."""
        self.input_placeholders, self.output_placeholders = map(list, buffers)
        """The buffers of the inputs and of the outputs."""
        self.tag = tag
        self.attrs = attrs

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def extern(
    shape: Extent | Sequence[Extent] | Sequence[Sequence[Extent]],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], ExternCall | Stmt],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
) -> Any:
    """Tensors that a function computes: one, or a list for a list of shapes.

    fcompute: the buffers of the inputs and of the outputs -> `call_packed(..)`, `call_extern(..)` or the statements of
    an `ir_builder`. dtype: of each output; without it that of the inputs. in_buffers, out_buffers: the buffers that
    fcompute gets, of the tensors' shapes and dtypes. Raises ScheduleError when the dtype cannot be told, or shapes and
    dtypes differ in number.

        C = te.extern((n, m), [A, B], lambda ins, outs: te.call_packed("matmul", ins[0], ins[1], outs[0]))
    """
    single = isinstance(shape, int | Expr | SizeExpr) or not shape or isinstance(shape[0], int | Expr)
    extents = cast(Sequence[Sequence[Extent] | Extent], (shape,) if single else shape)
    shapes = [check_shape(one, "te.extern") for one in extents]
    if dtype is None:
        input_dtypes = {tensor.dtype for tensor in inputs}
        if len(input_dtypes) != 1:
            fail(f"te.extern: Cannot infer output type, please provide dtype argument (stage '{name}')")
        dtypes = [input_dtypes.pop()] * len(shapes)
    else:
        dtypes = [dtype] if isinstance(dtype, str) else list(dtype)
    if len(dtypes) != len(shapes):
        fail(f"te.extern: expected a dtype per shape, got {len(dtypes)} and {len(shapes)} (stage '{name}')")
    for one in dtypes:
        check_dtype(one, "te.extern")
    if any(not isinstance(tensor, Tensor) for tensor in inputs):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te.extern: expected tensors as inputs (stage '{name}')")
    if current_tag() and tag:
        fail("te.extern: nested tag is not allowed for now")
    ins = _buffers(in_buffers, [(tensor.name, tensor.shape, tensor.dtype) for tensor in inputs], name)
    outs = _buffers(out_buffers, [(name, one, kind) for one, kind in zip(shapes, dtypes, strict=True)], name)
    body = fcompute(ins, outs)
    if not isinstance(body, ExternCall | Stmt):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te.extern: expected a call or statements, got {type(body).__name__} (stage '{name}')")
    if isinstance(body, ExternCall):
        handles: dict[object, Buffer] = {buffer.data: buffer for buffer in (*ins, *outs)}
        body = replace(body, arguments=tuple(handles.get(argument, _whole(argument)) for argument in body.arguments))
    if isinstance(body, ExternCall) and any(
        isinstance(argument, Tensor) or (isinstance(argument, Buffer) and argument not in (*ins, *outs))
        for argument in (each.buffer if isinstance(each, Pointer) else each for each in body.arguments)
    ):
        fail(f"te.extern: expected the buffers of inputs and outputs as arguments, got others (stage '{name}')")
    if isinstance(body, ExternCall) and any(isinstance(argument, Pointer) for argument in body.arguments):
        body = Evaluate(body)
    attributes = dict(attrs or {})
    op = ExternOp(name, inputs, (ins, outs), body, shapes, dtypes, tag=tag or current_tag(), attrs=attributes)
    return op.output(0) if single else op.outputs


def _buffers(
    declared: Buffer | Sequence[Buffer] | None, wanted: Sequence[tuple[str, tuple[Extent, ...], str]], name: str
) -> list[Buffer]:
    """The buffers of tensors with these names, shapes and dtypes: those that were declared, or new ones."""
    if declared is None:
        return [Buffer(shape, dtype, tensor) for tensor, shape, dtype in wanted]
    buffers = [declared] if isinstance(declared, Buffer) else list(declared)
    shapes = [(len(buffer.shape), buffer.dtype) for buffer in buffers]
    if shapes != [(len(shape), dtype) for _, shape, dtype in wanted]:
        fail(f"te.extern: expected buffers like the tensors, got {buffers} (stage '{name}')")
    for buffer in buffers:
        buffer.check_packed(f"te.extern '{name}'")
    return buffers
