"""The recursive functions, and whether arguments decide the branches of such a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.relay.binding import IfOp
from ...dialects.relay.core import ConstantOp, FuncOp
from ...dialects.relay.data_types import ConstructOp, MatchOp
from ...dialects.relay.functions import FnOp, GlobalOp, InvokeOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.traits import Stateful
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from .analysis.traversal import inside, pre_order
from .remove_unused_functions import symbol_of

_HEADED = (ConstantOp, ConstructOp, TupleOp, FnOp, GlobalOp)


class Recursion:
    """The recursion of the functions of a module, as they are when this is made."""

    def __init__(self, functions: Mapping[str, FuncOp]):
        reads = {
            name: {symbol for op in pre_order(func) if (symbol := symbol_of(op)) in functions}
            for name, func in functions.items()
        }
        self._component = components(reads)
        self._recursive = {
            name
            for name, callees in reads.items()
            if any(self._component[name] == self._component[callee] for callee in callees if callee is not None)
        }

    def is_recursive(self, function: FuncOp | FnOp, bound: bool) -> bool:
        """Return whether a function may call itself; `bound` means a let-block makes a closure visible to itself."""
        return bound if isinstance(function, FnOp) else function.sym_name.data in self._recursive

    def is_decided(
        self, function: FuncOp | FnOp, arguments: Sequence[SSAValue], selves: Mapping[SSAValue, SSAValue] | None
    ) -> bool:
        """Return whether the arguments decide every `if` and match of a function in which the function calls itself.

        Those within another one count as decided when that one is.
        """
        pairs = list(zip(function.block.args, arguments, strict=True))
        constant: set[SSAValue] = {a for a, value in pairs if isinstance(value.owner, ConstantOp)}
        headed: set[SSAValue] = {a for a, value in pairs if isinstance(value.owner, _HEADED)}
        for op in inside(function):
            if isinstance(op, Operator) and op.operands and not op.has_trait(Stateful):
                if all(value in constant or isinstance(value.owner, ConstantOp) for value in op.operands):
                    constant.update(op.results)
            elif isinstance(op, TupleGetItemOp):
                headed.update(op.results)
            elif isinstance(op, IfOp | MatchOp) and self._calls_itself(op, function, selves or {}):
                value = op.operands[0]
                decided = constant if isinstance(op, IfOp) else headed
                if value not in decided and not isinstance(value.owner, _HEADED):
                    return False
        return True

    def _calls_itself(self, root: Operation, function: FuncOp | FnOp, selves: Mapping[SSAValue, SSAValue]) -> bool:
        for op in pre_order(root):
            if isinstance(op, InvokeOp) and op.function in selves:
                return True
            symbol = symbol_of(op)
            if symbol is not None and isinstance(function, FuncOp) and symbol in self._component:
                if self._component[symbol] == self._component[function.sym_name.data]:
                    return True
        return False


def components(edges: Mapping[str, set[str | None]]) -> dict[str, int]:
    """Node -> the number of its strongly connected component (Kosaraju's algorithm, without recursion)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in edges:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(sorted(filter(None, edges[root]))))]
        while stack:
            node, rest = stack[-1]
            target = next((name for name in rest if name not in seen), None)
            if target is None:
                stack.pop()
                order.append(node)
            else:
                seen.add(target)
                stack.append((target, iter(sorted(filter(None, edges[target])))))
    backwards: dict[str, list[str]] = {}
    for node, targets in edges.items():
        for target in filter(None, targets):
            backwards.setdefault(target, []).append(node)
    component: dict[str, int] = {}
    for number, root in enumerate(reversed(order)):
        todo = [root]
        while todo:
            node = todo.pop()
            if node not in component:
                component[node] = number
                todo += [name for name in backwards.get(node, ()) if name not in component]
    return component
