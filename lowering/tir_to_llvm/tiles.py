"""Products of tiles in registers: the intrinsics of AMX, which take the numbers of the registers."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, VectorType, i8
from xdsl.ir import Operation, SSAValue

from ...dialects.tir import (
    TileConfigOp,
    TileDotOp,
    TileLoadOp,
    TileStoreOp,
    TileZeroOp,
    buffer_of,
    element_bytes,
)
from ...dialects.tir.tiles import WORD, TileOp
from .constants import address
from .context import Handler, Lowering
from .indexing import Indices
from .memory import Access

_PALETTE = 1
"""The configuration in which registers have 16 rows of 64 bytes at most."""
_CONFIG = 64
"""The bytes of a configuration."""
_WIDTHS, _HEIGHTS = 16, 48
"""The offsets of two bytes for the width of each register, and of one for its rows."""
_DOTS = {"bf16": "tdpbf16ps", "u8s8": "tdpbusd"}


def configuration(op: TileConfigOp) -> bytes:
    """The bytes that `ldtilecfg` reads."""
    data = bytearray(_CONFIG)
    data[0] = _PALETTE
    for number, (rows, words) in enumerate(op.shapes):
        data[_WIDTHS + 2 * number] = words * WORD
        data[_HEIGHTS + number] = rows
    return bytes(data)


def configure(ctx: Lowering, op: Operation) -> None:
    """Emit a configuration, unless it is the one that was emitted last, before the loop around."""
    assert isinstance(op, TileConfigOp)
    if ctx.frame.tiles is op:
        return
    ctx.frame.tiles = op
    type_ = VectorType(i8, [_CONFIG])
    bytes_ = DenseIntOrFPElementsAttr.from_list(type_, [*configuration(op)])
    ctx.intrinsic("llvm.x86.ldtilecfg", (address(ctx, bytes_, i8, _CONFIG),), None)


def _registers(ctx: Lowering, op: TileOp) -> list[SSAValue]:
    return [ctx.constant(IntegerAttr(number, i8), i8) for number in op.numbers]


def _zero(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, TileZeroOp)
    ctx.intrinsic("llvm.x86.tilezero", _registers(ctx, op), None)


def _dot(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, TileDotOp)
    ctx.intrinsic(f"llvm.x86.{_DOTS[op.kind.data]}", _registers(ctx, op), None)


def _move(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, TileLoadOp | TileStoreOp)
    pointer = Access(ctx, op, Indices(ctx, op.indices)).pointer()
    apart = ctx.index(op.rows_apart * element_bytes(buffer_of(op.buffer).element_type))
    name = "tileloadd64" if isinstance(op, TileLoadOp) else "tilestored64"
    ctx.intrinsic(f"llvm.x86.{name}", (*_registers(ctx, op), pointer, apart), None)


TILES: Mapping[type[Operation], Handler] = {
    TileConfigOp: configure,
    TileZeroOp: _zero,
    TileLoadOp: _move,
    TileDotOp: _dot,
    TileStoreOp: _move,
}
