"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import (
    convolution,
    elementwise,
    layout,
    matmul,
    normalization,
    pooling,
    qnn,
    qnn_elementwise,
    qnn_products,
    reduce,
    transform,
)
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import operators_of

OPERATORS = operators_of(
    convolution,
    elementwise,
    layout,
    matmul,
    normalization,
    pooling,
    qnn,
    qnn_elementwise,
    qnn_products,
    reduce,
    transform,
)
"""All operators: the classes of these modules."""

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
