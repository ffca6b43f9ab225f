"""Order: sorted along an axis by one operand, and the greatest."""

from __future__ import annotations

from functools import partial

from ...dialects.relay.indexing import GatherOp
from ..importing.attributes import Int
from ..importing.converter import Converter
from ..importing.rows import row
from ..importing.terms import Term
from ..meanings.reductions import top_k
from ..meanings.sorting import argsort, sort
from .context import Context


def _sort(ctx: Context, *operands: Term, axis: int) -> tuple[Term, ...]:
    """All operands in the order of those that the comparator reads."""
    words = ctx.node.body.split()
    keys = [(word, int(number)) for word, number in zip(words[0::2], words[1::2], strict=True)]
    if not operands or not keys or any(word not in ("ascending", "descending") for word, _ in keys):
        ctx.fail("a comparison of the elements of operands", ctx.node.body_text or "another")
    ctx.same_shapes(*range(len(operands)))
    if len(operands) == 1 and len(keys) == 1:
        return (sort(operands[0], axis, keys[0][0] == "descending"),)
    places: Term | None = None
    # Sorting keeps the order of equals, so the last key comes first.
    for word, number in reversed(keys):
        key = operands[number] if places is None else operands[number].apply(GatherOp, places, axis=axis)
        order = argsort(key, axis, word == "descending")
        places = order if places is None else places.apply(GatherOp, order, axis=axis)
    assert places is not None
    return tuple(operand.apply(GatherOp, places, axis=axis) for operand in operands)


TABLE: dict[str, Converter[Context]] = {
    "sort": row(_sort, "inputs*", axis=Int(-1, name="dimension")),
    "top_k": row(partial(top_k, dtype="int32"), "operand", k=Int()),
}
