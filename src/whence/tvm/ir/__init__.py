"""TVM's names at `tvm.ir`: modules, types, spans, names of operators, and equality of structures."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.arith.forms import Range as Range
from whence.ir.containers import Array as Array
from whence.ir.containers import Map as Map
from whence.ir.env_func import EnvFunc as EnvFunc
from whence.ir.memory_pools import ConstantMemoryPools as ConstantMemoryPools
from whence.ir.memory_pools import ConstantPoolInfo as ConstantPoolInfo
from whence.ir.memory_pools import PoolInfo as PoolInfo
from whence.ir.memory_pools import PoolInfoProperties as PoolInfoProperties
from whence.ir.memory_pools import WorkspaceMemoryPools as WorkspaceMemoryPools
from whence.ir.memory_pools import WorkspacePoolInfo as WorkspacePoolInfo
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
from whence.relay.ty import PointerType as PointerType
from whence.relay.ty import PrimType as PrimType
from whence.relay.ty import RefType as RefType
from whence.relay.ty import RelayRefType as RelayRefType
from whence.relay.ty import TensorType as TensorType
from whence.relay.ty import TupleType as TupleType
from whence.relay.ty import TypeCall as TypeCall
from whence.relay.ty import TypeConstraint as TypeConstraint
from whence.relay.ty import TypeData as TypeData
from whence.relay.ty import TypeKind as TypeKind
from whence.relay.ty import TypeRelation as TypeRelation
from whence.relay.ty import TypeVar as TypeVar
from whence.relay.ty import is_type
from whence.runtime.object_path import ObjectPath
from whence.support.rooms import reason_of
from whence.syntax.relay.affine_types import TensorAffineType as TensorAffineType
from whence.syntax.relay.affine_types import TupleAffineType as TupleAffineType
from whence.syntax.relay.attrs import Attrs as Attrs
from whence.syntax.relay.attrs import FunctionAttrs
from whence.syntax.relay.equal import structural_hash as _hash
from whence.syntax.relay.expr import Constructor as Constructor
from whence.syntax.relay.expr import Expr, Function, Program
from whence.syntax.relay.expr import GlobalVar as GlobalVar
from whence.syntax.relay.expr import Op as Op
from whence.syntax.relay.expr import VirtualDevice as VirtualDevice
from whence.syntax.relay.node import Node as Node
from whence.syntax.relay.op_attrs import register_op_attr as register_op_attr
from whence.syntax.relay.operators import operator_named
from whence.syntax.relay.type_view import TypeView
from whence.te.language.expr import Expr as ScalarExpr
from whence.te.language.intrinsics import register_intrin_lowering as register_intrin_lowering
from whence.te.language.intrinsics import remove_intrin_lowering as remove_intrin_lowering
from whence.te.language.statements import StringImm
from whence.tir.kinds import KINDS
from whence.tir.structure import COMPARED as STRUCTURED
from whence.tir.structure import first_mismatch, structure_hash

PrimExpr = ScalarExpr
RelayExpr = Expr
BaseExpr = (PrimExpr, RelayExpr)
"""Expressions of numbers, and those of relay, for `isinstance`."""
BaseTensorType = TensorType
BaseFunc = Function
Type = TypeView
_MODULES = ("base", "diagnostics", "instrument", "memory_pools", "op", "supply", "transform")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"whence.{name}" if name == "transform" else f"whence.ir.{name}")
    if name in ("IntImm", "FloatImm"):
        return KINDS[name]
    raise AttributeError(f"module 'whence.ir' has no attribute '{name}'{reason_of(__name__, name)}")


_COMPARED = (Expr, IRModule, Program)


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Return whether two expressions, statements, functions, modules, types, arrays or containers are equal.

    Names of variables and spans do not count. Two spans are equal if they are places of the same sources, in the same
    order.
    """
    if is_type(lhs) or is_type(rhs) or isinstance(lhs, Span):
        return lhs == rhs
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule) and not _same_kernels(lhs, rhs, map_free_vars):
        return False
    if isinstance(lhs, _COMPARED) and isinstance(rhs, _COMPARED):
        return _equal(lhs, rhs, map_free_vars)
    return first_mismatch(lhs, rhs, map_free_vars) is None


def _same_kernels(lhs: IRModule, rhs: IRModule, map_free_vars: bool) -> bool:
    """Return whether the kernels of two modules, and the notes on these, are structurally equal."""
    return first_mismatch({**lhs.kernels, "": lhs.attrs}, {**rhs.kernels, "": rhs.attrs}, map_free_vars) is None


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[Any, Any] | None:
    """Return the paths in both of their first difference, None where they are structurally equal.

    Of expressions of relay, types and spans it is the whole.
    """
    if isinstance(lhs, STRUCTURED) and isinstance(rhs, STRUCTURED):
        return first_mismatch(lhs, rhs, map_free_vars)
    root = ObjectPath.root()
    return None if structural_equal(lhs, rhs, map_free_vars) else (root, root)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise ValueError, with both sides, unless they are structurally equal."""
    if not structural_equal(lhs, rhs, map_free_vars):
        raise ValueError(f"StructuralEqual check failed, lhs\n{lhs}\nis not rhs\n{rhs}")


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """Return a hash that is the same for structurally equal objects, in this process."""
    if isinstance(node, STRUCTURED):
        return structure_hash(node, map_free_vars)
    if is_type(node) or not isinstance(node, _COMPARED):
        return hash(node)
    if isinstance(node, IRModule):
        kernels = structure_hash({**node.kernels, "": node.attrs}, map_free_vars)
        return hash((_hash(typed(node), map_free_vars), kernels))
    return _hash(node, map_free_vars)


def get_op(name: str) -> Op:
    """The operator as an expression; raises FrontendError for an unknown name."""
    operator_named(name)
    return Op(name)


def make_node(type_key: str, **fields: Any) -> Any:
    """A node by TVM's key: `IntImm`, `FloatImm`, `tir.StringImm`, or attributes, `attrs.TestAttrs`, `DictAttrs`.

    Raises ValueError for another key.
    """
    if type_key == "DictAttrs" or "attrs." in type_key:
        return FunctionAttrs(fields)
    maker = {**KINDS, "tir.StringImm": StringImm}.get(type_key)
    if maker is None:
        raise ValueError(f"make_node: expected IntImm, FloatImm, tir.StringImm or attributes, got {type_key}")
    return maker(**fields)
