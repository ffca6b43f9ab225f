"""A loop that combines its terms in one element, as vectors of terms and one reduction of their lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from xdsl.dialects import arith
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag, ReductionOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.tir import ForOp, LoadOp, StoreOp, buffer_of, element_bytes
from ....dialects.tir.index_maps import Ranges
from ..analysis.lanes import Lanes, Obstacle, is_width
from .index_set_splitting import subrange
from .ops import inline_before, record
from .vectorized_body import Copies, VectorizedBody

HINT = "pragma_vector_reduction"
"""On a loop whose terms may be combined in any order."""

_KINDS: dict[type[Operation], CombiningKindFlag] = {
    arith.AddfOp: CombiningKindFlag.ADD,
    arith.MulfOp: CombiningKindFlag.MUL,
    arith.MaximumfOp: CombiningKindFlag.MAXIMUMF,
    arith.MinimumfOp: CombiningKindFlag.MINIMUMF,
    arith.MaxnumfOp: CombiningKindFlag.MAXNUMF,
    arith.MinnumfOp: CombiningKindFlag.MINNUMF,
    arith.AddiOp: CombiningKindFlag.ADD,
    arith.MuliOp: CombiningKindFlag.MUL,
    arith.MaxSIOp: CombiningKindFlag.MAXSI,
    arith.MinSIOp: CombiningKindFlag.MINSI,
    arith.MaxUIOp: CombiningKindFlag.MAXUI,
    arith.MinUIOp: CombiningKindFlag.MINUI,
    arith.AndIOp: CombiningKindFlag.AND,
    arith.OrIOp: CombiningKindFlag.OR,
    arith.XOrIOp: CombiningKindFlag.XOR,
}


class _Update(NamedTuple):
    """`out[p] = combine(out[p], term)`, where p is one place in all iterations."""

    load: LoadOp
    combine: Operation
    term: int
    """The operand of `combine` that is the term."""
    store: StoreOp

    def erase(self) -> None:
        """Erase the ops that were taken out of their loop."""
        for op in (self.store, self.combine, self.load):
            op.erase()


def reduce_lanes(loop: ForOp, ranges: Ranges, copies: Copies, register: int) -> None:
    """Replace a loop by vectors of its terms that are combined lane by lane, and one reduction of what is left.

    register: the most bytes of a vector; where its lanes do not divide the loop's extent, vectors have fewer.

    Raises Obstacle, and leaves the loop, where it does not end in one update of one element, or has no vector form.
    """
    update = _update(loop)
    extent = loop.trip_count
    if not isinstance(extent, int):
        raise Obstacle(f"its extent is {extent}")
    register_lanes = register // element_bytes(buffer_of(update.store.buffer).element_type)
    width = min(register_lanes, extent & -extent)
    if not is_width(width, register):
        raise Obstacle(f"its extent is {extent}")
    parts: list[tuple[ForOp, Lanes, _Update]] = []
    try:
        for begin in range(0, extent, width):
            parts.append(_terms(subrange(loop, begin, begin + width, ranges), ranges))
    except Obstacle:
        for part, _, rest in parts:
            rest.erase()
            part.erase()
        raise
    assert loop.parent is not None
    ops: list[Operation] = []
    for part, lanes, _ in parts:
        loop.parent.insert_op_before(part, loop)
        VectorizedBody(part, lanes, copies).run()
        ops += inline_before(part.block, part)
        part.detach()
        part.erase()
    vectors = [rest.combine.operands[rest.term] for _, _, rest in parts]
    for _, _, rest in parts:
        rest.erase()
    ops += _finish(loop, update, vectors)
    several = f"{len(parts)} vectors of " if len(parts) > 1 else ""
    record("ReduceLanes", loop, f"{several}{width} lanes become one element", ops)
    loop.detach()
    loop.erase()


def _update(loop: ForOp) -> _Update:
    """Return the update at the end of the loop. Raises Obstacle where that is no update of one element."""
    store = loop.block.last_op
    combine = store.value.owner if isinstance(store, StoreOp) else None
    if not (isinstance(store, StoreOp) and isinstance(combine, Operation) and combine.parent is loop.block):
        raise Obstacle("it does not end in a store of what it combines")
    if type(combine) not in _KINDS:
        raise Obstacle(f"{combine.name} is no reduction of vectors")
    inside = {loop.var, *(result for op in loop.block.ops for result in op.results)}
    for position, load in enumerate(operand.owner for operand in combine.operands):
        if not isinstance(load, LoadOp) or load.buffer is not store.buffer or load.guard is not None:
            continue
        once = all(result.has_one_use() for result in (load.result, *combine.results))
        same = load.map == store.map and list(load.indices) == list(store.indices)
        alone = sum(store.buffer in op.operands for op in loop.walk()) == 2
        if once and same and alone and load.parent is loop.block and inside.isdisjoint(store.indices):
            return _Update(load, combine, 1 - position, store)
    raise Obstacle("it does not update one element that it does not use otherwise")


def _terms(part: ForOp, ranges: Ranges) -> tuple[ForOp, Lanes, _Update]:
    """A copy of the loop without its update, which still holds the term."""
    for op in part.walk():
        if isinstance(op, ForOp):
            ranges[op.var] = op.bounds
    update = _update(part)
    for op in (update.store, update.combine, update.load):
        op.detach()
    try:
        lanes = Lanes(part, ranges, cast(int, part.trip_count))
        if update.combine.operands[update.term] not in lanes.varying:
            raise Obstacle("its terms are alike")
    except Obstacle:
        update.erase()
        part.erase()
        raise
    return part, lanes, update


def _finish(loop: ForOp, update: _Update, vectors: Sequence[SSAValue]) -> list[Operation]:
    """Combine the vectors in pairs, reduce the lanes of what is left, and do the update, before the loop."""
    combine = update.combine
    ops: list[Operation] = []
    while len(vectors) > 1:
        joins = [
            type(combine).create(
                operands=pair, result_types=[pair[0].type], properties=combine.properties, location=combine.location
            )
            for pair in zip(vectors[::2], vectors[1::2], strict=False)
        ]
        ops += joins
        vectors = [*(join.results[0] for join in joins), *(vectors[-1:] if len(vectors) % 2 else ())]
    flags = combine.properties.get("fastmath")
    if isinstance(combine, arith.AddfOp | arith.MulfOp):
        flags = arith.FastMathFlagsAttr([*combine.fastmath.data, FastMathFlag.REASSOC])
    properties: dict[str, Attribute] = {"kind": CombiningKindAttr(_KINDS[type(combine)])}
    # Its constructor makes the result a vector.
    reduction = ReductionOp.create(
        operands=[vectors[0], update.load.result],
        result_types=[update.load.result.type],
        properties=properties if flags is None else {**properties, "fastmath": flags},
        location=combine.location,
    )
    reduction.dest.name_hint = combine.results[0].name_hint
    update.store.operands[0] = reduction.dest
    for op in (update.load, update.store):
        op.detach()
    ops += [update.load, reduction, update.store]
    assert loop.parent is not None
    loop.parent.insert_ops_before(ops, loop)
    return ops
