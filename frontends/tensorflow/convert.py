"""The table of TensorFlow's operators: each family has its rows in its own module."""

from __future__ import annotations

from ...support.tables import joined_tables
from ..importing.converter import Converter
from . import activations as activations
from . import convolution as convolution
from . import detection as detection
from . import elementwise as elementwise
from . import fake_quantization as fake_quantization
from . import images as images
from . import indexing as indexing
from . import lists as lists
from . import normalization as normalization
from . import products as products
from . import random as random
from . import recurrent as recurrent
from . import reductions as reductions
from . import shaping as shaping
from . import slicing as slicing
from . import sparse as sparse
from .context import Context
from .scopes import IS_NUMBER, SAME, TRUTH

CONVERTERS: dict[str, Converter[Context]] = {
    **joined_tables(__name__.rpartition(".")[0], globals()),
    **dict.fromkeys(SAME, Converter(elementwise.same)),
    IS_NUMBER: Converter(elementwise.is_number),
    TRUTH: Converter(elementwise.truth),
}
"""Operator -> how it is imported."""
