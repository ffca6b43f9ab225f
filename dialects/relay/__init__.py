"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from . import (
    activation,
    convolution,
    convolution_transpose,
    creation,
    cumulative,
    division,
    elementwise,
    indexing,
    layout,
    linear_algebra,
    logic,
    loss,
    matmul,
    normalization,
    norms,
    pooling,
    qnn,
    qnn_elementwise,
    qnn_products,
    random,
    rearrange,
    recurrent,
    reduce,
    resize,
    sampling,
    scatter,
    signal,
    sorting,
    transform,
    vision,
    windows,
)
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .operator import operators_of

OPERATORS = operators_of(
    activation,
    convolution,
    convolution_transpose,
    creation,
    cumulative,
    division,
    elementwise,
    indexing,
    layout,
    linear_algebra,
    logic,
    loss,
    matmul,
    normalization,
    norms,
    pooling,
    random,
    rearrange,
    qnn,
    qnn_elementwise,
    qnn_products,
    recurrent,
    reduce,
    resize,
    sampling,
    scatter,
    signal,
    sorting,
    transform,
    vision,
    windows,
)
"""All operators: the classes of these modules."""

Relay = Dialect("relay", [FuncOp, ReturnOp, ConstantOp, CallOp, *OPERATORS], [PoolAttr])
