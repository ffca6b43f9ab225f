"""Normalisation by given statistics."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.normalization import BatchNormOp
from ..importing.converter import Converter
from .context import Context


def _batch_norm(ctx: Context) -> SSAValue:
    axis = ctx.axis(ctx.int("feature_index"), len(ctx.shape(0)))
    return ctx.emit(BatchNormOp, *ctx.values(), axis=axis, epsilon=ctx.float("epsilon"))


TABLE: dict[str, Converter[Context]] = {"batch_norm_inference": Converter(_batch_norm)}
