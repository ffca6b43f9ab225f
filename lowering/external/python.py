"""Functions that are one call of a Python function of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.relay.python_call import PythonCallOp
from ...provenance.diagnostics import fail
from ...runtime.external import ExternalFunction


def build(part: ModuleOp) -> ExternalFunction:
    """Return the function that the one call of a part runs; raises VerifyException where it is known by name only."""
    (call,) = (op for op in part.walk() if isinstance(op, PythonCallOp))
    operator, function = call.callee.data
    if function is None:
        fail(call, f"a Python function for {operator}", "the text of a module, which holds none")
    return lambda *arrays: _results(function(*map(_plain, arrays)))


def _plain(array: Any) -> Any:
    """Return an operand as a plain numpy array; it stays a read-only view of the program's memory."""
    return np.asarray(array)


def _results(returned: Any) -> Any:
    return [np.asarray(value) for value in returned] if isinstance(returned, list | tuple) else np.asarray(returned)
