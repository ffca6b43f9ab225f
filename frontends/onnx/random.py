"""Random numbers and dropout: each run, and each turn of a loop, draws others."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.relay.nn import DropoutOp
from ..importing.attributes import Attribute, Attributes, Element, Float, Int, Ints
from ..importing.converter import Result
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings import draws
from .context import Context
from .known import filled


@dataclass(frozen=True)
class _Bits(Attribute[int | None]):
    """A seed: the bits of a float."""

    what = "a number"

    def decoded(self, node: Attributes, name: str, value: Any) -> int:
        return struct.unpack("<I", struct.pack("<f", Float().decoded(node, name, value)))[0]


def dropout(
    ctx: Context, data: Term, rate: float | None, training: float | None, ratio: float, seed: int | None
) -> Term | tuple[Term, Term | Result]:
    """nn.dropout, which lets the data through; in training mode a random choice of them, scaled.

    The rate is an attribute, `ratio`, before opset 12. The mask, if wanted, says what was kept (all ones of the data's
    dtype before opset 10).
    """
    rate = ratio if rate is None else rate
    if training and rate:
        return draws.dropout(data, rate, seed=seed)
    result = data.apply(DropoutOp, rate=rate)
    if not any(ctx.node.output[1:]):
        return result
    one = np.ones((), np.bool_ if ctx.opset >= 10 else data.dtype)
    return result, filled(ctx, one, data.shape)


_FLOAT = np.dtype("float32")
_SEED = _Bits(None)
_OWN: dict[str, Any] = {"shape": Ints(), "dtype": Element(_FLOAT), "seed": _SEED}
_LIKE: dict[str, Any] = {
    "shape": Ints(lambda ctx: ctx.shape(0)),
    "dtype": Element(lambda ctx: ctx.dtype(0)),
    "seed": _SEED,
}
_NORMAL: dict[str, Any] = {"mean": Float(0.0), "scale": Float(1.0)}
_UNIFORM: dict[str, Any] = {"low": Float(0.0), "high": Float(1.0)}

TABLE = {
    "Bernoulli": row(draws.bernoulli, "input", dtype=_LIKE["dtype"], seed=_SEED),
    "Dropout": row(
        dropout,
        "data ratio:number? training_mode:number?",
        unread={"is_test": "checked with the opset, before anything is converted"},
        ratio=Float(0.5),
        seed=Int(None),
    ),
    "Multinomial": row(
        draws.multinomial, "input", count=Int(1, name="sample_size"), dtype=Element(np.dtype("int32")), seed=_SEED
    ),
    "RandomNormal": row(draws.normal, **_OWN, **_NORMAL),
    "RandomNormalLike": row(draws.normal, **_LIKE, **_NORMAL),
    "RandomUniform": row(draws.uniform, **_OWN, **_UNIFORM),
    "RandomUniformLike": row(draws.uniform, **_LIKE, **_UNIFORM),
}
