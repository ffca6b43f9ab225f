"""The graph of calls between the functions of a module, TVM's `relay.analysis.CallGraph`."""

from __future__ import annotations

from whence.relay.module import IRModule
from whence.support.errors import FrontendError
from whence.syntax.relay.expr import Call, Function, GlobalVar
from whence.syntax.relay.nodes import post_order


class CallGraph:
    """The calls between global functions; a function that stands somewhere as a value counts as called there.

    >>> graph = CallGraph(mod)
    >>> graph.global_call_count("main"), graph.ref_count("helper"), graph.is_recursive("helper")
    """

    def __init__(self, module: IRModule):
        self.module = module
        self._calls: dict[str, dict[str, int]] = {}
        for name, function in module.program.functions.items():
            counts: dict[str, int] = {}
            for callee in _read(function):
                counts[callee] = counts.get(callee, 0) + 1
            self._calls[name] = counts

    def _name(self, var: str | GlobalVar) -> str:
        name = var.name_hint if isinstance(var, GlobalVar) else var
        if name not in self._calls:
            raise FrontendError(f"CallGraph: expected a function among {', '.join(self._calls)}, got {name}")
        return name

    def __getitem__(self, var: str | GlobalVar) -> dict[str, int]:
        """The functions that one calls, and in how many places."""
        return dict(self._calls[self._name(var)])

    def __contains__(self, var: str | GlobalVar) -> bool:
        return (var.name_hint if isinstance(var, GlobalVar) else var) in self._calls

    def ref_count(self, var: str | GlobalVar) -> int:
        """In how many places of the module a function is called."""
        name = self._name(var)
        return sum(counts.get(name, 0) for counts in self._calls.values())

    def global_call_count(self, var: str | GlobalVar) -> int:
        """In how many places a function calls others."""
        return sum(self._calls[self._name(var)].values())

    def is_recursive(self, var: str | GlobalVar) -> bool:
        """Return whether a function calls itself."""
        name = self._name(var)
        return name in self._calls[name]

    def print_var(self, var: str | GlobalVar) -> str:
        """Return a function and its callees as text."""
        name = self._name(var)
        lines = [f"Call graph node: {name}, ref count = {self.ref_count(name)}"]
        lines += [f"  call {callee}, ref count = {self.ref_count(callee)}" for callee in self._calls[name]]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return "".join(self.print_var(name) for name in self.order())

    def order(self) -> list[str]:
        """Return the functions, each before its callees, except in cycles of calls."""
        visited: dict[str, None] = {}
        for root in self._calls:
            stack = [(root, iter(self._calls[root]))]
            opened = {root}
            while stack:
                name, rest = stack[-1]
                inner = next((callee for callee in rest if callee not in visited and callee not in opened), None)
                if inner is None:
                    stack.pop()
                    visited[name] = None
                elif inner in self._calls:
                    opened.add(inner)
                    stack.append((inner, iter(self._calls[inner])))
        return list(visited)[::-1]


def _read(function: Function) -> list[str]:
    """The global functions that a function reads: once for each call, and once for all other places."""
    names: list[str] = []
    called: set[GlobalVar] = set()
    nodes = list(post_order(function.body))
    for node in nodes:
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            names.append(node.op.name_hint)
            called.add(node.op)
    return names + [node.name_hint for node in nodes if isinstance(node, GlobalVar) and node not in called]
