"""The tables of ONNX operators, by domain: each family has its rows in its own module."""

from __future__ import annotations

from ...support.tables import joined_tables
from ..importing.converter import Converter
from . import activations as activations
from . import attention as attention
from . import attention_microsoft as attention_microsoft
from . import block_quantized as block_quantized
from . import casts as casts
from . import convolution as convolution
from . import cumulative as cumulative
from . import elementwise as elementwise
from . import experts as experts
from . import features as features
from . import generation as generation
from . import group_query_attention as group_query_attention
from . import image as image
from . import indexing as indexing
from . import known as known
from . import linear_algebra as linear_algebra
from . import linear_models as linear_models
from . import logic as logic
from . import losses as losses
from . import matmul_nbits as matmul_nbits
from . import normalization as normalization
from . import padding as padding
from . import pooling as pooling
from . import products as products
from . import quantization as quantization
from . import quantized_contrib as quantized_contrib
from . import random as random
from . import rearrange as rearrange
from . import recurrent as recurrent
from . import reductions as reductions
from . import rotary as rotary
from . import sequences as sequences
from . import shaping as shaping
from . import signal as signal
from . import signal_windows as signal_windows
from . import sorting as sorting
from . import trees as trees
from . import vision as vision
from . import word_embedding as word_embedding
from .context import Context


def _joined(name: str) -> dict[str, Converter[Context]]:
    return joined_tables(__name__.rpartition(".")[0], globals(), name)


CONVERTERS: dict[str, Converter[Context]] = _joined("TABLE")
"""Operators of the default domain."""

MICROSOFT: dict[str, Converter[Context]] = _joined("MICROSOFT")
"""Operators of com.microsoft, which onnxruntime's optimiser and quantiser write."""

MACHINE_LEARNING: dict[str, Converter[Context]] = _joined("MACHINE_LEARNING")
"""Operators of ai.onnx.ml."""

DOMAINS = {"": CONVERTERS, "ai.onnx": CONVERTERS, "com.microsoft": MICROSOFT, "ai.onnx.ml": MACHINE_LEARNING}
"""Domain -> operator -> how it is imported."""


def spelled(domain: str, op_type: str) -> str:
    """Return the name of an operator with its domain, if that is not ONNX's own: `com.microsoft.Gelu`."""
    return f"{domain}.{op_type}" if domain else op_type


def operator_names(domain: str, op_type: str) -> tuple[str, str]:
    """Return the names that the user may call an operator by."""
    return spelled(domain, op_type), op_type


def supported() -> list[str]:
    """Return the names of all operators, with their domains."""
    return [spelled(domain, name) for domain, table in DOMAINS.items() for name in table if domain != "ai.onnx"]


def converter_of(domain: str, op_type: str) -> Converter[Context] | None:
    """The row of an operator, if there is one."""
    return DOMAINS.get(domain, {}).get(op_type)
