"""Activations, and what is normalised along the last axis."""

from __future__ import annotations

from ...dialects.relay import elementwise as ew
from ..importing.attributes import Flag, Float
from ..importing.converter import Converter
from ..importing.rows import row
from ..meanings import activations
from .context import Context

TABLE: dict[str, Converter[Context]] = {
    "Elu": row(activations.elu, "features"),
    "Gelu": row(activations.gelu, "features", approximate=Flag(True)),
    "LeakyRelu": row(ew.LeakyReluOp, "features", alpha=Float(0.2)),
    "LogSoftmax": row(activations.log_softmax, "logits"),
    "Relu": row(ew.ReluOp, "features"),
    "Relu6": row(activations.clipped(0.0, 6.0), "features"),
    "Selu": row(activations.selu, "features"),
    "Sigmoid": row(ew.SigmoidOp, "x"),
    "Softmax": row(activations.softmax, "logits"),
    "Softplus": row(activations.softplus, "features"),
    "Softsign": row(activations.softsign, "features"),
}
