"""Results kept by what an argument is, not by what it equals: hashing a nested attribute costs more than most uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

ArgumentT = TypeVar("ArgumentT")
ResultT = TypeVar("ResultT")


def by_identity(limit: int) -> Callable[[Callable[[ArgumentT], ResultT]], Callable[[ArgumentT], ResultT]]:
    """Keep up to `limit` results of a function of one immutable argument.

    Each entry holds its argument, so that an identity is not reused; when there are too many, all go.
    """

    def decorate(function: Callable[[ArgumentT], ResultT]) -> Callable[[ArgumentT], ResultT]:
        results: dict[int, tuple[ArgumentT, ResultT]] = {}

        @wraps(function)
        def found(argument: ArgumentT) -> ResultT:
            if (hit := results.get(id(argument))) is not None:
                return hit[1]
            result = function(argument)
            if len(results) >= limit:
                results.clear()
            results[id(argument)] = argument, result
            return result

        return found

    return decorate


def while_alive(function: Callable[[ArgumentT], ResultT]) -> Callable[[ArgumentT], ResultT]:
    """Keep the result of a function of one immutable argument as long as the argument lives, which it must not hold."""
    results: dict[int, tuple[ref[ArgumentT], ResultT]] = {}

    @wraps(function)
    def kept(argument: ArgumentT) -> ResultT:
        key = id(argument)
        if (hit := results.get(key)) is None:
            hit = results[key] = ref(argument, lambda _: results.pop(key, None) and None), function(argument)
        return hit[1]

    return kept
