"""Models: modules, their parameters, and containers of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from whence.relax.block_builder import BlockBuilder
from whence.relax.frontend.nn.exporter import Compiled, compiled, export
from whence.relax.frontend.nn.parameters import Parameter as Parameter
from whence.relax.frontend.nn.parameters import get_default_dtype as get_default_dtype
from whence.relax.frontend.nn.parameters import set_default_dtype as set_default_dtype
from whence.relax.frontend.nn.spec import ModuleSpec
from whence.relax.frontend.nn.tensors import Tensor as Tensor
from whence.support.errors import FrontendError, expectation
from whence.support.names import did_you_mean

_T = TypeVar("_T")
_NAME = "_layer_name"
"""The attribute of a module for its name in the model."""


class Module:
    """Base of layers and models: attributes that are parameters or modules belong to it."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """Yield the parameters with their names, `fc.weight`, in the order of attributes; a shared one once."""
        seen: set[int] = set()
        for name, parameter in self._all_parameters(prefix and f"{prefix}."):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def _all_parameters(self, prefix: str) -> Iterator[tuple[str, Parameter]]:
        for name, value in self.parts():
            if isinstance(value, Parameter):
                yield f"{prefix}{name}", value
            elif isinstance(value, Module):
                yield from value._all_parameters(f"{prefix}{name}.")

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Yield the attributes by name: parameters, modules and others."""
        yield from vars(self).items()

    def parameters(self) -> Iterator[Parameter]:
        """Yield the parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def state_dict(self, *, prefix: str = "", destination: dict[str, Parameter] | None = None) -> dict[str, Parameter]:
        """Return the parameters by name, in `destination` if that is given."""
        result = {} if destination is None else destination
        result.update((f"{prefix}{name}", parameter) for name, parameter in self.named_parameters())
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Set the data of parameters by name: arrays, tensors of torch, or parameters that have data.

        Returns the names that are missing and those that are none. Raises FrontendError for these if `strict`, and for
        another shape or dtype.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and unexpected:
            got = f"{unexpected[0]}{did_you_mean(unexpected[0], own)}"
            raise FrontendError(expectation("load_state_dict", f"a name among {', '.join(own)}", got))
        if strict and missing:
            raise FrontendError(expectation("load_state_dict", f"data for {', '.join(missing)}", "none"))
        for name, parameter in own.items():
            if name in state_dict:
                value = state_dict[name]
                data = value.data if isinstance(value, Parameter) else value
                if data is None:
                    raise FrontendError(expectation("load_state_dict", f"data for {name}", "a parameter without"))
                parameter.data = data
        return missing, unexpected

    def to(self, dtype: str | None = None) -> None:
        """Have all parameters be of a dtype."""
        for _, value in self.parts():
            if isinstance(value, Parameter | Module):
                value.to(dtype)
        if dtype is not None and isinstance(vars(self).get("dtype"), str):
            vars(self)["dtype"] = dtype

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise NotImplementedError(f"Module {type(self)} does not have a `forward` method")
        builder, name = BlockBuilder.current(), vars(self).get(_NAME, "")
        with builder.layer(name) if builder is not None and name else nullcontext():
            return forward(*args, **kwargs)

    def name_parts(self, prefix: str = "") -> None:
        """Give modules inside their names, `encoder.fc`, which layers of the program have."""
        for name, value in list(self.parts()):
            if isinstance(value, Module):
                vars(value)[_NAME] = f"{prefix}{name}"
                value.name_parts(f"{prefix}{name}.")

    def export_tvm(self, spec: ModuleSpec | Mapping[str, Any], debug: bool = False, allow_extern: bool = False) -> Any:
        """Return a module with a function for each method in `spec`, and the parameters, which follow the arguments.

        spec: method -> argument -> `nn.spec.Tensor`. debug: as in TVM, for effects, which there are none of.
        allow_extern: return the modules from outside as well, an empty list. Raises FrontendError for a wrong spec.
        """
        if debug:
            raise FrontendError(expectation("export_tvm", "debug=False", "True: no function has effects"))
        module, parameters = export(self, spec)
        return (module, parameters, list[Any]()) if allow_extern else (module, parameters)

    def jit(
        self,
        spec: ModuleSpec | Mapping[str, Any],
        device: object = "cpu",
        pipeline: object = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Compiled:
        """Return the compiled methods, `model.jit(spec)["forward"](x)`, with the data of the parameters.

        out_format: `torch` for tensors of torch as results of such, `numpy` for arrays. pipeline, debug: as in TVM, no
        effect. Raises FrontendError for a parameter without data.
        """
        del pipeline, debug
        return compiled(self, spec, device, out_format)


def _is_module(value: object, of: str) -> None:
    if not isinstance(value, Module):
        raise FrontendError(expectation(of, "modules", type(value).__name__))


def _is_parameter(value: object, of: str) -> None:
    if not isinstance(value, Parameter):
        raise TypeError(f"{of} expects Parameter, but got {type(value)}")


class _Numbered(Module):
    """Parts by number."""

    def __init__(self, items: Iterable[Any] = ()):
        self._items: list[Any] = []
        for item in items:
            self.append(item)

    def _check(self, item: object) -> None:
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[str, Any]]:
        return ((str(index), item) for index, item in enumerate(self._items))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __getitem__(self, index: int) -> Any:
        return self._items[index]

    def __setitem__(self, index: int, item: Any) -> None:
        self._check(item)
        self._items[index] = item

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: Any) -> None:
        """Add a part behind the others."""
        self._check(item)
        self._items.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        """Add parts behind the others."""
        for item in items:
            self.append(item)


class ModuleList(_Numbered):
    """Modules by number; called, one after the other."""

    def _check(self, item: object) -> None:
        _is_module(item, "ModuleList")

    def forward(self, x: Any) -> Any:
        """Return the result of all modules, one after the other."""
        for module in self:
            x = module(x)
        return x


class ParameterList(_Numbered):
    """Parameters by number."""

    def __init__(self, params: Iterable[Parameter] | None = None):
        super().__init__(params or ())

    def _check(self, item: object) -> None:
        _is_parameter(item, "ParameterList")


class _Keyed(Module):
    """Parts by name."""

    def __init__(self, items: Mapping[str, Any] | None = None):
        self._items: dict[str, Any] = {}
        self.update(items or {})

    def _check(self, item: object) -> None:
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[str, Any]]:
        return iter(self._items.items())

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __setitem__(self, key: str, item: Any) -> None:
        self._check(item)
        self._items[key] = item

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._items.keys()

    def values(self) -> Iterable[Any]:
        """Return the parts."""
        return self._items.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and parts."""
        return self._items.items()

    def get(self, key: str, default: _T | None = None) -> Any | _T | None:
        """Return a part, or the default."""
        return self._items.get(key, default)

    def update(self, items: Mapping[str, Any]) -> None:
        """Add parts, or replace them."""
        for key, item in items.items():
            self[key] = item

    def clear(self) -> None:
        """Have no parts."""
        self._items.clear()

    def pop(self, key: str) -> Any:
        """Return a part and take it away."""
        return self._items.pop(key)


class ModuleDict(_Keyed):
    """Modules by name."""

    def _check(self, item: object) -> None:
        _is_module(item, "ModuleDict")


class ParameterDict(_Keyed):
    """Parameters by name."""

    def _check(self, item: object) -> None:
        _is_parameter(item, "ParameterDict")
