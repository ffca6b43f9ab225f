"""Functions that are one call of a Python function: the user's, or one that is registered by name."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from ...dialects.relay.packed_call import CallDpsPackedOp, filled, registered
from ...dialects.relay.python_call import PythonCallOp
from ...provenance.diagnostics import fail
from ...runtime.program.external import ExternalFunction


def build(part: ModuleOp) -> ExternalFunction:
    """Return the function that the one call of a part runs; raises VerifyException where there is none."""
    (call,) = (op for op in part.walk() if isinstance(op, PythonCallOp | CallDpsPackedOp))
    if isinstance(call, CallDpsPackedOp):
        return _packed(call)
    operator, function = call.callee.data
    if function is None:
        fail(call, f"a Python function for {operator}", "the text of a module, which holds none")
    return lambda *arrays: _results(function(*map(_plain, arrays)))


def _packed(call: CallDpsPackedOp) -> ExternalFunction:
    signature = call.signature
    function = registered(signature)
    order = [cast(BlockArgument, operand).index for operand in call.operands]
    return lambda *arrays: filled(signature, function, [arrays[index] for index in order])


def _plain(array: Any) -> Any:
    """Return a plain numpy array of what may be another kind; of an operand it is still a view."""
    return np.asarray(array)


def _results(returned: Any) -> Any:
    return list(map(_plain, cast("list[Any]", returned))) if isinstance(returned, list | tuple) else _plain(returned)
