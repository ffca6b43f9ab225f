"""What TVM has at `tvm.ir`: modules, types, spans, names of operators, and equality of structures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.frontends.relay.affine_types import TensorAffineType as TensorAffineType
from whence.frontends.relay.affine_types import TupleAffineType as TupleAffineType
from whence.frontends.relay.expr import Constructor as Constructor
from whence.frontends.relay.expr import Expr, Function, Program
from whence.frontends.relay.expr import GlobalVar as GlobalVar
from whence.frontends.relay.expr import Op as Op
from whence.frontends.relay.expr import VirtualDevice as VirtualDevice
from whence.frontends.relay.op_attrs import register_op_attr as register_op_attr
from whence.frontends.relay.operators import operator_named
from whence.frontends.relay.structural_hash import structural_hash as _hash
from whence.frontends.relay.type_view import TypeView
from whence.provenance.span import SequentialSpan as SequentialSpan
from whence.provenance.span import SourceName as SourceName
from whence.provenance.span import Span as Span
from whence.relay.analysis import structural_equal as _equal
from whence.relay.analysis import typed
from whence.relay.module import IRModule as IRModule
from whence.relay.saved_json import load_json as load_json
from whence.relay.saved_json import save_json as save_json
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
from whence.relay.ty import TypeVar as TypeVar
from whence.relay.ty import is_type

RelayExpr = Expr
BaseFunc = Function
Type = TypeView
_MODULES = ("instrument", "transform")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"whence.{name}")
    raise AttributeError(f"module 'whence.ir' has no attribute '{name}'")


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two expressions, modules or types are the same but for the names of variables and spans."""
    if is_type(lhs) or is_type(rhs):
        return lhs == rhs
    if lhs is None or rhs is None:
        return lhs is rhs
    return _equal(lhs, rhs, map_free_vars)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError, with both sides, unless they are structurally equal."""
    if not structural_equal(lhs, rhs, map_free_vars):
        raise ValueError(f"StructuralEqual check failed, lhs\n{lhs}\nis not rhs\n{rhs}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """The same for what is structurally equal, in this process."""
    if is_type(node):
        return hash(node)
    return _hash(typed(node) if isinstance(node, IRModule) else _node(node), map_free_vars)


def _node(node: object) -> Expr | Program:
    if not isinstance(node, Expr | Program):
        raise TypeError(f"structural_hash: expected an expression, a module or a type, got {type(node).__name__}")
    return node


def get_op(name: str) -> Op:
    """The operator as an expression; raises FrontendError for an unknown name."""
    operator_named(name)
    return Op(name)
