"""Steps that Python does, and the table of all operators that they may have.

There is no native code for texts and maps, for sequences that loops carry, and for what values decide the shape of. A
text is an element of an array of objects; a map is a dict. A step has the name and the attributes of its operator,
and computes a value for each output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from ...support.dtypes import Array
from ...support.errors import FrontendError
from . import dynamic, host_maps, host_sequences, host_tensors, host_text
from .control import CONTROL, NEVER_COMPILED, Control
from .flow import Environment, Step, computed

HOST = "Host"
"""The kind of such steps."""

Attributes: TypeAlias = Mapping[str, Any]
Function: TypeAlias = Callable[[Attributes, Sequence[Any]], Any]
"""A function from attributes and inputs (None for one that is omitted) to the output, or to a tuple of several.

It raises ValueError for inputs that it cannot take.
"""

OPERATORS: dict[str, Function] = {
    **host_tensors.TABLE,
    **host_sequences.TABLE,
    **host_text.TABLE,
    **host_maps.TABLE,
    **dynamic.TABLE,
}
"""Operator -> its function; operators of other domains than ONNX's own have a prefix: `ai.onnx.ml.ZipMap`.

Files of programs name them, and run nothing else.
"""


@dataclass(frozen=True, eq=False)
class Task:
    """The work of a host step."""

    operator: str
    attributes: Attributes
    where: str
    """The layer and the file, for errors."""

    def results(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return a value for each output; raises FrontendError for inputs that the operator does not take."""
        try:
            with np.errstate(all="ignore"):
                results = OPERATORS[self.operator](self.attributes, inputs)
        except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, AttributeError, MemoryError) as error:
            _fail(self, error)
        return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)


def _host(step: Step, values: Environment) -> Control:
    task: Task = step.attributes["task"]
    inputs = [computed(values[name]) if name else None for name in step.inputs]
    return list(task.results(inputs))
    yield


def _fail(task: Task, error: Exception) -> NoReturn:
    text = " ".join(str(error).split()) or type(error).__name__
    if not text.startswith("expected"):
        text = f"expected inputs that it can take, got: {text}"
    operator = task.operator if task.operator in dynamic.TABLE else task.operator.rpartition(".")[2]
    raise FrontendError(f"{operator}: {text} ({task.where})") from error


def is_hosted(value: object) -> bool:
    """Return whether a value is a map or of texts, which native code cannot take."""
    if isinstance(value, np.ndarray):
        return cast(Array, value).dtype.hasobject
    return isinstance(value, dict) or (isinstance(value, list) and any(map(is_hosted, cast("list[object]", value))))


CONTROL[HOST] = _host
NEVER_COMPILED.add(HOST)
