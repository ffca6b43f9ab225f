"""Descriptions of the arguments of methods that are exported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from whence.support.errors import FrontendError, expectation


class Tensor:
    """A tensor: extents, of which a text or a variable is a size by its name, and a dtype."""

    def __init__(self, shape: Sequence[Any], dtype: str = "float32"):
        self.shape = list(shape)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], '{self.dtype}')"


class Tuple:
    """Several arguments as one, which the method gets as a tuple or a list, whichever `elements` is."""

    def __init__(self, name: str, elements: Sequence[Any]):
        self.name = name
        self.elements = elements

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self.elements))})"


@dataclass
class MethodSpec:
    """The arguments of a method, in its order.

    param_mode: `plain` for a parameter of the function for each of the model's, `packed` for a tuple of all of them,
    `none` for none.
    """

    method: Callable[..., Any]
    arg_names: Sequence[str]
    arg_specs: Sequence[Any]
    param_mode: Literal["plain", "packed", "none"] = "plain"
    effect_mode: Literal["plain", "packed", "none"] = "none"

    def __post_init__(self) -> None:
        for name, mode in (("param_mode", self.param_mode), ("effect_mode", self.effect_mode)):
            if mode not in ("plain", "packed", "none"):
                raise FrontendError(expectation(f"MethodSpec: {name}", "plain, packed or none", repr(mode)))

    @staticmethod
    def from_raw(spec: MethodSpec | Mapping[str, Any], method: Callable[..., Any]) -> MethodSpec:
        """Return the spec of `{argument: spec.Tensor(..)}`, where `"$"` may have the modes.

        Raises FrontendError for what is no spec and for names that the method does not have.
        """
        if isinstance(spec, MethodSpec):
            return spec
        given = {name: value for name, value in spec.items() if name != "$"}
        names = list(inspect.signature(method).parameters)
        for name in given:
            if name not in names:
                label = getattr(method, "__name__", "method")
                raise FrontendError(expectation(f"spec of {label}", f"arguments among {', '.join(names)}", name))
        chosen = [name for name in names if name in given]
        described = [_described(given[name], name) for name in chosen]
        return MethodSpec(method, chosen, described, **spec.get("$", {}))


def _described(value: Any, name: str) -> Tensor | Tuple:
    if isinstance(value, Tensor):
        return value
    if value in (int, "int"):
        got = "an int: a size is an extent of a tensor's spec, and a number is one of no dimensions"
        raise FrontendError(expectation(f"spec of {name}", "spec.Tensor or a tuple of them", got))
    items = value.elements if isinstance(value, Tuple) else value
    if not isinstance(items, list | tuple):
        got = type(cast("object", value)).__name__
        raise FrontendError(expectation(f"spec of {name}", "spec.Tensor or a tuple of them", got))
    parts = [_described(item, f"{name}_{index}") for index, item in enumerate(cast("Sequence[Any]", items))]
    return Tuple(name, parts if isinstance(items, list) else tuple(parts))


@dataclass
class ModuleSpec:
    """The methods of a model that become functions."""

    module: Any
    method_names: Sequence[str]
    method_specs: Sequence[MethodSpec]

    @staticmethod
    def from_raw(spec: ModuleSpec | Mapping[str, Any], module: Any) -> ModuleSpec:
        """Return the spec of `{method: {argument: spec.Tensor(..)}}`; raises FrontendError for an unknown method."""
        if isinstance(spec, ModuleSpec):
            return spec
        specs: list[MethodSpec] = []
        for name, described in spec.items():
            method = getattr(module, name, None)
            if not callable(method):
                raise FrontendError(expectation(f"spec of {type(module).__name__}", "the name of a method", name))
            specs.append(MethodSpec.from_raw(described, method))
        return ModuleSpec(module, list(spec), specs)
