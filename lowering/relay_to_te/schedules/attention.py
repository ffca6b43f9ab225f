"""Softmax between two products: scores that never leave the caches."""

from __future__ import annotations

from typing import NamedTuple

from ....dialects import te
from ....dialects.sizes import product, same, same_shape
from ....passes.relay.attention_groups import MOST_KEYS
from ....support.machine import Machine
from ....te.schedule.stage import Stage
from ..stages import TURNED
from .common import PARTITION_HINT, Scheduling, points, shape_of, tag_of
from .dense import OPEN, Matrix, tile
from .normalization import schedule_row_group
from .tiles import counted, product_tile

_BYTES = 1 << 17
"""The most bytes of a block of scores, and of their softmax, which a thread's stack has to hold."""
_STACK = 2 * _BYTES
"""The most bytes of a buffer of scores."""
_ROWS = 12
"""Rows of a block where the first cache holds no more: whole register tiles of any shape."""
_TILES = (4, 6)
"""Rows that register tiles of all shapes can make up: a block of them ends with its last tile."""


class _Attention(NamedTuple):
    scores: Stage
    ended: Stage
    """The stage of the scores with scale and mask; that of the scores themselves where there are none."""
    reductions: list[Stage]
    """Softmax up to its last stage."""
    weights: Stage
    mixed: Stage
    """The product with the weights."""


def schedule_attention(work: Scheduling, stage: Stage) -> None:
    """Blocks of rows of the second product outside; inside the scores of these rows, their softmax, and the product.

        for parallel b, m.outer { scores[m.inner, n]; for row { max; exp; sum; weights[row, n] }; out[m.inner, ..] }

    A tile of scores that a mask hides is not computed, nor are products with weights that are 0. Of open sizes a block
    is a register tile; for one row only the softmax has rows. Nothing where the stages of the function around `stage`
    are no such products.
    """
    if (match := _matched(work)) is None:
        return
    scores, ended, reductions, weights, mixed = match
    if work.few_rows:
        # Both products are those of one row, each in loops of its own.
        work.begin(weights)
        work.parallel(weights, [schedule_row_group(work, [*reductions, weights], 1)], points(weights))
        return
    host, inner = work.hosted(mixed)
    *batch, rows, columns = host.leaf
    usual = _block(weights, work.machine)
    count = work.knob("block", _blocks(weights), usual)
    is_even = same(rows.extent % count, 0)
    block, row = host.split(rows, count, tail=None if work.is_static(host) else "round_up")
    host.reorder(*batch, block, row, columns)
    score_host, score_inner = (
        (scores, work.schedule.cache_write(scores, "local")) if ended is scores else (ended, scores)
    )
    for part in (score_host, score_inner, weights):
        part.set_scope("local")
    for part in (score_host, weights):
        part.compute_at(host, block)
    *around, score_row, key = score_host.leaf
    work.begin(scores)
    tile(work, score_host, score_inner, Matrix(around, score_row, key, count, usual), None)
    work.begin(weights)
    schedule_row_group(work, [*reductions, weights], 1, [weights.leaf[-2]], count)
    work.begin(mixed)
    tile(work, host, inner, Matrix((), row, columns, count, usual, zeros=_is_masked(work, ended)), None)
    work.done |= {score_host, score_inner}
    size = points(mixed) + points(scores)
    if not is_even:
        # Only a loop that is not shared can be cut, and the last block needs code of its own.
        host.pragma(block, PARTITION_HINT, 1)
        work.parallel(host, batch, size)
    else:
        work.parallel(host, [*batch, block], size)


def _matched(work: Scheduling) -> _Attention | None:
    """The stages of a function that is a product of softmax of scores."""
    stages = [stage for stage in work.schedule.stages if stage.is_compute and not stage.inlined]
    stages = [stage for stage in stages if tag_of(stage) != TURNED]
    tags = [tag_of(stage) for stage in stages]
    if tags.count("dense") != 2 or tags[0] != "dense" or tags.count("softmax_output") != 1:
        return None
    end = tags.index("softmax_output")
    scores, *between, weights = stages[: end + 1]
    mixed, *rest = stages[end + 1 :]
    # The operator after the product is elementwise, and its host.
    if tag_of(mixed) != "dense" or any(stage.compute.reducer is not None for stage in rest) or len(rest) > 1:
        return None
    ended = between.pop(0) if between and between[0].compute.reducer is None else scores
    shapes = [stage.compute.shape for stage in (scores, ended, weights)]
    keys = shapes[0][-1]
    same_rows = all(same_shape(shape, shapes[0]) for shape in shapes) and len(between) == 3
    is_long = isinstance(keys, int) and keys > MOST_KEYS
    return _Attention(scores, ended, between, weights, mixed) if same_rows and not is_long else None


def _is_masked(work: Scheduling, ended: Stage) -> bool:
    """Return whether scores and another tensor of several numbers, such as a mask, make those that softmax reads."""
    reads = (read for part in work.parts(ended) if part.compute.reducer is None for read in part.compute.reads)
    return any(
        not isinstance(read.tensor.owner, te.ComputeOp) and not same(product(shape_of(read)), 1) for read in reads
    )


def _blocks(weights: Stage) -> list[int]:
    """The rows that a block may have: all, or a divisor of whole register tiles, where a stack holds their scores."""
    *_, rows, keys = weights.compute.shape
    if not isinstance(rows, int) or not isinstance(keys, int):
        return []
    most = _STACK // (4 * keys)
    counts = [count for count in range(1, min(rows, most) + 1) if rows % count == 0]
    return [count for count in counts if count == rows or any(count % tile == 0 for tile in _TILES)]


def _block(weights: Stage, machine: Machine) -> int:
    """Return the rows of a block: all that there are, where the first cache holds their scores and weights.

    Else a divisor of them, since equal blocks are shared among threads, if it is of whole register tiles; such a tile
    that reaches into the next block would have to ask for each row if that is there. Of open sizes a register tile.
    """
    *_, rows, keys = weights.compute.shape
    if not isinstance(rows, int) or not isinstance(keys, int):
        height = product_tile(counted(rows), OPEN, machine)[0]
        return min(rows, height) if isinstance(rows, int) else height
    cache = machine.l1
    least = max(1, min(_ROWS, _BYTES // (4 * keys)))
    most = max(least, cache // (8 * keys))
    if rows <= most:
        return rows
    even = [count for count in range(1, most + 1) if rows % count == 0 and any(count % tile == 0 for tile in _TILES)]
    return max(even, default=least)
