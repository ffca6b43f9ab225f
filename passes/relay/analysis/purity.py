"""Purity: which functions, closures and calls do more than compute their result.

An op is impure when it makes, reads or writes a reference; so is a call of a function whose body has such an op, or of
one that is not known. Operators that say something about a run (`Stateful`: dropout, random numbers) may go when nobody
reads them, but must not be moved, repeated or merged: a call of a function that has one counts as impure, too.
Recursion is pure unless something else says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.relay.binding import IfOp, LetOp
from ....dialects.relay.core import CallOp, FuncOp
from ....dialects.relay.data_types import MatchOp
from ....dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from ....dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ....dialects.relay.traits import Stateful
from ....dialects.relay.tuples import TupleGetItemOp, TupleOp
from .traversal import functions_of, pre_order

Function = FuncOp | FnOp


def is_pure(op: Operation) -> bool:
    """Return whether an op, with its regions and the marks of its calls, only computes: it may be moved and copied."""
    if not op.regions:
        return is_side_effect_free(op) and not op.has_trait(Stateful)
    if isinstance(op, FnOp):
        return True
    todo = [op]
    while todo:
        current = todo.pop()
        if current.regions and not isinstance(current, FnOp):
            todo.extend(inner for region in current.regions for block in region.blocks for inner in block.ops)
        elif not isinstance(current, FnOp) and (not is_side_effect_free(current) or current.has_trait(Stateful)):
            if not current.results and current.next_op is None:
                continue  # what ends the region
            return False
    return True


@dataclass
class Purity:
    """The purity of the functions of a module, as their ops alone show it.

    Marks that calls have are not looked at, but for calls of functions that are not in the module.
    """

    impure: set[Function] = field(default_factory=lambda: set[Function]())
    """The functions and closures a call of which may read or write references."""
    targets: dict[Operation, tuple[frozenset[Function], bool]] = field(
        default_factory=lambda: dict[Operation, tuple[frozenset[Function], bool]]()
    )
    """Per call the functions that it may call, and whether there may be others."""

    def is_impure_call(self, call: Operation) -> bool:
        """Return whether a call or invoke may read or write references."""
        targets, others = self.targets[call]
        return others or not self.impure.isdisjoint(targets)


def analyse_purity(module: ModuleOp) -> Purity:
    """The purity of all functions and closures of a module, recursive ones taken as pure where nothing speaks against.

    Linear in the size of the module, but for values that pass through many branches before they are called.
    """
    functions, purity = functions_of(module), Purity()
    callers: dict[Function, set[Function]] = {}
    for root in functions.values():
        around: dict[Operation, Function] = {}
        for op in pre_order(root):
            parent = op.parent_op()
            caller = op if parent is None or op is root else around[parent]
            assert isinstance(caller, Function)
            if op.regions:
                around[op] = op if isinstance(op, Function) else caller
            if op is root:
                continue
            if isinstance(op, CallOp | InvokeOp):
                purity.targets[op] = targets, others = _targets(op, functions)
                for target in targets:
                    callers.setdefault(target, set()).add(caller)
                if others:
                    purity.impure.add(caller)
            elif isinstance(op, RefCreateOp | RefReadOp | RefWriteOp) or op.has_trait(Stateful):
                purity.impure.add(caller)
    todo = list(purity.impure)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in purity.impure:
                purity.impure.add(caller)
                todo.append(caller)
    return purity


def mark_calls(module: ModuleOp, purity: Purity | None = None) -> list[Operation]:
    """Set or clear the `impure` marks of the calls of a module; the calls whose mark changed."""
    purity = purity or analyse_purity(module)
    changed: list[Operation] = []
    for call in purity.targets:
        impure = purity.is_impure_call(call)
        if impure == ("impure" in call.properties):
            continue
        changed.append(call)
        if impure:
            call.properties["impure"] = UnitAttr()
        else:
            del call.properties["impure"]
    return changed


def _targets(call: CallOp | InvokeOp, functions: dict[str, FuncOp]) -> tuple[frozenset[Function], bool]:
    if isinstance(call, InvokeOp):
        return possible_functions(call.function, functions)
    callee = functions.get(call.callee.string_value())
    # For a missing function, only the mark is known.
    return (frozenset(), call.impure is not None) if callee is None else (frozenset({callee}), False)


def possible_functions(value: SSAValue, functions: dict[str, FuncOp]) -> tuple[frozenset[Function], bool]:
    """The functions that a value may be, and whether it may be others, too."""
    targets: set[Function] = set()
    seen: set[SSAValue] = set()
    todo = [value]
    others = False
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        match current.owner:
            case FnOp() as fn:
                targets.add(fn)
            case GlobalOp() as symbol if symbol.symbol.string_value() in functions:
                targets.add(functions[symbol.symbol.string_value()])
            case TupleGetItemOp(tuple_value=fields) as get if isinstance(fields.owner, TupleOp):
                todo.append(fields.owner.fields[get.index.value.data])
            case LetOp() | IfOp() | MatchOp() as op if isinstance(current, OpResult):
                todo.extend(_yielded(op, current.index))
            case _:
                let = current.owner.parent_op() if isinstance(current, BlockArgument) else None
                if isinstance(current, BlockArgument) and isinstance(let, LetOp):
                    todo.extend(_yielded(let, current.index))
                else:
                    others = True
    return frozenset(targets), others


def _yielded(op: Operation, index: int) -> Iterable[SSAValue]:
    """Yield the values that the regions of an op yield for one of its results."""
    for region in op.regions:
        if (last := region.block.last_op) is not None:
            yield last.operands[index]


def impure_ops(root: Operation) -> set[Operation]:
    """The ops in `root` that are not pure, in the sense of `is_pure`: those that have an effect, and those around them.

    What a closure does, it does when it is called: around an effect in it, no op outside of it is impure.
    """
    impure: set[Operation] = set()
    for op in pre_order(root):
        if op.regions or is_pure(op) or (not op.results and op.next_op is None):
            continue
        outer: Operation | None = op
        while outer is not None and outer not in impure and not isinstance(outer, FnOp | FuncOp):
            impure.add(outer)
            outer = outer.parent_op()
    return impure
