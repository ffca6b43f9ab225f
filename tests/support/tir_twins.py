"""Twins of the files of loops and buffers: their ops made one by one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from text_twins import twin
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, UnitAttr, VectorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from whence.dialects.tir import AllocOp, BufferType, ForOp, IfOp, LoadOp, PrimFuncOp, StoreOp
from whence.provenance.builder import LocatedBuilder
from whence.provenance.si_builder import SIBuilder
from whence.provenance.span import layer_location

Index = AffineExpr | int


class Loops:
    """A kernel in the making: accesses are indexed by the loops around them, dimension 0 the outermost."""

    def __init__(self, name: str, **shapes: Sequence[int]):
        """The last of the buffers is the output."""
        self.func = PrimFuncOp(name, [BufferType.of(shape, f32) for shape in shapes.values()], 1)
        for argument, hint in zip(self.func.block.args, shapes, strict=True):
            argument.name_hint = hint
        self.builder = LocatedBuilder(self.func.block)
        self.vars: list[SSAValue] = []

    @property
    def buffers(self) -> Sequence[SSAValue]:
        return self.func.block.args

    @contextmanager
    def loop(self, name: str, extent: int, kind: str = "serial", hint: str = "") -> Generator[AffineExpr]:
        loop = self.builder.add(ForOp.make(extent, kind, name))
        if hint:
            loop.attributes[hint] = UnitAttr()
        self.vars.append(loop.var)
        with self.builder.at(loop.block):
            yield AffineDimExpr(len(self.vars) - 1)
        del self.vars[-1]

    @contextmanager
    def when(self, *conditions: AffineExpr, likely: bool = False, orelse: bool = False) -> Generator[IfOp]:
        """A branch on `conditions >= 0`."""
        branch = self.builder.add(IfOp.make(self._map(conditions), self.vars, likely=likely, orelse=orelse))
        with self.builder.at(branch.block):
            yield branch

    def alloc(self, name: str, *shape: int, local: bool = False, double: bool = False) -> SSAValue:
        op = self.builder.add(AllocOp(BufferType.of(shape, f32, "local" if local else "global")))
        if double:
            op.attributes["double_buffer"] = UnitAttr()
        op.result.name_hint = name
        return op.result

    def load(self, buffer: SSAValue, *at: Index, guard: Sequence[AffineExpr] = (), lanes: int = 0) -> SSAValue:
        """An element, or so many of them; 0.0 where the guard fails."""
        type_ = VectorType(f32, [lanes]) if lanes else None
        op = LoadOp.make(
            buffer,
            self._map(at),
            self.vars,
            type=type_,
            guard=self._map(guard) if guard else None,
            otherwise=FloatAttr(0.0, f32) if guard else None,
        )
        return self.builder.add(op).result

    def store(self, value: SSAValue, buffer: SSAValue, *at: Index) -> Operation:
        return self.builder.add(StoreOp.make(value, buffer, self._map(at), self.vars))

    def _map(self, exprs: Sequence[Index]) -> AffineMap:
        found = tuple(AffineConstantExpr(one) if isinstance(one, int) else one for one in exprs)
        return AffineMap(len(self.vars), 0, found)


@twin
def tir_simplify() -> PrimFuncOp:
    kernel = Loops("decided", a=[32], b=[32])
    a, b = kernel.buffers
    with kernel.loop("i", 4) as i, kernel.loop("j", 8) as j, kernel.loop("one", 1) as one:
        value = kernel.load(a, (i * 8 + j) % 32 + one, guard=[j])
        with kernel.when(i * -8 + j * -1 + 31, likely=True):
            kernel.store(value, b, (i * 16 + j * 2) // 2)
        with kernel.when(j - 8):
            kernel.store(value, b, 0)
    return kernel.func


@twin
def tir_partition() -> PrimFuncOp:
    """What is not said to be padding is filled with the sum's layer."""
    kernel = Loops("stencil", a=[16], b=[16])
    a, b = kernel.buffers
    with kernel.loop("i", 16, hint="pragma_loop_partition_hint") as i:
        with kernel.builder.located(layer_location("pad", "net.onnx", 0)):
            left = kernel.load(a, i - 1, guard=[i - 1])
            right = kernel.load(a, i + 1, guard=[i * -1 + 14])
        total = kernel.builder.add(arith.AddfOp(left, right)).result
        kernel.store(total, b, i)
    SIBuilder(layer_location("sum", "net.onnx", 1)).recursively_fill_span(kernel.func, [left, right, *kernel.buffers])
    return kernel.func


@twin
def tir_unroll() -> PrimFuncOp:
    kernel = Loops("outer", x=[8], w=[4], y=[8, 4])
    x, w, y = kernel.buffers
    with kernel.loop("i", 8) as i, kernel.loop("j", 4, "unrolled") as j:
        product = kernel.builder.add(arith.MulfOp(kernel.load(x, i), kernel.load(w, j))).result
        kernel.store(product, y, i, j)
    return kernel.func


@twin
def tir_storage() -> PrimFuncOp:
    kernel = Loops("chain", a=[8], out=[8])
    a, out = kernel.buffers
    t, u, v = (kernel.alloc(name, 8) for name in "tuv")
    with kernel.loop("i", 8) as i:
        kernel.store(kernel.load(a, i), t, i)
    with kernel.loop("j", 8) as j:
        kernel.store(kernel.load(t, j * -1 + 7), u, j)
    with kernel.loop("k", 8) as k:
        kernel.store(kernel.load(u, k * -1 + 7), v, k)
    with kernel.loop("m", 8) as m:
        kernel.store(kernel.load(v, m), out, m)
    return kernel.func


@twin
def tir_hoist() -> PrimFuncOp:
    kernel = Loops("rows", a=[8, 16], b=[8, 16])
    a, b = kernel.buffers
    zero = kernel.builder.add(arith.ConstantOp(FloatAttr(0.0, f32))).result
    zero.name_hint = "zero"
    with kernel.loop("i", 8) as i, kernel.loop("j", 16) as j, kernel.when(i - 2, orelse=True) as branch:
        kernel.store(kernel.load(a, i, j), b, i, j)
        with kernel.builder.at(branch.regions[1].block):
            kernel.store(zero, b, i, j)
    return kernel.func


@twin
def tir_double_buffer() -> PrimFuncOp:
    kernel = Loops("rows", a=[4, 8], b=[4, 8])
    a, b = kernel.buffers
    with kernel.loop("i", 4) as i:
        t = kernel.alloc("t", 8, local=True, double=True)
        with kernel.loop("j", 8) as j:
            kernel.store(kernel.load(a, i, j), t, j)
        with kernel.loop("k", 8) as k:
            kernel.store(kernel.load(t, k), b, i, k)
    return kernel.func


@twin
def tir_vectorize() -> PrimFuncOp:
    kernel = Loops("lanes", a=[64], b=[128], s=[1], c=[64])
    a, b, s, c = kernel.buffers
    with kernel.loop("i", 4) as i, kernel.loop("j", 16, "vectorized") as j:
        loads = kernel.load(a, i * 16 + j), kernel.load(b, i * 32 + j * 2), kernel.load(s, 0)
        product = kernel.builder.add(math.FmaOp(loads[0], loads[2], loads[1])).result
        kernel.store(product, c, i * -16 + j * -1 + 63)
    return kernel.func


@twin
def tir_parallel() -> PrimFuncOp:
    kernel = Loops("rows", x=[32, 8], y=[32, 8])
    x, y = kernel.buffers
    with kernel.loop("i", 32, "parallel") as i:
        t = kernel.alloc("t", 8, local=True)
        kernel.store(kernel.load(x, i, 0, lanes=8), t, 0)
        with kernel.loop("j", 8) as j:
            kernel.store(kernel.load(t, j * -1 + 7), y, i, j)
    return kernel.func
