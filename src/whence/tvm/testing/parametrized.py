"""Parameters of tests by TVM's names: fixtures with several values, and fixtures that share their cases.

`whence.testing.plugin` makes tests of them.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import deepcopy
from inspect import signature
from itertools import count
from typing import Any, TypeVar

import pytest

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
_groups = count()


def _names(ids: Iterable[object] | None) -> list[str] | None:
    return None if ids is None else [str(name) for name in ids]


def parameter(
    *values: Any, ids: Iterable[object] | None = None, by_dict: dict[str, Any] | None = None, scope: Any = "function"
) -> Any:
    """Return a fixture that takes each value in turn; `by_dict` has values by the names of the cases."""
    if by_dict is not None:
        values, ids = tuple(by_dict.values()), list(by_dict)

    def value(*_class: Any, request: Any) -> Any:
        return request.param

    return pytest.fixture(scope=scope, params=values, ids=_names(ids))(value)


def parameters(*value_sets: Sequence[Any], ids: Iterable[object] | None = None) -> tuple[Any, ...]:
    """Fixtures that take their values together: the first of each set, then the second, and so on."""
    group = next(_groups)
    rows = list(value_sets)
    names = _names(ids)
    return tuple(_column(group, [row[k] for row in rows], names) for k in range(len(rows[0]) if rows else 0))


def _column(group: int, values: list[Any], names: list[str] | None) -> Any:
    def value(*_class: Any, request: Any) -> Any:
        return request.param

    marked: Any = value
    marked.parametrize_group, marked.parametrize_values, marked.parametrize_ids = group, values, names
    return pytest.fixture(value)


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """A pytest fixture; one whose value is cached is made once for each of its arguments' values.

    Each test gets a copy of a cached value.
    """
    if func is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    return pytest.fixture(_cached(func) if cache_return_value else func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes each value once, and returns copies."""
    values: dict[Hashable, Any] = {}

    def value(*instance: Any, **arguments: Any) -> Any:
        items = tuple(sorted(arguments.items()))
        key = _key(items)
        if key not in values:
            values[key] = func(*instance, **arguments)
        return deepcopy(values[key])

    value.__name__ = func.__name__
    # pytest asks the signature for the fixtures that are arguments. It would call what `functools.wraps` records.
    signed: Any = value
    signed.__signature__ = signature(func)
    return value


def _key(items: tuple[tuple[str, Any], ...]) -> Hashable:
    try:
        hash(items)
    except TypeError:
        return pickle.dumps(items)
    return items


def parametrize_targets(*given: Any) -> Any:
    """A decorator: the test runs on these targets, as far as there are such here; without targets on all of them."""
    if len(given) == 1 and callable(given[0]):
        return given[0]

    def decorate(func: FunctionT) -> FunctionT:
        return pytest.mark.targets(*given)(func)

    return decorate


def exclude_targets(*given: str) -> Callable[[FunctionT], FunctionT]:
    """A decorator: the test does not run on these targets."""
    return lambda func: pytest.mark.targets_excluded(*given)(func)


def known_failing_targets(*given: str) -> Callable[[FunctionT], FunctionT]:
    """A decorator: the test is expected to fail on these targets."""
    return lambda func: pytest.mark.targets_failing(*given)(func)
