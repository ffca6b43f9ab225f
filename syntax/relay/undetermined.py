"""Type arguments that the text of a program must state, because no operand, annotation or use determines them."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute

from ...dialects.relay.types import Forall
from ...support.errors import FrontendError
from .expr import Call, Expr, Op, Program
from .infer import Inference
from .nodes import post_order
from .unify import Hole, Mismatch, Term, resolved, term_of, unify


def undetermined(program: Program) -> dict[Call, list[Attribute]]:
    """Return call -> type arguments, for calls whose type arguments inference would not find by itself.

    The result is empty for programs that inference has not typed, or does not accept.
    """
    if not any(_may_be_open(node) for root in program.functions.values() for node in post_order(root)):
        return {}
    inference = _Unaided(program)
    try:
        inference.solve(list(program.functions.values()))
    except FrontendError:
        return {}
    return inference.left()


def _may_be_open(node: Expr) -> bool:
    return isinstance(node, Call) and not isinstance(node.op, Op) and node.type is not None


class _Unaided(Inference):
    """Inference that ignores type arguments."""

    def __init__(self, program: Program):
        super().__init__(program)
        self._instances: list[tuple[Call, list[Hole], Term]] = []

    def instance(self, node: Call, callee: Term) -> Term:
        if not isinstance(callee, Forall):
            return callee
        holes = [Hole() for _ in callee.params]
        names = (name.data for name in callee.params)
        term = term_of(callee.body, dict(zip(names, holes, strict=True)))
        self._instances.append((node, holes, term))
        return term

    def left(self) -> dict[Call, list[Attribute]]:
        """Return the calls that need type arguments; those of one call may determine those of later ones."""
        arguments: dict[Call, list[Attribute]] = {}
        for node, holes, term in self._instances:
            if all(resolved(hole) is not None for hole in holes):
                continue
            types = [child.type for child in (*node.args, node)]
            if any(type_ is None for type_ in types):
                continue
            inputs, output = [type_ for type_ in types[:-1] if type_ is not None], types[-1]
            assert output is not None
            try:
                unify(term, FunctionType.from_lists(inputs, [output]))
            except Mismatch:
                continue
            resolved_types = [resolved(hole) for hole in holes]
            if all(type_ is not None for type_ in resolved_types):
                arguments[node] = [type_ for type_ in resolved_types if type_ is not None]
        return arguments
