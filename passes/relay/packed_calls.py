"""Calls of registered functions as parts for the external compiler `python`."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp

from ...dialects.relay.core import COMPILER, FuncOp
from ...dialects.relay.packed_call import CallDpsPackedOp
from ...dialects.relay.python_call import PYTHON
from ...dialects.sizes.types import is_static
from ...provenance.diagnostics import fail
from .outline import Outliner
from .symbol_names import SymbolNames


def outline_packed_calls(module: ModuleOp) -> None:
    """Make a function for the external compiler `python` of each call of a registered function.

    Raises VerifyException for a call with sizes that are no numbers.
    """
    names = SymbolNames(module)
    for func in [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None]:
        calls = [op for op in func.walk() if isinstance(op, CallDpsPackedOp)]
        outliner = Outliner()
        for call in calls:
            if symbolic := [str(type_) for type_ in (*call.operand_types, *call.result_types) if not is_static(type_)]:
                fail(call, "sizes that are numbers, for a packed function", ", ".join(symbolic))
            name = names.take(re.sub("[^A-Za-z0-9_]", "_", f"{PYTHON}_{call.callee.data}"))
            attributes = {"Inline": 1, COMPILER: PYTHON, "global_symbol": name}
            arguments = list(dict.fromkeys(call.operands))
            new, _ = outliner.outline(
                name, [call], arguments, list(call.results), attributes, "PackedCall", primitive=True
            )
            assert func.parent is not None
            func.parent.insert_ops_after([new], func)
        outliner.tidy()
