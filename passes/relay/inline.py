"""relay-inline: functions that are marked so become part of their callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntAttr, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.relay.core import CallOp, FuncOp
from ...dialects.relay.grouping import replace_uses
from ...provenance.contents import places_in
from ...provenance.diagnostics import message
from ...provenance.ledger import current_ledger
from ...provenance.numbers import moves_of
from ...provenance.span import fuse
from ...support.errors import PipelineError
from .analysis.traversal import functions_of, pre_order
from .cloning import clone_block, unified, with_types
from .remove_unused_functions import erase_function, symbol_of

MOST_COPIED = 1 << 16
"""The ops that inlined functions may come to, each counted wherever it is called."""


def is_set(attribute: Attribute | None) -> bool:
    """Return whether an attribute such as `Inline` is there and not 0."""
    match attribute:
        case IntegerAttr():
            return attribute.value.data != 0
        case IntAttr():
            return attribute.data != 0
        case _:
            return isinstance(attribute, UnitAttr)


def is_inlined(func: FuncOp) -> bool:
    """Return whether a function is marked to be inlined, and is neither a kernel nor somebody else's to compile."""
    return is_set(func.attributes.get("Inline")) and func.primitive is None and "Compiler" not in func.attributes


def put_in_place(
    call: Operation,
    body: Block,
    arguments: Sequence[SSAValue],
    reason: str,
    *,
    pattern: str = "Inline",
    given: Mapping[SSAValue, SSAValue] | None = None,
) -> list[Operation]:
    """Replace a call by a copy of the function's body; the call has a result for each of the function's.

    body: the block of the function or closure.
    given: what stands for values from outside of it. Returns the copies.
    """
    block, last = call.parent, body.last_op
    assert block is not None
    assert last is not None
    ops: list[Operation] = []

    def add(op: Operation) -> None:
        block.insert_op_before(op, call)
        ops.append(op)

    special = [*(value.type for value in arguments), *call.result_types]
    types = unified([*(argument.type for argument in body.args), *last.operand_types], special)
    values = clone_block(
        body, {**(given or {}), **dict(zip(body.args, arguments, strict=True))}, add, with_types(types)
    )
    stand_for(call, ops, values, reason, pattern)
    return ops


def stand_for(
    call: Operation, made: Sequence[Operation], values: Sequence[SSAValue], reason: str, pattern: str
) -> None:
    """Erase a call, `if` or match, in whose place ops were put before it; `values` are its results from now on."""
    before = [*places_in(call), *(op.location for op in made)]
    # Ops that compute a result do the work of the call; the others are as in the function.
    new = set(made)
    for owner in {value.owner: None for value in values}:
        if isinstance(owner, Operation) and owner in new:
            owner.location = fuse([owner.location, call.location])
    for old, value in zip(call.results, values, strict=True):
        if value.name_hint is None:
            value.name_hint = old.name_hint
    replace_uses(dict(zip(call.results, values, strict=True)))
    if (ledger := current_ledger()) is not None:
        ledger.record(
            pattern,
            removed=call.walk(),
            created=made,
            before=before,
            moves=moves_of(call.results, values),
            reason=reason,
        )
    call.detach()
    call.erase()


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replaces calls of functions with the attribute `Inline` by their bodies, as TVM's Inline (level 1).

    Before: any relay module.
    After: no call of a function so marked, unless it calls itself, directly or not, or is primitive or has the
    attribute `Compiler`. One that nothing mentions any more is gone;
    one that nothing mentioned before, an entry to the module, stays.
    Raises PipelineError where the copies come to more than MOST_COPIED ops.
    Locations: copies have those of the function's ops; what gives the result of a call has that of the call, too.

    ```mlir
    relay.func @twice(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes {Inline = 1 : i64} {
      %0 = relay.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("twice")
    } loc("twice")
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("b")
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused["a", "b"])
      relay.return %0 : tensor<4xf32> loc("main")
    } loc("main")
    ```
    """

    name = "relay-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        marked = {name: func for name, func in functions.items() if is_inlined(func)}
        if not marked:
            return
        ready = innermost_first(marked)
        before = {symbol_of(inner) for inner in pre_order(op)}
        copied = 0
        for name in [*ready, *(name for name in functions if name not in ready)]:
            for call in [inner for inner in pre_order(functions[name]) if isinstance(inner, CallOp)]:
                callee = call.callee.string_value()
                if callee in ready and callee != name:
                    reason = f"@{callee} stands in its place"
                    copies = put_in_place(call, functions[callee].block, list(call.arguments), reason)
                    copied += len(copies)
                    if copied > MOST_COPIED:
                        # Each function that calls the one before twice doubles what a few lines stand for.
                        allowed = f"functions that come to at most {MOST_COPIED} ops where they are called"
                        raise PipelineError(message(self.name, allowed, "more", functions[name].location))
        mentioned = {symbol_of(inner) for inner in pre_order(op)}
        for name in ready:
            if name in before - mentioned and name != "main":
                erase_function(functions[name], f"@{name} is inlined")


def innermost_first(functions: dict[str, FuncOp]) -> dict[str, None]:
    """Return the functions that are not recursive, each after those that it calls."""
    calls = {
        name: {symbol for op in pre_order(func) if isinstance(op, CallOp) and (symbol := symbol_of(op)) in functions}
        for name, func in functions.items()
    }
    callers: dict[str, list[str]] = {}
    for name, callees in calls.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    waiting = {name: len(callees) for name, callees in calls.items()}
    ready = [name for name, count in waiting.items() if not count]
    ordered: dict[str, None] = {}
    while ready:
        ordered[name := ready.pop()] = None
        for caller in callers.get(name, ()):
            waiting[caller] -= 1
            if not waiting[caller]:
                ready.append(caller)
    return ordered
