"""Dropout: of elements or of whole channels. In training mode a random choice of them is gone, another in each call."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dialects.relay.elementwise import CopyOp
from ...dialects.relay.transform import BroadcastToOp
from ..importing.attributes import Flag, Float
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term, constant
from ..meanings import draws


def _dropout(x: Term, rate: float, train: bool, channels: bool = False, alpha: bool = False) -> Term:
    """Drop elements, or whole channels, in training."""
    if not train or not rate > 0:
        return x.apply(CopyOp)
    shape = draws.of_channels(x.shape, 1) if channels else x.shape
    return draws.alpha_dropout(x, rate, shape) if alpha else draws.dropout(x, rate, shape)[0]


def _native_dropout(x: Term, rate: float, train: bool) -> tuple[Term, Term]:
    """The data and a mask of what stays: all in inference."""
    if train and rate > 0:
        return draws.dropout(x, rate)
    return x.apply(CopyOp), constant(x.ctx, np.ones((), np.bool_), "mask").apply(BroadcastToOp, shape=x.shape)


_RATE = Float(0.5, name="p")


def _row(**options: bool) -> Converter[Any]:
    return row(partial(_dropout, **options), "input", rate=_RATE, train=Flag(False))


TABLE = {
    "aten.alpha_dropout.default": _row(alpha=True),
    "aten.dropout.default": _row(),
    "aten.feature_alpha_dropout.default": _row(channels=True, alpha=True),
    "aten.feature_dropout.default": _row(channels=True),
    "aten.native_dropout.default": row(_native_dropout, "input", rate=_RATE, train=Flag(False)),
}
