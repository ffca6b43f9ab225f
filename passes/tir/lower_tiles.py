"""tir-lower-tiles: products of tiles as products of vectors, for machines that have no registers for tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass

from ...dialects.element_types import stored_type
from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import (
    INDEX,
    AllocConstOp,
    AllocOp,
    BufferType,
    CallExternOp,
    Dot4Op,
    DotBf16Op,
    ForOp,
    IfOp,
    LoadOp,
    PrimFuncOp,
    StoreOp,
    TileConfigOp,
    TileDotOp,
    TileLoadOp,
    TileStoreOp,
    TileZeroOp,
    buffer_of,
    element_bytes,
    prim_funcs,
)
from ...dialects.tir.tiles import SUMS, WORD, TileAccess, TileOp
from ...provenance.diagnostics import fail
from ...provenance.span import fuse
from ...provenance.walk import walk
from ...runtime.program.program import TILES_ALLOWED
from .rewriting.constants import constant, vector_type
from .rewriting.ops import record

_Registers: TypeAlias = Mapping[int, SSAValue]
"""The buffers that stand for registers."""
_Op = TypeVar("_Op", bound=Operation)
_ROW, _WORD, _FIRST = AffineDimExpr(0), AffineDimExpr(1), AffineConstantExpr(0)


def run(func: PrimFuncOp, if_refused: bool = False) -> None:
    """Lower the tiles of one kernel, in place. Raises VerifyException about one that does not fit its configuration.

    if_refused: the kernel has both, and asks if it may use tiles.
    """
    configurations = [op for op in walk(func) if isinstance(op, TileConfigOp)]
    if if_refused and configurations:
        _lower_block(_otherwise(func, configurations), {})
    else:
        _lower_block(func.block, {})


def _otherwise(func: PrimFuncOp, configurations: Sequence[TileConfigOp]) -> Block:
    """Put the code of a kernel into a branch where tiles are allowed; gives the block of a copy of it for elsewhere."""
    location = fuse([op.location for op in configurations])
    moved = [op for op in func.block.ops if not isinstance(op, AllocOp | AllocConstOp)]
    asked = CallExternOp(TILES_ALLOWED, [], [i32])
    allowed = arith.IndexCastOp(asked.outputs[0], INDEX)
    branch = IfOp.make(affine_map(1, (AffineDimExpr(0) - 1,)), [allowed.result], orelse=True)
    for op in (asked, allowed, branch):
        op.location = location
        func.block.add_op(op)
    assert branch.orelse is not None
    copies: dict[SSAValue, SSAValue] = {}
    for op in moved:
        op.detach()
        branch.block.add_op(op)
        branch.orelse.block.add_op(op.clone(copies))
    record("Branch", branch, "tiles may be refused", [asked, allowed, branch], gone=False)
    return branch.orelse.block


def _lower_block(block: Block, registers: _Registers) -> None:
    for op in list(block.ops):
        if isinstance(op, TileConfigOp):
            registers = _buffers(op)
        elif isinstance(op, TileOp):
            _lower(op, registers)
        for region in op.regions:
            for inner in region.blocks:
                _lower_block(inner, registers)


def _buffers(op: TileConfigOp) -> _Registers:
    """Put buffers for registers in the place of their configuration."""
    registers: dict[int, SSAValue] = {}
    made: list[Operation] = []
    assert op.parent is not None
    for number, shape in enumerate(op.shapes):
        if 0 not in shape:
            buffer = AllocOp(BufferType.of(shape, i32, "local"))
            buffer.location = op.location
            buffer.result.name_hint = f"tile{number}"
            op.parent.insert_op_before(buffer, op)
            registers[number] = buffer.result
            made.append(buffer)
    record("Lower", op, "a buffer stands for each register", made)
    op.detach()
    op.erase()
    return registers


class _Loops:
    """The loops that stand for an op."""

    def __init__(self, op: TileOp):
        self._op = op
        self._block: Block | None = None
        self.made: list[Operation] = []
        self.vars: list[SSAValue] = []

    def put(self, op: _Op) -> _Op:
        op.location = self._op.location
        if self._block is not None:
            self._block.add_op(op)
        else:
            assert self._op.parent is not None
            self._op.parent.insert_op_before(op, self._op)
        self.made.append(op)
        return op

    def over(self, extent: int, name: str) -> None:
        loop = self.put(ForOp.make(extent, "serial", name))
        self._block = loop.block
        self.vars.append(loop.var)

    def load(self, buffer: SSAValue, point: Sequence[AffineExpr], type_: Attribute, *, stride: int = 1) -> SSAValue:
        return self.put(
            LoadOp.make(buffer, affine_map(len(self.vars), tuple(point)), self.vars, type=type_, stride=stride)
        ).result

    def store(self, value: SSAValue, buffer: SSAValue, point: Sequence[AffineExpr]) -> None:
        self.put(StoreOp.make(value, buffer, affine_map(len(self.vars), tuple(point)), self.vars))


def _lower(op: TileOp, registers: _Registers) -> None:
    for number, shape in _shapes(op):
        if number not in registers or buffer_of(registers[number]).get_shape() != shape:
            found = f"one of {buffer_of(registers[number]).get_shape()}" if number in registers else "none"
            fail(op, f"a configuration before it that gives register {number} the shape {shape}", found)
    loops = _Loops(op)
    buffers = [registers[number] for number in op.numbers]
    rows, words, *_ = op.extents
    loops.over(rows, "row")
    if isinstance(op, TileZeroOp):
        type_ = vector_type(i32, words)
        zeros = loops.put(constant(IntegerAttr(0, i32), type_, op.location))
        loops.store(zeros.result, buffers[0], (_ROW, _FIRST))
    elif isinstance(op, TileDotOp):
        _multiply(loops, op, buffers)
    elif isinstance(op, TileAccess):
        _move(loops, op, buffers[0])
    record("Lower", op, "products of vectors", loops.made[:1])
    op.detach()
    op.erase()


def _shapes(op: TileOp) -> list[tuple[int, tuple[int, int]]]:
    """The registers of an op with the rows and words that it says of them."""
    if not isinstance(op, TileDotOp):
        rows, words = op.extents
        return [(op.numbers[0], (rows, words))]
    rows, words, columns = op.extents
    return list(zip(op.numbers, ((rows, columns), (rows, words), (words, columns)), strict=True))


def _multiply(loops: _Loops, op: TileDotOp, buffers: Sequence[SSAValue]) -> None:
    _, words, columns = op.extents
    loops.over(words, "word")
    total, left, right = buffers
    type_ = vector_type(i32, columns)
    sums = vector_type(SUMS[op.kind.data], columns)
    old: SSAValue = loops.load(total, (_ROW, _FIRST), type_)
    factors = loops.load(left, (_ROW, _WORD), type_, stride=0), loops.load(right, (_WORD, _FIRST), type_)
    if op.kind.data == "u8s8":
        new = loops.put(arith.AddiOp(old, loops.put(Dot4Op.create(operands=factors, result_types=[type_])).result))
        loops.store(new.result, total, (_ROW, _FIRST))
        return
    product = loops.put(DotBf16Op.create(operands=factors, result_types=[sums]))
    added = loops.put(arith.AddfOp(loops.put(vector.BitcastOp(old, sums)).result, product.result))
    loops.store(loops.put(vector.BitcastOp(added.result, type_)).result, total, (_ROW, _FIRST))


def _move(loops: _Loops, op: TileAccess, register: SSAValue) -> None:
    """Move a row of a register in each pass of a loop."""
    _, words = op.extents
    type_ = buffer_of(op.buffer)
    element = stored_type(type_.element_type)
    row, inner = vector_type(i32, words), vector_type(element, words * WORD // element_bytes(type_.element_type))
    # Rows are neighbours along the last dimension that reaches from one to the next.
    strides = {dim: stride for dim, stride in enumerate(type_.strides) if isinstance(stride, int)}
    dim = next(dim for dim, stride in strides.items() if op.rows_apart % stride == 0)
    point = list(op.map.data.results)
    first = len(op.indices)
    point[dim] = point[dim] + AffineDimExpr(first) * (op.rows_apart // strides[dim])
    map_, operands = affine_map(first + 1, tuple(point)), [*op.indices, *loops.vars]
    own = (_ROW, _FIRST)
    if isinstance(op, TileLoadOp):
        value = loops.put(LoadOp.make(op.buffer, map_, operands, type=inner)).result
        loops.store(value if inner == row else loops.put(vector.BitcastOp(value, row)).result, register, own)
        return
    assert isinstance(op, TileStoreOp)
    value = loops.load(register, own, row)
    value = value if inner == row else loops.put(vector.BitcastOp(value, inner)).result
    loops.put(StoreOp.make(value, op.buffer, map_, operands))


@dataclass(frozen=True)
class TirLowerTilesPass(ModulePass):
    """Writes out products of tiles as loops over their rows, of vectors.

    Before: kernels in which a `tir.tile_config` stands before the other ops on tiles, in the same block or around.
    After: a local buffer stands for each register of a configuration, and loops over rows of vectors for each op; a
    product loops over words, too, `tir.dot4` or `tir.dot2_bf16` of vectors added to a row. Sums of bytes are the same
    bits as those of the registers; those of bfloat16 are rounded at other places. With `if_refused`, kernels have both:
    they call `whence_tiles_allowed`, and do one or the other.
    Locations: everything has that of the op that it stands for; the question has those of all configurations.

    ```mlir
    tir.tile_config rows [4, 0, 0, 0, 0, 0, 0, 0] words [16, 0, 0, 0, 0, 0, 0, 0]
    tir.tile_zero 0 as [4, 16]
    tir.tile_store 0, %a[0, 0] step 16 as [4, 16] : !tir.buffer<4x16xi32>
    // becomes
    %tile0 = tir.alloc : !tir.buffer<4x16xi32, local>
    tir.for %row in 4 {
      %0 = arith.constant dense<0> : vector<16xi32>
      tir.store %0, %tile0[%row, 0] : vector<16xi32>, !tir.buffer<4x16xi32, local>
    }
    tir.for %row_1 in 4 {
      %1 = tir.load %tile0[%row_1, 0] : !tir.buffer<4x16xi32, local> -> vector<16xi32>
      tir.store %1, %a[%row_1, 0] : vector<16xi32>, !tir.buffer<4x16xi32>
    }
    ```
    """

    name = "tir-lower-tiles"
    if_refused: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func, self.if_refused)
