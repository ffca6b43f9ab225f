"""Computes of the operators of random numbers, each a function of where it stands."""

from __future__ import annotations

from math import pi

from ... import te
from ...dialects.relay import random as relay
from ...dialects.relay.operator import Operator
from ...runtime.program.random_state import PARITY, ROTATIONS, ROUNDS, halves
from ...te import Expr, Tensor
from .stages import compute, dtype_of, label, wide
from .transform import flat_index

_WORD = "uint32"


def _words(op: Operator, state: Tensor | None, position: Expr | int) -> tuple[Expr, Expr]:
    """The two words of a position (`dialects/relay/random.py`)."""
    sig = op.signature

    def number(value: int) -> Expr:
        return te.const(value, _WORD)

    if sig.get("seed") is not None:
        low, high = halves(sig.int("seed"))
        key, second = [number(low), number(high)], number(0) if state is None else state[2]
    else:
        key, second = [number(0)] * 2 if state is None else [state[0], state[1]], number(sig.int("stream"))
    key.append(te.bitwise_xor(te.bitwise_xor(number(PARITY), key[0]), key[1]))
    x: Expr = (number(position) if isinstance(position, int) else position.astype(_WORD)) + key[0]
    y: Expr = second + key[1]
    for done in range(ROUNDS):
        turn = ROTATIONS[done % len(ROTATIONS)]
        x = x + y
        left, right = te.shift_left(y, number(turn)), te.shift_right(y, number(32 - turn))
        y = te.bitwise_xor(te.bitwise_or(left, right), x)
        if done % 4 == 3:
            block = done // 4 + 1
            x, y = x + key[block % 3], y + key[(block + 1) % 3] + number(block)
    return x, y


def uniform(op: Operator, state: Tensor | None = None) -> Tensor:
    sig, dtype = op.signature, dtype_of(op)
    extents, number, kept = sig.ints("shape"), wide(dtype), relay.MANTISSA[dtype_of(op)]

    def element(*i: Expr) -> Expr:
        x, y = _words(op, state, flat_index(i, extents))
        if kept > 32:
            high = te.shift_left(x.astype("uint64"), te.const(21, "uint64"))
            bits = te.bitwise_or(high, te.shift_right(y, te.const(11, _WORD)).astype("uint64"))
        else:
            bits = te.shift_right(x, te.const(32 - kept, _WORD))
        # As int32 and int64, of which there are vectors of floats made; no number has the last bit.
        integer = bits.astype("int64" if kept > 32 else "int32").astype(number)
        low, high = sig.get("low"), sig.get("high")
        return (integer * 2.0**-kept * (high - low) + low).astype(dtype)

    return compute(extents, element, label(op).replace(".", "_"))


def normal(op: Operator, state: Tensor | None = None) -> Tensor:
    sig, dtype = op.signature, dtype_of(op)
    extents, number = sig.ints("shape"), wide(dtype)

    def element(*i: Expr) -> Expr:
        x, y = (
            te.shift_right(word, te.const(8, _WORD)).astype("int32")
            for word in _words(op, state, flat_index(i, extents))
        )
        radius = te.sqrt(te.log((x + 1).astype(number) * 2.0**-24) * -2.0)
        standard = radius * te.cos(y.astype(number) * (2 * pi * 2.0**-24))
        return (standard * sig.get("scale") + sig.get("mean")).astype(dtype)

    return compute(extents, element, label(op).replace(".", "_"))


TABLE = {relay.DrawNormalOp: normal, relay.DrawUniformOp: uniform}
