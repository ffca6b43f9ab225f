"""Methods of models as functions of relay, and as compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from whence.relax.block_builder import BlockBuilder
from whence.relax.frontend.nn import spec as specs
from whence.relax.frontend.nn.parameters import Parameter, data_of
from whence.relax.frontend.nn.tensors import Tensor, emitted
from whence.relax.machine import VirtualMachine, build
from whence.relay.module import IRModule
from whence.support.errors import FrontendError, expectation
from whence.syntax.relay.expr import Expr, Tuple, TupleGetItem, Var
from whence.syntax.relay.type_view import TensorType, TupleType


class Model(Protocol):
    """A module with parameters, as `core.py` has it."""

    def name_parts(self) -> None:
        """Give the modules inside their names."""
        ...

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their names."""
        ...


def export(model: Model, spec: specs.ModuleSpec | Mapping[str, Any]) -> tuple[IRModule, list[tuple[str, Parameter]]]:
    """Return a module with a function for each method, and the parameters in the order of the functions'."""
    described = specs.ModuleSpec.from_raw(spec, model)
    model.name_parts()
    builder, parameters = BlockBuilder(), list(model.named_parameters())
    for name, method in zip(described.method_names, described.method_specs, strict=True):
        _export(builder, name, method, parameters)
    return builder.get(), parameters


def _export(
    builder: BlockBuilder, name: str, method: specs.MethodSpec, parameters: Sequence[tuple[str, Parameter]]
) -> None:
    inputs = [
        Var(argument, _type(described)) for argument, described in zip(method.arg_names, method.arg_specs, strict=True)
    ]
    packed: Var | None = None
    if method.param_mode == "packed":
        packed = Var("packed_params", TupleType([parameter.type for _, parameter in parameters]))
    plain = [parameter.bound(label) for label, parameter in parameters] if method.param_mode == "plain" else []
    weights = plain if packed is None else [packed]
    with builder.function(name, [*inputs, *weights], {"num_input": len(inputs)}):
        with builder.dataflow():
            for index, (label, parameter) in enumerate(parameters if packed is not None else ()):
                part = builder.emit(TupleGetItem(cast(Var, packed), index), label.replace(".", "_"))
                parameter.stands_for(part)
            values = [
                _value(var, described, var.name_hint) for var, described in zip(inputs, method.arg_specs, strict=True)
            ]
            result = method.method(**dict(zip(method.arg_names, values, strict=True)))
            output = builder.emit_output(_result(result, name))
        builder.emit_func_output(output)


def _type(described: specs.Tensor | specs.Tuple) -> TensorType | TupleType:
    if isinstance(described, specs.Tensor):
        return TensorType(described.shape, described.dtype)
    return TupleType([_type(part) for part in described.elements])


def _value(expr: Expr, described: specs.Tensor | specs.Tuple, name: str) -> Any:
    """Return an argument as the method gets it: a tensor, or a tuple or list of such."""
    if isinstance(described, specs.Tensor):
        return Tensor(_expr=expr)
    parts = [
        _value(emitted(TupleGetItem(expr, index), f"{name}_{index}").expr, part, f"{name}_{index}")
        if isinstance(part, specs.Tensor)
        else _value(TupleGetItem(expr, index), part, f"{name}_{index}")
        for index, part in enumerate(described.elements)
    ]
    return parts if isinstance(described.elements, list) else tuple(parts)


def _result(value: Any, method: str) -> Expr:
    if isinstance(value, Tensor):
        return value.expr
    if isinstance(value, list | tuple):
        return Tuple([_result(item, method) for item in cast("Sequence[Any]", value)])
    raise FrontendError(expectation(f"export_tvm: {method}", "tensors as result", type(value).__name__))


class Compiled:
    """The compiled methods of a model with its weights: `compiled["forward"](x)`, or `compiled.forward(x)`."""

    def __init__(
        self, machine: VirtualMachine, spec: specs.ModuleSpec, weights: Sequence[Any], convert: Callable[[Any], Any]
    ):
        self.vm, self.spec = machine, spec
        self._weights, self._convert = list(weights), convert

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        """Return a method; raises FrontendError for a name that is none."""
        names = list(self.spec.method_names)
        if method_name not in names:
            raise FrontendError(expectation("jit", f"a method among {', '.join(names)}", method_name))
        return partial(self._call, method_name, self.spec.method_specs[names.index(method_name)])

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name == "spec" or name not in self.spec.method_names:
            raise AttributeError(f"{type(self).__name__} has no attribute {name}")
        return self[name]

    def _call(self, name: str, method: specs.MethodSpec, *args: Any) -> Any:
        if len(args) != len(method.arg_names):
            expected = f"{len(method.arg_names)} arguments, {', '.join(method.arg_names)}"
            raise FrontendError(expectation(name, expected, str(len(args))))
        weights = {"plain": self._weights, "packed": [tuple(self._weights)], "none": []}[method.param_mode]
        return self._converted(self.vm[name](*args, *weights))

    def _converted(self, value: Any) -> Any:
        if isinstance(value, list | tuple) or hasattr(value, "fields"):
            return tuple(self._converted(item) for item in cast("Sequence[Any]", value))
        return self._convert(np.asarray(value))


def compiled(model: Model, spec: specs.ModuleSpec | Mapping[str, Any], device: object, out_format: str) -> Compiled:
    """Return the compiled methods of a model, whose parameters have data."""
    if out_format not in ("torch", "numpy"):
        raise FrontendError(expectation("jit: out_format", "torch or numpy", out_format))
    convert: Callable[[Any], Any] = np.asarray if out_format == "numpy" else import_module("torch").from_numpy
    described = specs.ModuleSpec.from_raw(spec, model)
    module, parameters = export(model, described)
    weights = data_of(parameters)
    return Compiled(VirtualMachine(build(module), device), described, list(weights.values()), convert)
