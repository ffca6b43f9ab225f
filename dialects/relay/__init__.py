"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import elementwise, nn, transform
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import Operator

OPERATORS: list[type[Operator]] = [*elementwise.OPERATORS, *transform.OPERATORS, *nn.OPERATORS]

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
