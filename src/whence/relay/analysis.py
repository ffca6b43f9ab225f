"""What TVM's `relay.analysis` tells of expressions and modules."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from whence.frontends.relay import equal
from whence.frontends.relay.expr import Expr, Function, Let, Match, Program, Var, pattern_vars, post_order
from whence.frontends.relay.expr import free_vars as free_vars
from whence.passes.relay.analysis import features, mac_count
from whence.passes.relay.analysis import well_formed as well_formedness
from whence.passes.relay.analysis.features import Feature as Feature
from whence.relay.module import IRModule
from whence.support.errors import WhenceError


def structural_equal(
    lhs: Expr | Program | IRModule, rhs: Expr | Program | IRModule, map_free_vars: bool = False, spans: bool = False
) -> bool:
    """Whether two expressions or modules are the same but for the names of variables; see `frontends/relay/equal.py`.

    Types of modules are inferred for it, as far as they are well-typed.
    """
    one, other = (_typed(what) if isinstance(what, IRModule) else what for what in (lhs, rhs))
    return equal.structural_equal(one, other, map_free_vars, spans)


def _typed(module: IRModule) -> Program:
    try:
        return module.typed()
    except WhenceError:
        return module.program


def post_order_visit(expr: Expr, visit: Callable[[Expr], object]) -> None:
    """Call `visit` for every expression below `expr` once, each after those it is made of."""
    for node in post_order(expr):
        visit(node)


def bound_vars(expr: Expr) -> list[Var]:
    """The variables that functions, lets and patterns below `expr` bind."""
    return list(dict.fromkeys(var for node in post_order(expr) for var in _binds(node)))


def all_vars(expr: Expr) -> list[Var]:
    """The variables below `expr`, bound and free."""
    return list(dict.fromkeys([*bound_vars(expr), *free_vars(expr)]))


def detect_feature(what: Expr | IRModule | ModuleOp) -> frozenset[Feature]:
    """Which features of the language are used."""
    return features.detect_feature(_ops(what))


def list_op_freqs(what: Expr | IRModule | ModuleOp) -> dict[str, int]:
    """How often each operator is called."""
    return features.list_op_freqs(_ops(what))


def get_total_mac_number(what: Expr | IRModule | ModuleOp) -> int:
    """The multiplications and additions of convolutions and products."""
    return mac_count.get_total_mac_number(_ops(what))


def well_formed(what: Expr | IRModule | ModuleOp) -> bool:
    """Whether every variable is bound once, and read only where it is bound."""
    if isinstance(what, Expr):
        bound = [var for node in post_order(what) for var in _binds(node)]
        return len(bound) == len(set(bound))
    return well_formedness.well_formed(_ops(what))


def _binds(node: Expr) -> list[Var]:
    match node:
        case Function():
            return list(node.params)
        case Let():
            return [node.var]
        case Match():
            return [var for clause in node.clauses for var in pattern_vars(clause.lhs)]
        case _:
            return []


def _ops(what: Expr | IRModule | ModuleOp) -> ModuleOp:
    if isinstance(what, ModuleOp):
        return what
    return (what if isinstance(what, IRModule) else IRModule.from_expr(what)).module
