"""The inputs and outputs of a program, as its types state them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import DTYPES, numpy_dtype
from ...runtime.values.open_specs import Dimension, OpenSpec
from ..importing.inputs import no_element_type


def spec_of(name: str, type_: TensorType[Attribute], what: str, called: Callable[[int], Dimension]) -> OpenSpec:
    """Return what the program says of a value; `called` names its open extents, by axis.

    Raises FrontendError, about `what`, for an element type that no tensor of relay has.
    """
    dims = [called(axis) if extent < 0 else extent for axis, extent in enumerate(type_.get_shape())]
    return OpenSpec.of(name, dims, _dtype(type_, what))


def _dtype(type_: TensorType[Attribute], what: str) -> np.dtype[Any]:
    try:
        return numpy_dtype(type_.element_type)
    except VerifyException as error:
        raise no_element_type(what, DTYPES, str(type_.element_type)) from error
