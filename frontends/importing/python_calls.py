"""The call of a Python function instead of an operator: a function for the external compiler `python`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.element_types import DTYPES
from ...dialects.relay.core import COMPILER, CallOp, FuncOp, ReturnOp
from ...dialects.relay.python_call import PYTHON, Function, PythonCallOp, PythonFunction
from ...dialects.sizes.types import is_static
from ...provenance.builder import LocatedBuilder
from ...provenance.diagnostics import message
from ...runtime.values.tensors import Kind, TensorSpec
from ...support.errors import FrontendError
from .context import Context
from .custom import CustomOp
from .results import Stated
from .tensor import Undecided, dtype_of, shape_of

Argument: TypeAlias = "int | Sequence[Argument] | None"
"""An argument: the number of an input, several in a list, or None for one that is omitted."""


@dataclass(frozen=True)
class PythonCall:
    """The arguments, results and attributes of an operator, for the call of a Python function."""

    arguments: Sequence[Argument]
    results: Sequence[Stated] = ()
    attributes: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    names: Sequence[str] = ()
    """The names of the arguments, if the operator has names: a function with all these parameters gets them by name."""

    def inputs(self) -> list[int]:
        """Return the numbers of the inputs that the arguments use, each once."""
        return list(dict.fromkeys(number for argument in self.arguments for number in _numbers(argument)))

    def completed(self, function: Function, defaults: Mapping[str, Any]) -> PythonCall:
        """Return the call with defaults for those attributes that it lacks and that a function has parameters for."""
        free = parameters_of(function)[0 if self._by_name(function) else len(self.arguments) :]
        lacking = {name: value for name, value in defaults.items() if name in free}
        return replace(self, attributes=lacking | dict(self.attributes))

    def bound(self, function: Function, attributes: Mapping[str, Any]) -> Function:
        """Return a function of the values of `inputs` that calls `function` with the arguments and attributes."""
        order = {number: at for at, number in enumerate(self.inputs())}

        def chosen(argument: Argument, operands: Sequence[Any]) -> Any:
            if isinstance(argument, int):
                return operands[order[argument]]
            return None if argument is None else [chosen(item, operands) for item in argument]

        def call(*operands: Any) -> Any:
            values = [chosen(argument, operands) for argument in self.arguments]
            if by_name:
                return function(**dict(zip(self.names, values, strict=True)), **attributes)
            return function(*values, **attributes)

        by_name = self._by_name(function)
        return call

    def _by_name(self, function: Function) -> bool:
        """Return whether a function gets the arguments by their names."""
        return bool(self.names) and takes(function, self.names)


class LibraryCall(NamedTuple):
    """The call of an operator that a library computes."""

    custom: CustomOp
    call: PythonCall


def _numbers(argument: Argument) -> Iterator[int]:
    if isinstance(argument, int):
        yield argument
    elif argument is not None:
        for item in argument:
            yield from _numbers(item)


def parameters_of(function: Function) -> list[str]:
    """Return the names of a function's parameters, in order; of builtin functions none are known."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [name for name, parameter in parameters.items() if parameter.kind in kinds]


def takes(function: Function, names: Iterable[str]) -> bool:
    """Return whether a function has parameters of these names."""
    return set(names) <= set(parameters_of(function))


def python_call(ctx: Context, custom: CustomOp, call: PythonCall, compiler: str = PYTHON) -> tuple[SSAValue, ...]:
    """Add a call of the function, which an external compiler runs, and return its results.

    Raises Undecided if sizes are open, FrontendError if nobody states the types of the results.
    """
    operands = [ctx.value(number) for number in call.inputs()]
    if symbolic := [str(value.type) for value in operands if not is_static(value.type)]:
        expected = "sizes that are numbers, for a Python function"
        raise Undecided(message(ctx.op_type, expected, ", ".join(symbolic), ctx.leaf), None)
    kinds = _stated(ctx, call) if custom.result is None else _promised(ctx, custom.result, call, operands)
    for shape, dtype in kinds:
        ctx.fits(shape, dtype)
    function = PythonFunction(ctx.op_type, call.bound(custom.function, call.attributes))
    types = [TensorType(DTYPES[dtype.name], shape) for shape, dtype in kinds]
    return tuple(_outlined(ctx, function, operands, types, compiler).outputs)


def _outlined(
    ctx: Context, function: PythonFunction, operands: Sequence[SSAValue], types: Sequence[Attribute], compiler: str
) -> CallOp:
    """Add a function whose body is the call, and a call of that function, as the passes for external compilers do."""
    count = sum(isinstance(op, FuncOp) for op in ctx.module.ops)
    symbol = re.sub("[^A-Za-z0-9_]", "_", f"{compiler}_{ctx.op_type}_{count - 1}")
    location = ctx.builder.location
    func = FuncOp(symbol, [value.type for value in operands], types, primitive=True, location=location)
    func.attributes |= {
        "Inline": IntegerAttr(1, i64),
        COMPILER: StringAttr(compiler),
        "global_symbol": StringAttr(symbol),
    }
    for argument, value in zip(func.block.args, operands, strict=True):
        argument.location, argument.name_hint = location, value.name_hint
    body = LocatedBuilder(func.block, location)
    body.add(ReturnOp(*body.add(PythonCallOp(function, list(func.block.args), types)).outputs))
    ctx.module.body.block.add_op(func)
    # A function may have side effects, so that no pass may remove its call, or merge two calls.
    return ctx.builder.add(CallOp(symbol, operands, types, impure=True))


def _stated(ctx: Context, call: PythonCall) -> list[Kind]:
    """Return the types of the results that the model states."""
    kinds: list[Kind] = []
    for at, (shape, dtype) in enumerate(call.results):
        if shape is None or dtype is None or None in shape:
            actual = "nothing" if shape is None or dtype is None else str(Stated(shape, dtype))
            ctx.fail(f"the type of result {at}, in the model or by CustomOp(function, result=..)", actual)
        kinds.append((cast("tuple[int, ...]", tuple(shape)), dtype))
    return kinds


def _promised(ctx: Context, result: Function, call: PythonCall, operands: Sequence[SSAValue]) -> list[Kind]:
    """Return the types of the results that the user's function states."""
    specs = [TensorSpec(value.name_hint or "", shape_of(value), dtype_of(value)) for value in operands]
    attributes = {name: value for name, value in call.attributes.items() if takes(result, (name,))}
    try:
        types: Any = call.bound(result, attributes)(*specs)
        several = isinstance(types, list) or (isinstance(types, tuple) and not _is_kind(cast("tuple[Any, ...]", types)))
        return [_kind(type_) for type_ in cast("list[Any]", types if several else [types])]
    except Exception as error:
        actual = f"{type(error).__name__}: {error}"
        raise FrontendError(message(ctx.op_type, "the types of results", actual, ctx.leaf)) from error


def _is_kind(value: tuple[Any, ...]) -> bool:
    """Return whether a tuple is a shape and a dtype, not several results."""
    shape: Any = value[0] if len(value) == 2 else None
    return isinstance(shape, list | tuple) and all(
        isinstance(extent, int | np.integer) for extent in cast("list[Any]", shape)
    )


def _kind(value: Any) -> Kind:
    shape, dtype = (value.shape, value.dtype) if hasattr(value, "shape") else value
    if (kind := np.dtype(dtype)).name not in DTYPES:
        raise ValueError(f"expected a dtype among {', '.join(DTYPES)}, got {kind.name}")
    return tuple(int(extent) for extent in shape), kind
