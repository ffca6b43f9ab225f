"""Weights in another order or shape, which stay the tensors of the model that they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dialects.relay.transform import TransposeOp
from .context import Context
from .tensor import Tensor
from .terms import Term, constant


def arranged(ctx: Context, tensor: Tensor, axes: Sequence[int] = (), shape: Sequence[int] | None = None) -> Term:
    """Transpose, then reshape a weight; a known one stays a constant of the same tensor."""
    if tensor.array is None or tensor.symbolic or not (axes or shape):
        x = Term(ctx, tensor.materialise(ctx.builder, ctx.module))
        x = x.apply(TransposeOp, axes=axes) if axes else x
        return x if shape is None else x.reshape(*shape)
    array = tensor.array.transpose(axes) if axes else tensor.array
    with ctx.builder.located(tensor.location):
        return constant(ctx, np.ascontiguousarray(array if shape is None else array.reshape(shape)), tensor.name)
