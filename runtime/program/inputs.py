"""The inputs of a call: values by name or in order become the inputs of a program, or one error says why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...support.errors import FrontendError
from ...support.names import did_you_mean
from ..values.tensors import TensorSpec
from ..values.values import Unsuitable


def accepted(specs: Sequence[TensorSpec], inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """Return the inputs in order, each as its specification accepts it.

    Raises one FrontendError for all problems: a wrong number, missing and unknown names, shapes, dtypes, values.
    """
    by_name = named(specs, inputs)
    problems = _wrong_names(specs, by_name)
    values: list[Any] = []
    for spec in specs:
        if spec.name not in by_name:
            continue
        try:
            values.append(spec.accept(by_name[spec.name]))
        except Unsuitable as unsuitable:
            problems.append(str(unsuitable))
    if problems:
        raise FrontendError("inputs: " + "; ".join(problems))
    return values


def in_order(specs: Sequence[TensorSpec], inputs: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    """Return the inputs in order, unchanged; raises FrontendError for a wrong number, and for wrong names."""
    by_name = named(specs, inputs)
    if problems := _wrong_names(specs, by_name):
        raise FrontendError("inputs: " + "; ".join(problems))
    return [by_name[spec.name] for spec in specs]


def named(specs: Sequence[TensorSpec], inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    """The inputs by name; raises FrontendError for a wrong number of inputs in order."""
    if isinstance(inputs, Mapping):
        return inputs
    if len(inputs) != len(specs):
        expected = ", ".join(map(str, specs)) or "none"
        raise FrontendError(f"inputs: expected {len(specs)} ({expected}), got {len(inputs)}")
    return {spec.name: value for spec, value in zip(specs, inputs, strict=True)}


def _wrong_names(specs: Sequence[TensorSpec], inputs: Mapping[str, Any]) -> list[str]:
    missing = [f"missing {spec}" for spec in specs if spec.name not in inputs]
    names = [spec.name for spec in specs]
    unknown = [f"unknown input '{name}'" + did_you_mean(str(name), names) for name in inputs if name not in names]
    if unknown:
        unknown[-1] += f"; the inputs are {', '.join(names) or 'none'}"
    return missing + unknown
