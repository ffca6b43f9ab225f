"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import (
    activation,
    convolution,
    convolution_transpose,
    creation,
    division,
    elementwise,
    indexing,
    layout,
    logic,
    matmul,
    normalization,
    pooling,
    qnn,
    qnn_elementwise,
    qnn_products,
    rearrange,
    recurrent,
    reduce,
    scatter,
    sorting,
    transform,
    windows,
)
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import operators_of

OPERATORS = operators_of(
    activation,
    convolution,
    convolution_transpose,
    division,
    creation,
    elementwise,
    indexing,
    layout,
    logic,
    matmul,
    normalization,
    pooling,
    qnn,
    qnn_elementwise,
    qnn_products,
    recurrent,
    rearrange,
    reduce,
    scatter,
    sorting,
    transform,
    windows,
)
"""All operators: the classes of these modules."""

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
