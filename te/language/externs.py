"""`extern`: a C function, or a registered Python one, as an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, cast

from ...dialects.sizes import SizeExpr
from ...runtime.values.registry import global_function, list_global_func_names
from ...runtime.values.registry import register_func as registered
from ...support.dtypes import check_dtype, fail
from .expr import Const, Expr, Extent, Var, convert
from .tensor import Operation, Tensor, check_shape, current_tag

PackedFunction: TypeAlias = Callable[..., object]


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


class Argument:
    """An argument that a call gets as it is: `ins[0]`, `ins[0].data` and `ins[0].access_ptr("r")` are the same."""

    @property
    def data(self) -> Self:
        return self

    def access_ptr(self, access_mask: str = "r") -> Self:
        del access_mask
        return self


@dataclass(frozen=True)
class Buffer(Argument):
    """A tensor as a function that is called sees it: input `index`, or an output."""

    index: int
    output: bool
    shape: tuple[Extent, ...]
    dtype: str


@dataclass(frozen=True)
class ExternCall:
    """The call that an extern operation makes."""

    callee: str
    arguments: tuple[Buffer | Tensor | Expr, ...]
    """Tensors are the tiles of an intrinsic."""
    packed: bool


def _arguments(what: str, values: Sequence[object]) -> tuple[Buffer | Tensor | Expr, ...]:
    arguments = [value if isinstance(value, Buffer | Tensor) else convert(cast(Any, value)) for value in values]
    for value in arguments:
        if not isinstance(value, Buffer | Tensor | Const | Var):
            fail(f"te.{what}: expected buffers and numbers as arguments, got {type(value).__name__}")
    return tuple(arguments)


def call_packed(name: str, *arguments: object) -> ExternCall:
    """A call of a registered Python function on buffers and numbers."""
    return ExternCall(name, _arguments("call_packed", arguments), True)


def call_extern(dtype: str, name: str, *arguments: object) -> ExternCall:
    """A call of a C function: buffers are pointers to their elements. What it returns is not used."""
    if dtype not in ("void", "handle"):
        check_dtype(dtype, "te.call_extern")
    return ExternCall(name, _arguments("call_extern", arguments), False)


class ExternOp(Operation):
    """Tensors that a function fills."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Tensor],
        call: ExternCall,
        shapes: Sequence[Sequence[Extent]],
        dtypes: Sequence[str],
        tag: str,
        attrs: dict[str, Any],
    ):
        super().__init__(name, shapes, dtypes)
        self.inputs = list(inputs)
        self.call = call
        self.tag = tag
        self.attrs = attrs

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def extern(
    shape: Extent | Sequence[Extent] | Sequence[Sequence[Extent]],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], ExternCall],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Any:
    """Tensors that a function computes: one, or a list for a list of shapes.

    fcompute: the buffers of the inputs and of the outputs -> `call_packed(..)` or `call_extern(..)`. dtype: of each
    output; without it that of the inputs. Raises ScheduleError when it cannot be told, or shapes and dtypes differ in
    number.

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
    ins = [Buffer(i, False, tensor.shape, tensor.dtype) for i, tensor in enumerate(inputs)]
    outs = [Buffer(i, True, one, kind) for i, (one, kind) in enumerate(zip(shapes, dtypes, strict=True))]
    call = fcompute(ins, outs)
    if not isinstance(call, ExternCall):  # pyright: ignore[reportUnnecessaryIsInstance]
        fail(f"te.extern: expected call_packed(..) or call_extern(..), got {type(call).__name__} (stage '{name}')")
    if any(isinstance(argument, Tensor) for argument in call.arguments):
        fail(f"te.extern: expected the buffers of inputs and outputs as arguments, got a tensor (stage '{name}')")
    op = ExternOp(
        name=name,
        inputs=inputs,
        call=call,
        shapes=shapes,
        dtypes=dtypes,
        tag=tag or current_tag(),
        attrs=dict(attrs or {}),
    )
    return op.output(0) if single else op.outputs
