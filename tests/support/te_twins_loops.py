"""Twins of the files of loops that read indices and compute numbers of many kinds: their ops made one by one."""

from __future__ import annotations

from text_twins import twin
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, f32, i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from whence.dialects.tir import BufferType, CallExternOp, ForOp, IndexOp, LoadOp, PrimFuncOp, StoreOp
from whence.provenance.builder import LocatedBuilder

POINT = AffineMap(1, 0, (AffineDimExpr(0),))


def _kernel(name: str, outputs: int, **buffers: tuple[int, Attribute]) -> tuple[PrimFuncOp, LocatedBuilder]:
    types = [BufferType.of((size,), element) for size, element in buffers.values()]
    func = PrimFuncOp(name, types, outputs)
    for argument, hint in zip(func.block.args, buffers, strict=True):
        argument.name_hint = hint
    return func, LocatedBuilder(func.block)


def _constant(builder: LocatedBuilder, value: float, name: str) -> arith.ConstantOp:
    made = builder.add(arith.ConstantOp(FloatAttr(value, f32)))
    made.result.name_hint = name
    return made


@twin
def tir_bounds() -> PrimFuncOp:
    func, builder = _kernel("scatter", 1, at=(8, i32), y=(64, f32))
    at, y = func.block.args
    one = _constant(builder, 1.0, "one").result
    loop = builder.add(ForOp.make(8, "serial", "i"))
    with builder.at(loop.block):
        place = builder.add(LoadOp.make(at, POINT, [loop.var])).result
        index = builder.add(arith.IndexCastOp(place, IndexType())).result
        builder.add(StoreOp.make(one, y, POINT, [index]))
    return func


@twin
def tir_expressions() -> PrimFuncOp:
    func, builder = _kernel("numbers", 2, x=(8, f32), n=(8, i32), y=(8, f32))
    x, n, y = func.block.args
    zero = _constant(builder, 0.0, "zero").result
    loop = builder.add(ForOp.make(8, "serial", "i"))
    odd: AffineExpr = AffineDimExpr(0) * 2 + 1
    with builder.at(loop.block):
        number = builder.add(LoadOp.make(x, POINT, [loop.var])).result
        whole = builder.add(arith.FPToSIOp(number, i32)).result
        index = builder.add(IndexOp.make(AffineMap(1, 0, (odd,)), [loop.var])).result
        cast = builder.add(arith.IndexCastOp(index, i32)).result
        total = builder.add(arith.AddiOp(whole, cast)).result
        builder.add(StoreOp.make(total, n, POINT, [loop.var]))
        positive = builder.add(arith.CmpfOp(number, zero, "ogt")).result
        angle = builder.add(math.AsinOp(number)).result
        power = builder.add(CallExternOp("expf", [number], [f32])).results[0]
        chosen = builder.add(arith.SelectOp(positive, angle, power)).result
        builder.add(StoreOp.make(chosen, y, POINT, [loop.var]))
    return func
