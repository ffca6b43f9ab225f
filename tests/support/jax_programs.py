# pyright: basic, reportMissingImports=false
"""Functions of JAX and what Whence makes of them, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from stablehlo_texts import generic_text

import whence
from whence.executables.executable import Executable
from whence.frontends.stablehlo.jax_objects import text_of


def outputs(results: Any) -> list[Any]:
    """The results of a call as a list: of one output there is no list."""
    return list(results) if isinstance(results, list | tuple) else [results]


def assert_as_jax(function: Callable[..., Any], *arguments: Any, tolerance: float = 2e-5) -> Executable:
    """Compile a function with all passes audited, and run it on arguments: results are those of JAX.

    The text that JAX prints of it is the same program.
    """
    jitted = jax.jit(function)
    lowered: Any = jitted.lower(*arguments)
    assert generic_text(lowered.as_text()) == generic_text(text_of(lowered))
    executable = whence.compile(lowered, audit=True)
    results = outputs(executable(*(np.asarray(value) for value in jax.tree.leaves(arguments))))
    expected = jax.tree.leaves(jitted(*arguments))
    assert len(results) == len(expected)
    for result, wanted in zip(results, map(np.asarray, expected), strict=True):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(
            np.asarray(result, np.float64), np.asarray(wanted, np.float64), rtol=tolerance, atol=tolerance
        )
    return executable
