"""The tables of TFLite operators: each family has its rows in its own module."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..importing.converter import Converter
from ..importing.tables import Rows
from . import complex_numbers, shaping
from .context import INTEGERS, Context
from .model import TensorInfo
from .program import RENAMING, Node

CONVERTERS: Rows[Converter[Context]] = Rows(__name__, own={RENAMING: Converter(shaping.same)})
"""Operator, by its name in the schema -> how it is imported."""

QUANTIZED: Rows[Converter[Context]] = Rows(__name__, "QUANTIZED")
"""The same where the data are quantised."""

HYBRID: Rows[Converter[Context]] = Rows(__name__, "HYBRID")
"""The same where data of floats meet weights, input 1, of 8 bits."""

_DATA = {"TRANSPOSE_CONV": 2, "SPLIT": 1, "CONV_3D_TRANSPOSE": 2, "EMBEDDING_LOOKUP": 1}
"""Operators whose data are not input 0."""

AS_THEY_ARE = {
    *("ARG_MAX", "ARG_MIN", "BATCH_TO_SPACE_ND", "BROADCAST_TO", "DEPTH_TO_SPACE", "EXPAND_DIMS", "FILL", "GATHER"),
    *("GATHER_ND", "MIRROR_PAD", "NEG", "PACK", "PAD", "PADV2", "REDUCE_MAX", "REDUCE_MIN", "RESHAPE"),
    *("RESIZE_NEAREST_NEIGHBOR", "REVERSE_SEQUENCE", "REVERSE_V2", "SELECT", "SELECT_V2", "SLICE", "SPACE_TO_BATCH_ND"),
    *("SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TILE", "TOPK_V2", "TRANSPOSE", "UNPACK"),
    *("SHAPE", "RANK", "ZEROS_LIKE", "CAST", RENAMING),
}
"""Operators that take quantised numbers as any others."""


def _data_of(node: Node) -> TensorInfo | None:
    at = _DATA.get(node.op_type, 0)
    return node.inputs[at] if at < len(node.inputs) else None


def is_quantized(node: Node) -> bool:
    """Return whether the data of an operator are quantised."""
    info = _data_of(node)
    return info is not None and info.quantization is not None and info.type in INTEGERS


def converter_of(node: Node) -> Converter[Context] | None:
    """The row of an operator; raises FrontendError for one that is not quantised here."""
    if any(info is not None and info.type == complex_numbers.COMPLEX for info in (*node.inputs, *node.outputs)):
        return CONVERTERS[node.op_type] if node.op_type in complex_numbers.TABLE else Converter(_of_complex)
    if is_quantized(node):
        return QUANTIZED.get(node.op_type) or (
            CONVERTERS.get(node.op_type) if node.op_type in AS_THEY_ARE else Converter(_unknown)
        )
    if tuple(info and info.type for info in node.inputs[:2]) in _MIXED and node.op_type in HYBRID:
        return HYBRID[node.op_type]
    if (info := _data_of(node)) is not None and info.type not in _FLOATS and _is_of_floats(node.op_type):
        return Converter(_unknown)
    return CONVERTERS.get(node.op_type)


_FLOATS = ("FLOAT32", "FLOAT16", "BFLOAT16", "FLOAT64")
_MIXED = (("FLOAT32", "INT8"), ("FLOAT32", "INT4"))


def _is_of_floats(op_type: str) -> bool:
    """Return whether the data of an operator are floats, or quantised."""
    of_floats = ("FULLY_CONNECTED", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION")
    return op_type in of_floats or CONVERTERS.module_of(op_type) in ("activations", "recurrent", "windows")


def _of_complex(ctx: Context) -> SSAValue:
    ctx.fail("real numbers", complex_numbers.COMPLEX.lower())


def _unknown(ctx: Context) -> SSAValue:
    info = ctx.info(_DATA.get(ctx.op_type, 0))
    kind = "data that are not quantised" if info.quantization is not None else "data of floats, or quantised"
    ctx.fail(kind, info.type.lower())
