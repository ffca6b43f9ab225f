"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import (
    activation,
    convolution,
    division,
    elementwise,
    layout,
    logic,
    matmul,
    normalization,
    pooling,
    reduce,
    transform,
)
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import operators_of

OPERATORS = operators_of(
    activation,
    convolution,
    division,
    elementwise,
    layout,
    logic,
    matmul,
    normalization,
    pooling,
    reduce,
    transform,
)
"""All operators: the classes of these modules."""

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
