"""Relay from Python, with TVM's names: expressions, builders of operator calls, modules, text, passes.

>>> from whence import relay
>>> x = relay.var("x", shape=(1, 4))
>>> mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x + x)))
>>> exe = whence.compile(mod)
"""

from __future__ import annotations

import typing
from importlib import import_module
from typing import TYPE_CHECKING

from whence.frontends.relay.expr import Call as Call
from whence.frontends.relay.expr import Clause as Clause
from whence.frontends.relay.expr import Constant as Constant
from whence.frontends.relay.expr import Constructor as Constructor
from whence.frontends.relay.expr import Expr as Expr
from whence.frontends.relay.expr import Function as Function
from whence.frontends.relay.expr import GlobalVar as GlobalVar
from whence.frontends.relay.expr import If as If
from whence.frontends.relay.expr import Let as Let
from whence.frontends.relay.expr import Match as Match
from whence.frontends.relay.expr import Pattern as Pattern
from whence.frontends.relay.expr import PatternConstructor as PatternConstructor
from whence.frontends.relay.expr import PatternTuple as PatternTuple
from whence.frontends.relay.expr import PatternVar as PatternVar
from whence.frontends.relay.expr import PatternWildcard as PatternWildcard
from whence.frontends.relay.expr import RefCreate as RefCreate
from whence.frontends.relay.expr import RefRead as RefRead
from whence.frontends.relay.expr import RefWrite as RefWrite
from whence.frontends.relay.expr import Tuple as Tuple
from whence.frontends.relay.expr import TupleGetItem as TupleGetItem
from whence.frontends.relay.expr import Var as Var
from whence.provenance.span import SequentialSpan as SequentialSpan
from whence.provenance.span import SourceName as SourceName
from whence.provenance.span import Span as Span
from whence.relay.builders import TupleWrapper as TupleWrapper
from whence.relay.builders import builder
from whence.relay.builders import const as const
from whence.relay.composed import COMPOSED
from whence.relay.composed import var as var
from whence.relay.module import IRModule as IRModule
from whence.relay.namespaces import NAMESPACES
from whence.relay.scope_builder import ScopeBuilder as ScopeBuilder
from whence.relay.spans import SIBuilder as SIBuilder
from whence.relay.spans import set_span as set_span
from whence.relay.ty import Any as Any
from whence.relay.ty import FuncType as FuncType
from whence.relay.ty import GlobalTypeVar as GlobalTypeVar
from whence.relay.ty import IncompleteType as IncompleteType
from whence.relay.ty import RefType as RefType
from whence.relay.ty import RelayRefType as RelayRefType
from whence.relay.ty import TensorType as TensorType
from whence.relay.ty import TupleType as TupleType
from whence.relay.ty import TypeCall as TypeCall
from whence.relay.ty import TypeData as TypeData
from whence.relay.ty import TypeKind as TypeKind
from whence.relay.ty import TypeRelation as TypeRelation
from whence.relay.ty import TypeVar as TypeVar
from whence.relay.ty import scalar_type as scalar_type
from whence.support.errors import FrontendError

if TYPE_CHECKING:
    from whence.relay.build_module import build as build
    from whence.relay.execution import create_executor as create_executor
    from whence.relay.text import astext as astext
    from whence.relay.text import fromtext as fromtext
    from whence.relay.text import parse as parse
    from whence.relay.text import parse_expr as parse_expr
    from whence.relay.vm import optimize as optimize

RelayExpr = Expr
_HOMES = {
    "build": "whence.relay.build_module",
    "build_config": "whence.relay.build_module",
    "optimize": "whence.relay.vm",
    "fromtext": "whence.relay.text",
    "parse_expr": "whence.relay.text",
    "parse": "whence.relay.text",
    "astext": "whence.relay.text",
    "create_executor": "whence.relay.execution",
    "bind": "whence.relay.binding",
    "pretty_print": "whence.frontends.relay_text",
    "Prelude": "whence.relay.prelude",
    "SpanCheck": "whence.relay.span_check",
    "TypeFunctor": "whence.relay.type_functor",
    "TypeMutator": "whence.relay.type_functor",
    "TypeVisitor": "whence.relay.type_functor",
    "ExprFunctor": "whence.relay.expr_functor",
    "ExprVisitor": "whence.relay.expr_functor",
    "ExprMutator": "whence.relay.expr_functor",
    "save_param_dict": "whence.runtime.params",
    "load_param_dict": "whence.runtime.params",
}
_MODULES = (
    "adt",
    "analysis",
    "backend",
    "build_module",
    "dataflow_pattern",
    "expr",
    "expr_functor",
    "frontend",
    "function",
    "loops",
    "op",
    "prelude",
    "profiler_vm",
    "qnn",
    "scope_builder",
    "testing",
    "transform",
    "ty",
    "type_functor",
    "vm",
)


def __getattr__(name: str) -> typing.Any:
    if name in NAMESPACES and name not in _MODULES:
        return NAMESPACES[name]
    if name in COMPOSED:
        return COMPOSED[name]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"whence.relay.{name}")
    try:
        return builder(name)
    except FrontendError:
        raise AttributeError(f"module 'whence.relay' has no attribute '{name}'") from None
