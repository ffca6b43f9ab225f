"""The table of operators: each family has its rows in its own module, one for each overload."""

from __future__ import annotations

from ...support.tables import joined_tables
from ..importing.converter import Converter
from . import activations as activations
from . import attention as attention
from . import composites as composites
from . import convolution as convolution
from . import counting as counting
from . import creation as creation
from . import dropout as dropout
from . import elementwise as elementwise
from . import encoder_layers as encoder_layers
from . import guards as guards
from . import indexing as indexing
from . import linear_algebra as linear_algebra
from . import losses as losses
from . import normalization as normalization
from . import numbers as numbers
from . import padding as padding
from . import parts as parts
from . import pooling as pooling
from . import products as products
from . import quantization as quantization
from . import random as random
from . import rearrange as rearrange
from . import recurrent as recurrent
from . import reductions as reductions
from . import resizing as resizing
from . import shaping as shaping
from . import sorting as sorting
from . import special as special
from . import stacks as stacks
from .aliases import aliased
from .context import Context
from .program import RENAMING

_OWN: dict[str, Converter[Context]] = joined_tables(__name__.rpartition(".")[0], globals(), "TABLE")
CONVERTERS: dict[str, Converter[Context]] = {
    **_OWN,
    **aliased(_OWN),
    RENAMING: Converter(lambda ctx: ctx.input_tensor("self")),
}
"""Overload, without `torch.ops.` -> how it is imported."""
