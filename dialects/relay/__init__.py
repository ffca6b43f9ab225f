"""The relay dialect: a graph of tensor operators, named, defaulted and fused as in TVM."""

from xdsl.ir import Dialect

from ..size_types import SizesAttr
from . import (
    activation,
    annotation,
    collapse,
    convolution,
    convolution_transpose,
    couplings,
    creation,
    cumulative,
    dilation,
    division,
    dynamic,
    dynamic_sizes,
    elementwise,
    fast_math,
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
    shapes,
    signal,
    sorting,
    sparse,
    transform,
    trees,
    vision,
    window_indices,
    windows,
)
from .binding import IfOp, LetOp
from .canonicalization import canonicalize_operators
from .constants import PoolAttr
from .core import CallOp, ConstantOp, FuncOp, ReturnOp
from .data_types import PATTERNS, ConstructOp, MatchOp, TypeDataOp
from .functions import FnOp, GlobalOp, InvokeOp, YieldOp
from .operator import operators_of
from .references import RefCreateOp, RefReadOp, RefWriteOp
from .tuples import TupleGetItemOp, TupleOp
from .types import AdtType, Forall, RefType, TypeVar

OPERATORS = operators_of(
    activation,
    annotation,
    collapse,
    convolution,
    convolution_transpose,
    couplings,
    creation,
    cumulative,
    dilation,
    division,
    elementwise,
    fast_math,
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
    shapes,
    signal,
    sorting,
    sparse,
    transform,
    trees,
    vision,
    window_indices,
    windows,
)
"""All operators: the classes of these modules."""

DYNAMIC = [op for op in operators_of(dynamic, dynamic_sizes) if issubclass(op, dynamic.Dynamic)]
"""Operators of which operands decide the result's shape; none has a kernel of its own."""

LANGUAGE = (
    TupleOp,
    TupleGetItemOp,
    LetOp,
    IfOp,
    FnOp,
    GlobalOp,
    InvokeOp,
    YieldOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    TypeDataOp,
    ConstructOp,
    MatchOp,
)
"""The ops of Relay as a programming language."""

Relay = Dialect(
    "relay",
    [FuncOp, ReturnOp, ConstantOp, CallOp, *LANGUAGE, *OPERATORS, *DYNAMIC],
    [PoolAttr, SizesAttr, RefType, TypeVar, AdtType, Forall, *PATTERNS],
)

canonicalize_operators(*OPERATORS, *DYNAMIC)
