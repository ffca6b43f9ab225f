"""Calls of functions replaced by what the functions compute."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relay.core import CallOp, FuncOp, ReturnOp
from ...dialects.relay.grouping import replace_uses
from ...provenance.ledger import clone_of
from .analysis.traversal import functions_of
from .inline import innermost_first


def inline_calls(module: ModuleOp, wanted: Callable[[FuncOp], bool]) -> None:
    """Replace the calls of functions that are `wanted`, in place, and erase those functions; nothing is left of both.

    Inner ops keep their locations: a call has those of what it calls. The functions must not call themselves.
    """
    functions = functions_of(module)
    chosen = {name: func for name, func in functions.items() if wanted(func)}
    for name in [*innermost_first(chosen), *(name for name in functions if name not in chosen)]:
        for op in list(functions[name].block.ops):
            if isinstance(op, CallOp) and (callee := op.callee.string_value()) in chosen:
                _inline(op, functions[callee])
    for name in chosen:
        functions[name].detach()
        functions[name].erase()


def _inline(call: CallOp, func: FuncOp) -> None:
    values: dict[SSAValue, SSAValue] = dict(zip(func.block.args, call.arguments, strict=True))
    block = call.parent
    assert block is not None
    for op in func.block.ops:
        if isinstance(op, ReturnOp):
            results = [values[value] for value in op.values]
            replace_uses(dict(zip(call.outputs, results, strict=True)))
        else:
            copy = clone_of(op, values)
            block.insert_op_before(copy, call)
            values.update(zip(op.results, copy.results, strict=True))
    call.detach()
    call.erase()
