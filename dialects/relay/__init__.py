"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import elementwise, nn, transform
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import operators_of

OPERATORS = operators_of(elementwise, transform, nn)

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
