"""tir-transpose-loads: vectors along another dimension than the memory's are transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, LocationAttr, ModuleOp, VectorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.affine import below, bounds, linear
from ...dialects.sizes import same
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import ForOp, LoadOp, PrimFuncOp, buffer_of, element_bytes, index_ranges, prim_funcs
from ...dialects.tir.index_maps import Ranges, Reader, Writer, flat_index, view
from ...dialects.tir.masked import MaskedLoadOp, MaskOp
from ...support.machine import WIDEST, Machine
from .rewriting.constants import constant, vector_type
from .rewriting.index_set_splitting import strided, subrange
from .rewriting.ops import record

_ELEMENT = 4
_SIDE = 4
"""Rows and columns of a square that the shuffles below transpose: the elements of a part of a vector."""
_FAR = 256
"""Rows further apart, in elements, that begin anywhere in a cache line: parts of them that lie in two cost too much."""


def run(func: PrimFuncOp, machine: Machine = WIDEST) -> bool:
    """Transpose what the loops of one kernel read, in place; says whether loops of one iteration are left."""
    if machine.part != _SIDE * _ELEMENT:
        return False
    # More rows than a cache line has elements do not pay.
    return _block(func.block, {}, machine.cache_line // _ELEMENT)


def _block(block: Block, ranges: Ranges, most: int) -> bool:
    changed = False
    for op in list(block.ops):
        if isinstance(op, ForOp):
            ranges[op.var] = op.bounds
        inner = [inner for region in op.regions for inner in region.blocks]
        for body in inner:
            changed |= _block(body, ranges, most)
        if isinstance(op, ForOp) and op.kind.data != "parallel" and (readers := _readers(op, ranges, most)):
            _transpose(op, readers, ranges)
            changed = True
    return changed


def _readers(loop: ForOp, ranges: Ranges, most: int) -> list[int]:
    """The places, from the end, of the loads in a loop that neighbouring iterations can do together."""
    ops = list(loop.block.ops)
    if not loop.is_known or not loop.is_run(_SIDE) or any(op.regions for op in ops):
        return []
    written = {op.buffer for op in ops if isinstance(op, Writer)}
    return [
        position - len(ops)
        for position, op in enumerate(ops)
        if isinstance(op, Reader) and op.buffer not in written and _across(op, loop.var, ranges, most)
    ]


def _across(op: Reader, var: SSAValue, ranges: Ranges, most: int) -> bool:
    """Return whether a load's lanes, `most` of them, lie apart, and the next iteration reads what lies beside them."""
    lanes = _lanes(op)[1]
    if not _SIDE <= lanes <= most or lanes & (lanes - 1) or op.step < _SIDE or (op.step % _SIDE and op.step > _FAR):
        return False
    type_ = buffer_of(op.buffer)
    if element_bytes(type_.element_type) != _ELEMENT or (isinstance(op, LoadOp) and op.guard is not None):
        return False
    seen = view(op, ranges)
    if _lanes_read(op) is None or _lane_dim(op) is None or var not in seen.values:
        return False
    flat = linear(flat_index(seen.map, type_.strides), seen.ranges)
    step = flat.coefficient(seen.values.index(var))
    return step is not None and same(step, 1)


def _lane_dim(op: Reader) -> int | None:
    """The dimension along which the lanes of a load lie, if they all lie along one."""
    type_, inside = buffer_of(op.buffer), _lanes_read(op)
    assert inside is not None
    ranges = index_ranges(op.indices)
    for dim, (expr, stride, extent) in enumerate(
        zip(op.map.data.results, type_.strides, type_.get_shape(), strict=True)
    ):
        if not isinstance(stride, int) or op.step % stride:
            continue
        if below(bounds(expr, ranges)[1] + op.step // stride * (inside - 1), extent):
            return dim
    return None


def _lanes(op: Reader) -> tuple[Attribute, int]:
    """The element type and the number of lanes that a load gives; a scalar has one."""
    type_: Attribute = op.result.type
    if not isinstance(type_, VectorType):
        return type_, 1
    lanes_type = cast(VectorType[Attribute], type_)
    return lanes_type.element_type, lanes_type.get_shape()[0]


def _lanes_read(op: Reader) -> int | None:
    """Return the number of lanes, the first ones, that a load reads; None if that is not known."""
    _, width = _lanes(op)
    if isinstance(op, LoadOp):
        return width
    mask = op.mask.owner
    if not isinstance(mask, MaskOp) or len(mask.indices) or mask.by_lane != (-1,) or mask.map.data.num_symbols:
        return None
    (last,) = mask.map.data.eval([], [])
    return min(width, last + 1) if last >= 0 else None


def _transpose(loop: ForOp, readers: Sequence[int], ranges: Ranges) -> None:
    """Replace a loop by one whose iterations do 4 of its, and by one of the iterations that are left."""
    extent = loop.trip_count
    assert isinstance(extent, int)
    covered = extent // _SIDE * _SIDE
    parts = [strided(loop, _SIDE, first, covered, ranges) for first in range(_SIDE)]
    outer, *others = parts
    where = {position: list(outer.block.ops)[position] for position in readers}
    rows = [list(part.block.ops) for part in parts]
    for part in others:
        part.var.replace_all_uses_with(outer.var)
        for op in list(part.block.ops):
            op.detach()
            outer.block.add_op(op)
        part.erase()
    for position, first in where.items():
        assert isinstance(first, Reader)
        values = _columns(first)
        for ops, value in zip(rows, values, strict=True):
            ops[position].results[0].replace_all_uses_with(value)
            ops[position].detach()
            ops[position].erase()
    parts = [outer, *([subrange(loop, covered, extent, ranges)] if extent > covered else [])]
    assert loop.parent is not None
    loop.parent.insert_ops_before(parts, loop)
    record("Transpose", loop, f"{_SIDE} iterations at once read rows and transpose them", parts)
    loop.detach()
    loop.erase()


def _columns(op: Reader) -> list[SSAValue]:
    """Return the vectors that a load and those of the 3 next iterations read, put before it by rows."""
    block = op.parent
    assert block is not None
    element, width = _lanes(op)
    location: LocationAttr = op.location

    def put(new: Operation) -> SSAValue:
        new.location = location
        block.insert_op_before(new, op)
        return new.results[0]

    def shuffle(first: SSAValue, second: SSAValue, lanes: Sequence[int]) -> SSAValue:
        mask = DenseArrayBase.from_list(i64, list(lanes))
        type_ = vector_type(element, len(lanes))
        return put(vector.ShuffleOp.create(operands=[first, second], result_types=[type_], properties={"mask": mask}))

    row_type = vector_type(element, _SIDE)
    dim, inside = _lane_dim(op), _lanes_read(op)
    assert dim is not None
    assert inside is not None
    start, apart = op.map.data.results, op.step // known(buffer_of(op.buffer).strides[dim])
    rows: list[SSAValue] = []
    for lane in range(width):
        if lane < inside:
            point = (*start[:dim], start[dim] + lane * apart, *start[dim + 1 :])
            map_ = affine_map(op.map.data.num_dims, point)
            rows.append(put(LoadOp.make(op.buffer, map_, op.indices, type=row_type)))
        else:
            rows.append(put(constant(_number(op), row_type, location)))
    quarters: list[SSAValue] = []
    for first in range(_SIDE):
        parts = rows[first::_SIDE]
        while len(parts) > 1:
            size = 2 * _SIDE * (width // _SIDE // len(parts))
            parts = [shuffle(a, b, range(size)) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        quarters += parts
    a, b, c, d = quarters
    low, high = _interleaved(width, 1, 0), _interleaved(width, 1, 2)
    pairs = [(shuffle(a, b, lanes), shuffle(c, d, lanes)) for lanes in (low, high)]
    low, high = _interleaved(width, 2, 0), _interleaved(width, 2, 2)
    return [shuffle(x, y, lanes) for x, y in pairs for lanes in (low, high)]


def _number(op: Reader) -> Attribute:
    """Return the number that a masked load has in lanes that it does not read."""
    assert isinstance(op, MaskedLoadOp)
    value = op.otherwise
    return next(iter(value.get_attrs())) if isinstance(value, DenseIntOrFPElementsAttr) else value


def _interleaved(width: int, run: int, first: int) -> list[int]:
    """`run` elements of one vector and then of another, by turns, from element `first` of each part of both."""
    lanes: list[int] = []
    for part in range(0, width, _SIDE):
        for at in range(first, first + 2, run):
            for side in (0, width):
                lanes += range(side + part + at, side + part + at + run)
    return lanes


@dataclass(frozen=True)
class TirTransposeLoadsPass(ModulePass):
    """Reads rows and transposes them in registers, where a loop reads vectors that lie across the memory's order.

    Before: kernels with vectors. After: an innermost loop, in which a load of 4, 8 or 16 lanes of 4
    bytes has a stride of at least 4 and the next iteration reads the elements beside, does 4 iterations in one: it
    loads 4 elements for each lane and shuffles them into what the 4 iterations read, with a fraction of the
    instructions. A loop of the iterations that are left, fewer than 4, follows. Loads with guards, with masks other
    than of the first lanes, from buffers that the loop writes, and with a long stride that is no multiple of 4 stay as
    they are.
    Locations: rows and shuffles have those of the load that they stand for, copies those of what they copy.

    ```mlir
    tir.for %i in 8 {
      %0 = tir.load %a[%i] stride 8 : !tir.buffer<32xf32> -> vector<4xf32>
      tir.store %0, %b[%i * 4] : vector<4xf32>, !tir.buffer<32xf32>
    }
    // becomes
    tir.for %i in 2 {
      %0 = tir.load %a[%i * 4] : !tir.buffer<32xf32> -> vector<4xf32>
      %1 = tir.load %a[%i * 4 + 8] : !tir.buffer<32xf32> -> vector<4xf32>
      %2 = tir.load %a[%i * 4 + 16] : !tir.buffer<32xf32> -> vector<4xf32>
      %3 = tir.load %a[%i * 4 + 24] : !tir.buffer<32xf32> -> vector<4xf32>
      %4 = vector.shuffle %0, %1 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
      %5 = vector.shuffle %2, %3 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
      %6 = vector.shuffle %0, %1 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
      %7 = vector.shuffle %2, %3 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
      %8 = vector.shuffle %4, %5 [0, 1, 4, 5] : vector<4xf32>, vector<4xf32>
      %9 = vector.shuffle %4, %5 [2, 3, 6, 7] : vector<4xf32>, vector<4xf32>
      %10 = vector.shuffle %6, %7 [0, 1, 4, 5] : vector<4xf32>, vector<4xf32>
      %11 = vector.shuffle %6, %7 [2, 3, 6, 7] : vector<4xf32>, vector<4xf32>
      tir.store %8, %b[%i * 16] : vector<4xf32>, !tir.buffer<32xf32>
      tir.store %9, %b[%i * 16 + 4] : vector<4xf32>, !tir.buffer<32xf32>
      tir.store %10, %b[%i * 16 + 8] : vector<4xf32>, !tir.buffer<32xf32>
      tir.store %11, %b[%i * 16 + 12] : vector<4xf32>, !tir.buffer<32xf32>
    }
    ```
    """

    name = "tir-transpose-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
