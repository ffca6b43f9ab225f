"""Analyses of expressions and modules, by the names of TVM's `relay.analysis`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from whence.passes.relay.analysis import features, mac_count
from whence.passes.relay.analysis import well_formed as well_formedness
from whence.passes.relay.analysis.features import Feature as Feature
from whence.relay.annotated_regions import AnnotatedRegionSet as AnnotatedRegionSet
from whence.relay.calibration import get_calibration_data as get_calibration_data
from whence.relay.call_graph import CallGraph as CallGraph
from whence.relay.counting import all_dtypes as all_dtypes
from whence.relay.counting import check_constant as check_constant
from whence.relay.counting import count_layers as count_layers
from whence.relay.counting import extract_fake_quantized_ops as extract_fake_quantized_ops
from whence.relay.counting import extract_fused_functions as extract_fused_functions
from whence.relay.counting import extract_intermdeiate_expr as extract_intermdeiate_expr
from whence.relay.counting import features_of
from whence.relay.counting import list_fake_quantized_op_freqs as list_fake_quantized_op_freqs
from whence.relay.counting import search_fc_transpose as search_fc_transpose
from whence.relay.kinds import all_type_vars as all_type_vars
from whence.relay.kinds import bound_type_vars as bound_type_vars
from whence.relay.kinds import check_kind as check_kind
from whence.relay.kinds import free_type_vars as free_type_vars
from whence.relay.module import IRModule
from whence.relay.unmatched import unmatched_cases as unmatched_cases
from whence.support.errors import WhenceError
from whence.syntax.relay import equal
from whence.syntax.relay.expr import Expr, Program, Var
from whence.syntax.relay.nodes import binds, post_order
from whence.syntax.relay.nodes import free_vars as free_vars
from whence.syntax.relay.scopes import shares_within_scopes


def structural_equal(
    lhs: Expr | Program | IRModule, rhs: Expr | Program | IRModule, map_free_vars: bool = False, spans: bool = False
) -> bool:
    """Return True if two expressions or modules differ only in names of variables; see `syntax/relay/equal.py`.

    Types of modules are inferred for it, as far as they are well-typed.
    """
    left, right = (typed(what) if isinstance(what, IRModule) else what for what in (lhs, rhs))
    return equal.structural_equal(left, right, map_free_vars, spans)


def typed(module: IRModule) -> Program:
    """The expressions of a module, with their types as far as they are well-typed."""
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
    return list(dict.fromkeys(var for node in post_order(expr) for var in binds(node)))


def all_vars(expr: Expr) -> list[Var]:
    """The variables below `expr`, bound and free."""
    return list(dict.fromkeys([*bound_vars(expr), *free_vars(expr)]))


def detect_feature(
    what: Expr | IRModule | ModuleOp | None = None, also: Expr | IRModule | None = None
) -> frozenset[Feature]:
    """Return the language features that an expression, a module or both use."""
    collected: set[Feature] = set()
    for source in (what, also):
        if isinstance(source, ModuleOp):
            collected |= features.detect_feature(source)
        elif source is not None:
            roots = list(source.program.functions.values()) if isinstance(source, IRModule) else [source]
            collected.update(Feature[name] for root in roots for name in features_of(root))
    return frozenset(collected)


def list_op_freqs(what: Expr | IRModule | ModuleOp) -> dict[str, int]:
    """Return the number of calls of each operator."""
    return features.list_op_freqs(_ops(what))


def get_total_mac_number(what: Expr | IRModule | ModuleOp) -> int:
    """The multiplications and additions of convolutions and products."""
    return mac_count.get_total_mac_number(_ops(what))


def check_basic_block_normal_form(expr: Expr | IRModule) -> bool:
    """Return whether every expression that several scopes share is bound by a let."""
    roots = [expr] if isinstance(expr, Expr) else list(expr.program.functions.values())
    return all(map(shares_within_scopes, roots))


def well_formed(what: Expr | IRModule | ModuleOp) -> bool:
    """Return whether every variable is bound once, and read only where it is bound."""
    if isinstance(what, Expr):
        bound = [var for node in post_order(what) for var in binds(node)]
        return len(bound) == len(set(bound))
    return well_formedness.well_formed(_ops(what))


def _ops(what: Expr | IRModule | ModuleOp) -> ModuleOp:
    if isinstance(what, ModuleOp):
        return what
    return (what if isinstance(what, IRModule) else IRModule.from_expr(what)).module
