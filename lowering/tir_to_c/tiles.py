"""Products of tiles in registers: the intrinsics of AMX, which want the numbers of registers as literals."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from ...dialects.tir import TileConfigOp, TileDotOp, TileLoadOp, TileStoreOp, TileZeroOp, buffer_of, element_bytes
from ..tir_to_llvm.tiles import configuration
from .context import Handler, Printing
from .memory import Place
from .types import c_type

_DOTS = {"bf16": "dpbf16ps", "u8s8": "dpbusd"}


def configure(ctx: Printing, op: Operation) -> None:
    """Print a configuration, unless it is the one that was printed last, before the loop around."""
    assert isinstance(op, TileConfigOp)
    if ctx.function.tiles is op:
        return
    ctx.function.tiles = op
    name = ctx.unused("tile_config")
    bytes_ = configuration(op)
    ctx.emit(f"static const _Alignas(64) uint8_t {name}[{len(bytes_)}] = {{{', '.join(map(str, bytes_))}}};")
    ctx.emit(f"_tile_loadconfig({name});")


def _zero(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, TileZeroOp)
    ctx.emit(f"_tile_zero({op.numbers[0]});")


def _dot(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, TileDotOp)
    ctx.emit(f"_tile_{_DOTS[op.kind.data]}({', '.join(map(str, op.numbers))});")


def _move(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, TileLoadOp | TileStoreOp)
    type_ = buffer_of(op.buffer)
    place = Place(ctx, op, c_type(op, type_.element_type)).at()
    apart = op.rows_apart * element_bytes(type_.element_type)
    name = "loadd" if isinstance(op, TileLoadOp) else "stored"
    # gcc's intrinsics do not say that they read memory.
    ctx.emit("WHENCE_TILE_FENCE")
    ctx.emit(f"_tile_{name}({op.numbers[0]}, &{place}, {apart});")


TILES: Mapping[type[Operation], Handler] = {
    TileConfigOp: configure,
    TileZeroOp: _zero,
    TileLoadOp: _move,
    TileDotOp: _dot,
    TileStoreOp: _move,
}
