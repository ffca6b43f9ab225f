"""Computes of the operators of keys, and of the random bits that they give."""

from __future__ import annotations

from math import prod
from typing import Any

from ... import te
from ...dialects.relay import threefry as relay
from ...dialects.relay.operator import Operator
from ...te import Expr, Tensor
from .stages import compute
from .transform import flat_index

_WORD = "uint64"


class _Words(relay.Words):
    """The arithmetic of words in the te language."""

    @staticmethod
    def const(value: int) -> Any:
        return te.const(value, _WORD)

    @staticmethod
    def select(where: Any, this: Any, other: Any) -> Any:
        return te.select(where, this, other)

    @staticmethod
    def xor(a: Any, b: Any) -> Any:
        return te.bitwise_xor(a, b)

    @staticmethod
    def either(a: Any, b: Any) -> Any:
        return te.bitwise_or(a, b)

    @staticmethod
    def left(a: Any, bits: int) -> Any:
        return te.shift_left(a, te.const(bits, _WORD))

    @staticmethod
    def right(a: Any, bits: int) -> Any:
        return te.shift_right(a, te.const(bits, _WORD))

    @staticmethod
    def equal(a: Any, value: int) -> Any:
        return a.equal(te.const(value, _WORD))

    @staticmethod
    def both(a: Any, b: Any) -> Any:
        return te.all(a, b)


def _chosen(index: Expr, values: list[Any]) -> Any:
    chosen = values[-1]
    for position, value in enumerate(values[:-1]):
        chosen = te.select(index.equal(position), value, chosen)
    return chosen


def threefry_generate(op: Operator, key: Tensor) -> tuple[Tensor, Tensor]:
    sig = op.signature
    extents, count = sig.ints("out_shape"), relay.ThreefryGenerateOp.counted(sig)
    roomy = relay.roomy(_Words, [key(k) for k in range(relay.WORDS)], count)
    state = compute((relay.WORDS,), lambda *i: _chosen(i[0], roomy), "state", keep=True)

    def block(*i: Expr) -> Expr:
        counter = [state(k) + i[0].astype(_WORD) for k in range(4, 8)]
        return _chosen(i[1], relay.encrypted(_Words, [state(k) for k in range(4)], counter))

    def word(*i: Expr) -> Expr:
        position = flat_index(i, extents)
        return blocks(0, 0) if isinstance(position, int) else blocks(position // 4, position % 4)

    def after(*i: Expr) -> Expr:
        last = te.select(i[0].equal(7), state(*i) + te.const(count, _WORD), state(*i))
        return te.select(i[0].equal(6), te.const(0, _WORD), last)

    blocks = compute((count // 4, 4), block, "blocks", keep=True)
    used = compute((relay.WORDS,), after, "new_key")
    return used, compute(extents, word, "words") if prod(extents) else te.full(extents, 0, _WORD)


def threefry_split(op: Operator, key: Tensor) -> tuple[Tensor, ...]:
    halves = relay.halves(_Words, [key(k) for k in range(relay.WORDS)])

    def half(values: list[Any], name: str) -> Tensor:
        return compute((relay.WORDS,), lambda *i: _chosen(i[0], values), name)

    return half(halves[0], "left"), half(halves[1], "right")


TABLE = {relay.ThreefryGenerateOp: threefry_generate, relay.ThreefrySplitOp: threefry_split}
