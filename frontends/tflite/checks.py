"""The checks of a subgraph before anything of it is converted: known versions, whole buffers, operators that make
something else than what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from operator import mul

from ...provenance.diagnostics import message
from ...provenance.span import layer_location
from ...support.errors import FrontendError
from ..importing.limits import excess, expectation
from .model import TYPES, ModelFile, OperatorInfo, Subgraph, TensorInfo
from .values import DTYPES, needed_bytes

_LATER: Mapping[int, Sequence[str]] = {
    2: (
        *("COS", "DEPTH_TO_SPACE", "DIV", "EXP", "FAKE_QUANT", "FLOOR_MOD", "GREATER", "L2_NORMALIZATION"),
        *("LEAKY_RELU", "LESS_EQUAL", "LOG", "LOG_SOFTMAX", "RANGE", "REDUCE_PROD", "SELECT_V2", "SIGN", "SIN"),
        *("SPACE_TO_DEPTH", "SQRT", "SQUARED_DIFFERENCE", "SQUEEZE", "SUM", "WHERE"),
    ),
    3: (
        *("ARG_MAX", "ARG_MIN", "AVERAGE_POOL_2D", "BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"),
        *("FLOOR_DIV", "GELU", "GREATER_EQUAL", "LESS", "LOGISTIC", "MAX_POOL_2D", "MEAN", "MIRROR_PAD", "REDUCE_MAX"),
        *("REDUCE_MIN", "RELU", "RELU6", "RNN", "RSQRT", "SPARSE_TO_DENSE", "SPLIT_V", "TANH", "TILE", "TOPK_V2"),
        *("UNIDIRECTIONAL_SEQUENCE_RNN",),
    ),
    4: (
        *("BATCH_MATMUL", "BATCH_TO_SPACE_ND", "BROADCAST_TO", "LSTM", "MAXIMUM", "MINIMUM", "NOT_EQUAL"),
        *("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SELECT", "SOFTMAX", "SPACE_TO_BATCH_ND"),
        *("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
    ),
    5: (*("ABS", "EMBEDDING_LOOKUP", "EQUAL", "FILL", "PACK", "SPLIT", "SUB", "TRANSPOSE_CONV"),),
    6: (*("ADD", "DYNAMIC_UPDATE_SLICE", "GATHER_ND", "PAD", "PADV2", "QUANTIZE", "UNPACK"),),
    7: (*("CONCATENATION", "DEPTHWISE_CONV_2D"),),
    8: (*("CONV_2D", "GATHER", "MUL", "SLICE", "STRIDED_SLICE"),),
    9: (*("CAST", "DEQUANTIZE", "TRANSPOSE"),),
    14: (*("FULLY_CONNECTED",),),
}
"""The last version that is known of operators which have more than one."""
_LAST = {op: version for version, ops in _LATER.items() for op in ops}


def check(model: ModelFile, graph: Subgraph) -> None:
    """Raises FrontendError for what LiteRT's interpreter refuses to begin with, too."""
    for info in graph.tensors:
        _check_tensor(model, info)
    for operator in graph.operators:
        _check_operator(model, graph, operator)


def _check_tensor(model: ModelFile, info: TensorInfo) -> None:
    what = f"{model.file}: tensor '{info.name}'"
    if info.type not in TYPES.values():
        raise FrontendError(f"{what}: expected an element type of the schema, got {info.type}")
    dtype = DTYPES.get(info.type)
    if dtype is None:
        return
    if any(count >= 1 << 64 for count in accumulate(info.shape, mul, initial=dtype.itemsize)):
        raise FrontendError(f"{what}: expected extents that 64 bits hold the product of, got {list(info.shape)}")
    if prod(info.shape) and (too_big := excess(info.shape, dtype.itemsize)):
        raise FrontendError(f"{what}: expected {expectation()}, got {too_big}")
    raw = model.raw(info.buffer)
    if raw is not None and info.sparsity is None and len(raw) < needed_bytes(info):
        raise FrontendError(f"{what}: expected a buffer of {needed_bytes(info)} bytes, got {len(raw)}")


def _check_operator(model: ModelFile, graph: Subgraph, operator: OperatorInfo) -> None:
    where = layer_location(", ".join(graph.tensors[at].name for at in operator.outputs), model.file, operator.index)
    last = _LAST.get(operator.op, 1)
    if not 1 <= operator.version <= last and not operator.op.startswith("CUSTOM "):
        versions = f"a version from 1 to {last}" if last > 1 else "version 1"
        raise FrontendError(message(operator.op, versions, f"version {operator.version}", where))
    if len(set(operator.outputs)) < len(operator.outputs) or set(operator.outputs) & set(operator.inputs):
        raise FrontendError(
            message(operator.op, "distinct outputs, none of which is an input", "a repeated one, or an input", where)
        )
