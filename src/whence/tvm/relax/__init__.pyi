from whence.relax.op import prim_value as PrimValue
from whence.relay.builders import const as const
from whence.relay.kernel_calls import call_dps_packed as call_dps_packed
from whence.relay.kernel_calls import call_tir as call_tir
from whence.relay.kernel_calls import call_tir_inplace as call_tir_inplace
from whence.script.reading import from_source as from_source
from whence.syntax.relax.rows import Shape as ShapeExpr
from whence.syntax.relay.expr import Call as Call
from whence.syntax.relay.expr import Constant as Constant
from whence.syntax.relay.expr import Expr as Expr
from whence.syntax.relay.expr import Function as Function
from whence.syntax.relay.expr import GlobalVar as GlobalVar
from whence.syntax.relay.expr import If as If
from whence.syntax.relay.expr import Tuple as Tuple
from whence.syntax.relay.expr import TupleGetItem as TupleGetItem
from whence.syntax.relay.expr import Var as DataflowVar
from whence.syntax.relay.expr import Var as Var
from whence.syntax.relay.type_view import FuncType as FuncStructInfo
from whence.syntax.relay.type_view import FuncType as FuncType
from whence.syntax.relay.type_view import TensorType as TensorStructInfo
from whence.syntax.relay.type_view import TensorType as TensorType
from whence.syntax.relay.type_view import TupleType as TupleStructInfo
from whence.syntax.relay.type_view import TupleType as TupleType

from . import frontend as frontend
from . import op as op
from . import testing as testing
from . import transform as transform
from .block_builder import BlockBuilder as BlockBuilder
from .machine import Executable as Executable
from .machine import Executable as VMExecutable
from .machine import VirtualMachine as VirtualMachine
from .machine import build as build
from .transform import get_pipeline as get_pipeline

__all__ = [
    "DataflowVar",
    "FuncStructInfo",
    "PrimValue",
    "ShapeExpr",
    "TensorStructInfo",
    "TupleStructInfo",
    "VMExecutable",
]
