"""tir-interleave-stores: vectors whose lanes lie between those of others are stored together, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, VectorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from ...dialects.affine import below, bounds, linear
from ...dialects.sizes import same
from ...dialects.sizes.kernel import affine_map, lifted
from ...dialects.tir import ForOp, PrimFuncOp, StoreOp, buffer_of, element_bytes, index_ranges, prim_funcs
from ...dialects.tir.index_maps import Ranges, Reader, Writer, flat_index, view
from ...dialects.tir.masked import MaskedStoreOp, MaskOp
from .rewriting.constants import vector_type
from .rewriting.index_set_splitting import subrange
from .rewriting.ops import inline_before, record, replace_var

MOST = 4
"""Vectors that are stored together: shuffles are as many as their square."""
BYTES = (4, 8)
"""The bytes of elements that every machine with vectors can shuffle."""


def run(func: PrimFuncOp) -> None:
    """Interleave what the loops of one kernel store, in place."""
    _block(func.block, {})


def _block(block: Block, ranges: Ranges) -> None:
    for op in list(block.ops):
        if isinstance(op, ForOp):
            ranges[op.var] = op.bounds
        for region in op.regions:
            for inner in region.blocks:
                _block(inner, ranges)
        if isinstance(op, ForOp) and _interleaves(op, ranges):
            _store(op, ranges)


def _interleaves(loop: ForOp, ranges: Ranges) -> bool:
    """Return whether each pass stores the elements beside those of the pass before, and all of them are a run."""
    count, store = loop.trip_count, loop.block.last_op
    if not isinstance(count, int) or not 2 <= count <= MOST or not isinstance(store, Writer) or store.step != count:
        return False
    ops = list(loop.block.ops)
    if any(op.regions or (isinstance(op, Writer) and op is not store) for op in ops) or _lanes_written(store) is None:
        return False
    if any(isinstance(op, Reader) and op.buffer is store.buffer for op in ops):
        return False
    type_ = buffer_of(store.buffer)
    seen = view(store, ranges)
    if not isinstance(store.value.type, VectorType) or element_bytes(type_.element_type) not in BYTES:
        return False
    if loop.var not in seen.values or not all(isinstance(extent, int) for extent in type_.get_shape()):
        return False
    flat = linear(flat_index(seen.map, type_.strides), seen.ranges)
    step = flat.coefficient(seen.values.index(loop.var))
    return step is not None and same(step, 1)


def _store(loop: ForOp, ranges: Ranges) -> None:
    """Replace a loop by the ops of its passes, and stores of whole vectors."""
    assert isinstance(loop.trip_count, int)
    moved: list[Operation] = []
    stores: list[Writer] = []
    for number in range(loop.trip_count):
        part = subrange(loop, number, number + 1, ranges)
        replace_var(part, 0)
        moved += inline_before(part.block, loop)
        part.erase()
        store = moved.pop()
        assert isinstance(store, Writer)
        stores.append(store)
    first, lanes = stores[0], _lanes_written(stores[0])
    assert loop.parent is not None
    assert lanes is not None
    for number, value in enumerate(_interleaved(stores, loop)):
        width = cast("VectorType[Attribute]", value.type).get_shape()[0]
        map_ = affine_map(first.map.data.num_dims, _beyond(first, number * width, width))
        inside = lanes * loop.trip_count - number * width
        if inside <= 0:
            break
        new: list[Operation] = []
        if inside < width:
            new.append(mask := MaskOp.make(affine_map(0, (lifted(inside - 1),)), [], (-1,), width))
            new.append(MaskedStoreOp.make(value, mask.result, first.buffer, map_, first.indices))
        else:
            new.append(StoreOp.make(value, first.buffer, map_, first.indices))
        for op in new:
            op.location = first.location
        loop.parent.insert_ops_before(new, loop)
        moved += new
    for store in stores:
        store.detach()
        store.erase()
    record("Interleave", loop, f"{loop.trip_count} vectors are stored as one run of elements", moved)
    loop.detach()
    loop.erase()


def _interleaved(stores: Sequence[Writer], loop: ForOp) -> list[SSAValue]:
    """The vectors that `stores` write lane by lane in turn, each as wide as theirs."""
    count, type_ = len(stores), cast("VectorType[Attribute]", stores[0].value.type)
    width = type_.get_shape()[0]
    results: list[SSAValue] = []
    for number in range(count):
        lanes = [divmod(number * width + lane, count) for lane in range(width)]
        value = stores[0].value
        for source in range(1, count):
            # Lanes of later sources are whatever, until their turn.
            chosen = [
                width + lane if origin == source else at if source > 1 else lane
                for at, (lane, origin) in enumerate(lanes)
            ]
            shuffle = vector.ShuffleOp.create(
                operands=[value, stores[source].value],
                result_types=[vector_type(type_.element_type, width)],
                properties={"mask": DenseArrayBase.from_list(i64, chosen)},
            )
            shuffle.location = stores[source].location
            assert loop.parent is not None
            loop.parent.insert_op_before(shuffle, loop)
            value = shuffle.results[0]
        results.append(value)
    return results


def _lanes_written(store: Writer) -> int | None:
    """Return the number of lanes, the first ones, that a store of a vector writes; None if that is not known."""
    if not isinstance(type_ := store.value.type, VectorType):
        return None
    width = cast("VectorType[Attribute]", type_).get_shape()[0]
    if isinstance(store, StoreOp):
        return width
    mask = store.mask.owner
    if not isinstance(mask, MaskOp) or len(mask.indices) or mask.by_lane != (-1,) or mask.map.data.num_symbols:
        return None
    (last,) = mask.map.data.eval([], [])
    return min(width, last + 1) if last >= 0 else None


def _beyond(store: Writer, distance: int, width: int) -> tuple[AffineExpr, ...]:
    """The point so many elements behind the first one of a store."""
    *outer, last = store.map.data.results
    extent = cast(int, buffer_of(store.buffer).get_shape()[-1])
    if not outer or below(bounds(last, index_ranges(store.indices))[1] + distance + width - 1, extent):
        return (*outer, last + distance)
    return (*outer[:-1], outer[-1] + distance // extent, last + distance % extent)


@dataclass(frozen=True)
class TirInterleaveStoresPass(ModulePass):
    """Shuffles vectors into the order of memory where 2 to 4 of them are stored lane by lane in turn.

    Before: kernels with vectors. After: a loop of 2 to 4 passes that ends in its one store, of a vector whose lanes lie
    as far apart as there are passes, each pass beside the one before, is the ops of its passes, shuffles, and stores of
    whole vectors; those of a store behind a mask of the first lanes end with one behind a mask. Elements have 4 or 8
    bytes. Loops that read what they store stay as they are.
    Locations: shuffles and stores have that of the store that they stand for.

    ```mlir
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> vector<4xf32>
    tir.for unrolled %i in 2 {
      tir.store %0, %b[%i] stride 2 : vector<4xf32>, !tir.buffer<8xf32>
    }
    // becomes
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> vector<4xf32>
    %1 = vector.shuffle %0, %0 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    %2 = vector.shuffle %0, %0 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
    tir.store %1, %b[0] : vector<4xf32>, !tir.buffer<8xf32>
    tir.store %2, %b[4] : vector<4xf32>, !tir.buffer<8xf32>
    ```
    """

    name = "tir-interleave-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
