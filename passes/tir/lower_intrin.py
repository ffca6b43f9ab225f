"""tir-lower-intrin: elementary functions as arithmetic, where LLVM would call the C library lane by lane."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.math import FmaOp
from xdsl.passes import ModulePass

from ...dialects.tir import PrimFuncOp, prim_funcs
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from . import join_loads, lower_dots, round_to_integers


def run(
    func: PrimFuncOp,
    *,
    vnni: bool = False,
    sdot: bool = False,
    pmaddwd: int = 0,
    dot_bf16: bool = False,
    flush: bool = False,
) -> None:
    """Expand the functions of one kernel, in place.

    vnni: the machine multiplies bytes and adds four products at once.
    sdot: it does so with four lanes, of signed bytes.
    pmaddwd: the most sums, each of two products of int16, that it makes at once.
    dot_bf16: it adds two products of bfloat16 at once to a sum.
    flush: results smaller than the smallest normal number may be 0.
    """
    join_loads.run(func)
    if vnni or sdot or pmaddwd or dot_bf16:
        lower_dots.run(func, vnni=vnni, sdot=sdot, pmaddwd=pmaddwd, bf16_dots=dot_bf16)
    if pmaddwd:
        round_to_integers.run(func, pmaddwd)
    if any(op.name.startswith("math.") and not isinstance(op, FmaOp) for op in walk(func)):
        from .elementary.expand import ExpandIntrin

        rewrite(func.body, [ExpandIntrin(flush)], recursive=False)


@dataclass(frozen=True)
class TirLowerIntrinPass(ModulePass):
    """Writes out the elementary functions of floats, those of `intrin_formulas.FORMULAS`.

    Before: any kernels. After: none of these ops is left on f32, f16 or bf16, or on vectors of them: each stands as
    arithmetic, comparisons and roots, which have vector forms everywhere. Half precision is computed in f32. Ops of f64
    stay; LLVM calls the C library for them.
    With `vnni` a sum that a `tir.dot4` is added to is one instruction, `vpdpbusd`; a `tir.dot2` of up to as many lanes
    as `pmaddwd` says is one of that name, and high halves of products of words come of every other lane (`pmuldq`).
    Without `vnni` a `tir.dot4` of so many lanes is two `pmaddwd`, or `pmaddubsw` where masks show that no sum is cut.
    With `sdot` a sum is that instruction where a `tir.dot4` of four lanes whose first bytes masks make small is added.
    With `dot_bf16` a sum that a `tir.dot2_bf16` is added to is `vdpbf16ps`.
    A `tir.join_bytes` of loads of neighbours is a load of words, of vectors of these a load and a shuffle. With any
    `pmaddwd` rounding to even and converting to integers is one instruction.
    With `flush` exponentials take fewer ops, and those smaller than the smallest normal number are 0.
    Locations: all ops of a function are located at it.

    ```mlir
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> f32
    %1 = math.asin %0 : f32
    tir.store %1, %b[0] : f32, !tir.buffer<4xf32>
    // becomes
    %0 = tir.load %a[0] : !tir.buffer<4xf32> -> f32
    %magnitude = math.absf %0 : f32
    ..
    %1 = math.copysign %arc, %0 : f32
    tir.store %1, %b[0] : f32, !tir.buffer<4xf32>
    ```
    """

    name = "tir-lower-intrin"
    vnni: bool = False
    sdot: bool = False
    pmaddwd: int = 0
    dot_bf16: bool = False
    flush: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(
                func,
                vnni=self.vnni,
                sdot=self.sdot,
                pmaddwd=self.pmaddwd,
                dot_bf16=self.dot_bf16,
                flush=self.flush,
            )
