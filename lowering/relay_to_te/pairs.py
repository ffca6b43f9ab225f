"""Products of data with weights, number by number or, of bfloat16, by words of two neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import te
from ...dialects.relay import pairs as relay
from ...dialects.relay.operator import Operator, shape_of
from ...dialects.sizes import same
from ...te import Expr, Tensor
from .stages import compute, label, shape

Product = Callable[[Sequence[Expr], Sequence[Expr]], Expr]
"""The product of the data at a point and the weight at one."""


def _word(x: Tensor, point: Sequence[Expr], axis: int) -> Expr:
    """A word of two neighbours along an axis, of which the point says the word; in memory they are one."""

    def bits(part: int) -> Expr:
        at = list(point)
        at[axis] = at[axis] * 2 + part
        return te.reinterpret("int16", x(*at)).astype("int32")

    return te.bitwise_or(te.bitwise_and(bits(0), 0xFFFF), te.shift_left(bits(1), 16))


def products(data: Tensor, weight: Tensor, number: str) -> Product:
    """Products in numbers of a dtype; of a weight of words, each of two numbers along the last axis of the data."""
    if (data.dtype, weight.dtype) == ("bfloat16", "int32"):
        return lambda at, of: te.dot2_bf16(_word(data, at, len(at) - 1), weight(*of))
    return lambda at, of: data(*at).astype(number) * weight(*of).astype(number)


def in_words(y: Tensor, flip_x: object, flip_y: object) -> bool:
    """Return whether neighbours along the summed axis of the operands of a product make words."""
    return not flip_x and not flip_y and same(shape(y)[-2] % 2, 0)


def words_of_rows(y: Tensor) -> Tensor:
    """Words of every two rows, packed in the kernel."""
    *batch, depth, columns = shape(y)
    extents = (*batch, depth // 2, columns)
    return compute(extents, lambda *i: _word(y, i, len(i) - 2), "words", keep=True)


def pack_pairs(op: Operator, x: Tensor) -> Tensor:
    axis = op.signature.int("axis") % len(shape(x))
    return compute(shape_of(op.results[0]), lambda *i: _word(x, i, axis), label(op))


TABLE = {relay.PackPairsOp: pack_pairs}
