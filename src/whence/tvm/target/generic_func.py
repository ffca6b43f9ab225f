"""Functions with a variant for each kind of target, by TVM's names: `generic_func`, `override_native_generic_func`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from whence.support.errors import PipelineError, expectation


class GenericFunc:
    """A function whose variant for a key of the current target is called, if there is one.

    Targets here have the keys "cpu" and "llvm".
    """

    def __init__(self, default: Callable[..., Any]):
        self._default = default
        self._variants: dict[str, Callable[..., Any]] = {}
        self.__name__ = getattr(default, "__name__", "")
        self.__doc__ = default.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        variants = (self._variants[key] for key in ("llvm", "cpu") if key in self._variants)
        return next(variants, self._default)(*args, **kwargs)

    def set_default(self, func: Callable[..., Any], allow_override: bool = False) -> None:
        """Replace the function for targets without a variant; raises PipelineError unless that is allowed."""
        if not allow_override:
            raise PipelineError(expectation(self.__name__, "allow_override to replace the default", "none"))
        self._default = func

    def register(
        self, func: Callable[..., Any] | str | Sequence[str], key: Any = None, allow_override: bool = False
    ) -> Any:
        """Add a variant for a key or several; with keys alone, return a decorator that does.

        Raises PipelineError for a key that has one, unless that is allowed.
        """
        if not callable(func):
            return functools.partial(self._registered, func, allow_override)
        for each in [key] if isinstance(key, str) else key:
            if each in self._variants and not allow_override:
                raise PipelineError(expectation(self.__name__, "a key without a variant", each))
            self._variants[each] = func
        return func

    def _registered(self, key: Any, allow_override: bool, func: Callable[..., Any]) -> Any:
        return self.register(func, key, allow_override)

    def get_packed_func(self) -> Callable[..., Any]:
        """Return the function for the current target."""
        return self.__call__


def generic_func(fdefault: Callable[..., Any]) -> GenericFunc:
    """Make a function one that has variants."""
    return GenericFunc(fdefault)


_functions: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """Return the generic function of a name; raises PipelineError for an unknown one."""
    if name not in _functions:
        raise PipelineError(
            expectation("get_native_generic_func", f"a name among {', '.join(_functions) or 'none'}", name)
        )
    return _functions[name]


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., Any]], GenericFunc]:
    """Return a decorator that makes a function the generic one of a name; it replaces one of that name."""

    def decorate(default: Callable[..., Any]) -> GenericFunc:
        _functions[func_name] = GenericFunc(default)
        return _functions[func_name]

    return decorate


__all__ = ["GenericFunc", "generic_func", "get_native_generic_func", "override_native_generic_func"]
