"""The moves of operators that put elements in another order or shape."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...provenance.moving import MovesElements
from ...runtime.values.moves import Step
from ..sizes.types import extents_of


def _reshape_to(value: SSAValue) -> Step | None:
    """Return the step that gives the shape of a value, of which one extent may be open."""
    extents = extents_of(cast("TensorType[Attribute]", value.type))
    shape = tuple(extent if isinstance(extent, int) and extent >= 0 else -1 for extent in extents)
    return Step("reshape", shape) if shape.count(-1) < 2 else None


RESHAPES = MovesElements(lambda op: _reshape_to(op.results[0]), lambda op: _reshape_to(op.operands[0]))
TRANSPOSES = MovesElements(
    lambda op: Step("transpose", op.order(op.signature)),
    lambda op: Step("transpose", tuple(map(int, np.argsort(op.order(op.signature))))),
)
CHANGES_LAYOUT = MovesElements(
    lambda op: Step("layout", (op.src_layout.data, op.dst_layout.data)),
    lambda op: Step("layout", (op.dst_layout.data, op.src_layout.data)),
)
