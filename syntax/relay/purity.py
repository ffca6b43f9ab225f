"""Calls that may read or write references, as far as the bodies of functions tell."""

from __future__ import annotations

from collections.abc import Mapping

from .expr import Call, Constructor, Expr, Function, GlobalVar, Let, Op, Program, RefCreate, RefRead, RefWrite, Var
from .nodes import post_order


class Purity:
    """The purity of calls: pure ones only compute. A function that is an argument may do anything."""

    def __init__(self, program: Program):
        self._impure: set[str] = set()
        self._local: dict[Var, Function] = {}
        self._known: dict[Function, bool] = {}
        for function in program.functions.values():
            for node in post_order(function):
                if isinstance(node, Let) and isinstance(node.value, Function):
                    self._local[node.var] = node.value
        self._globals(program.functions)

    def _globals(self, functions: Mapping[str, Function]) -> None:
        changed = True
        while changed:
            self._known.clear()
            impure = {name for name, function in functions.items() if not self.is_pure(function)}
            changed = impure != self._impure
            self._impure = impure

    def is_pure(self, function: Function) -> bool:
        """Return whether a call of `function` only computes."""
        if function not in self._known:
            # A function that calls itself is pure if everything else in it is.
            self._known[function] = True
            self._known[function] = not any(self._has_effect(node) for node in post_order(function.body))
        return self._known[function]

    def _has_effect(self, node: Expr) -> bool:
        if isinstance(node, RefCreate | RefRead | RefWrite):
            return True
        return isinstance(node, Call) and not self.is_pure_call(node)

    def is_pure_call(self, call: Call) -> bool:
        """Return whether a call only computes."""
        match call.op:
            case Op() | Constructor():
                return True
            case GlobalVar(name):
                return name not in self._impure
            case Function() as function:
                return self.is_pure(function)
            case Var() as var if var in self._local:
                return self.is_pure(self._local[var])
            case _:
                return False
