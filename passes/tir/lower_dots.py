"""Products of words of numbers as the instructions that some machines have for them; a part of tir-lower-intrin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    VectorType,
    bf16,
    f32,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.affine import simplify
from ...dialects.tir import CallExternOp, CastOp, Dot2Op, Dot4Op, DotBf16Op, LoadOp, PrimFuncOp, buffer_of
from ...dialects.tir.lanes import lanes, scalar_type
from ...provenance.rewrite import rewrite
from ...provenance.walk import walk
from .analysis.identities import number_of
from .rewriting.constants import constant

_BITS = {4: 128, 8: 256, 16: 512}
"""Lanes of int32 -> bits of the vectors that the instruction takes."""
_DROPPED = 31
"""Bits that a product of numbers between -1 and 1 has too many."""
_ANY = (-(1 << 40), 1 << 40)
"""The range of an index of which nothing is known."""
_NIBBLE = 28
"""The bits of a word beside four."""
_WIDEST = 16
"""Lanes of int32 of AVX-512."""
_PMADDWD = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}
_VPDPBUSD = {count: f"llvm.x86.avx512.vpdpbusd.{bits}" for count, bits in _BITS.items()}
_SDOT = "llvm.aarch64.neon.sdot.v4i32.v16i8"
_NEON = 4
"""Lanes of int32 of AArch64."""
_PMADDUBSW = {4: "ssse3.pmadd.ub.sw.128", 8: "avx2.pmadd.ub.sw", 16: "avx512.pmaddubs.w.512"}
_LARGEST_PAIR = (1 << 15) - 1
"""The largest int16."""


@dataclass
class DotOntoSum(RewritePattern):
    """`sum + tir.dot4 a, b` is `vpdpbusd sum, a, b`, or, with `signed`, `sdot` if the bytes of `a` are small."""

    signed: bool
    reason = "the machine has an instruction for it"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /) -> None:
        for total, product in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            dot = product.owner
            count = (lanes(product.type) or (0,))[0]
            if isinstance(dot, Dot4Op) and product.has_one_use() and self.fits(count, dot):
                words = [vector.BitcastOp(word, VectorType(i8, [4 * count])) for word in (dot.first, dot.second)]
                arguments: list[SSAValue] = [total, *(word.result for word in words)]
                call = CallExternOp(_SDOT if self.signed else _VPDPBUSD[count], arguments, [product.type])
                ops: list[Operation] = [*words, call]
                rewriter.replace(op, ops, [call.outputs[0]])
                rewriter.erase(dot)
                return

    def fits(self, count: int, dot: Dot4Op) -> bool:
        """Return whether the instruction takes so many lanes, and these bytes."""
        return count == _NEON and _most(dot.first) > 0 if self.signed else count in _VPDPBUSD


def _appending(ops: list[Operation]) -> Callable[..., SSAValue]:
    """Return a function that builds an op, appends it and returns its result."""

    def add(kind: Callable[..., Operation], *operands: Any) -> SSAValue:
        ops.append(kind(*operands))
        return ops[-1].results[0]

    return add


@dataclass
class DotsOfSmallBytes(RewritePattern):
    """Sums of several `tir.dot4` whose first bytes are small are made in int16, of which `pmaddwd` adds up pairs.

    `pmaddubsw` cuts off sums of two products that are no int16; the masks of the first bytes say how many sums are one.
    """

    lanes: int
    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /) -> None:
        count = (lanes(op.result.type) or (0,))[0]
        outer = op.result.get_user_of_unique_use()
        if count > self.lanes or count not in _PMADDWD or isinstance(outer, arith.AddiOp):
            return
        sums, dots, terms = _terms(op)
        if not dots:
            return
        pairs, bytes_ = VectorType(i16, [2 * count]), VectorType(i8, [4 * count])
        ops: list[Operation] = [ones := constant(IntegerAttr(1, i16), pairs, op.location)]
        add = _appending(ops)
        group: SSAValue | None = None
        room = 0
        for dot, most in dots:
            words = [add(vector.BitcastOp, word, bytes_) for word in (dot.first, dot.second)]
            product = add(CallExternOp, f"llvm.x86.{_PMADDUBSW[count]}", words, [pairs])
            if group is not None and most <= room:
                group, room = add(arith.AddiOp, group, product), room - most
                continue
            if group is not None:
                terms.append(add(CallExternOp, f"llvm.x86.{_PMADDWD[count]}", [group, ones.result], [op.result.type]))
            group, room = product, _LARGEST_PAIR - most
        total = add(CallExternOp, f"llvm.x86.{_PMADDWD[count]}", [group, ones.result], [op.result.type])
        for term in terms:
            total = add(arith.AddiOp, total, term)
        rewriter.replace(op, ops, [total])
        for old in (*sums[1:], *(dot for dot, _ in dots)):
            rewriter.erase(old)


def _terms(op: arith.AddiOp) -> tuple[list[Operation], list[tuple[Dot4Op, int]], list[SSAValue]]:
    """The sums that a sum is made of, itself first; the dots of small bytes in them, with `_most`; the other terms."""
    sums, dots, others = list[Operation]([op]), list[tuple[Dot4Op, int]](), list[SSAValue]()
    for total in sums:
        for term in total.operands:
            inner = term.owner if term.has_one_use() else None
            if isinstance(inner, arith.AddiOp):
                sums.append(inner)
            elif isinstance(inner, Dot4Op) and (most := _most(inner.first)):
                dots.append((inner, most))
            else:
                others.append(term)
    return sums, dots[::-1], others


def _most(bytes_: SSAValue) -> int:
    """The largest sum of two products of such bytes and signed ones; 0 if it may be no int16, so of bytes above 127."""
    mask = number_of(bytes_.owner.rhs) if isinstance(bytes_.owner, arith.AndIOp) else None
    if not isinstance(mask, int):
        return 0
    most = 2 * 128 * max(mask.to_bytes(4, "little", signed=mask < 0))
    return most if most <= _LARGEST_PAIR else 0


@dataclass
class DotOfBytes(RewritePattern):
    """Other `tir.dot4 a, b` of vectors are two `pmaddwd`: of the even bytes of each word, and of the odd ones."""

    lanes: int
    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Dot4Op, rewriter: PatternRewriter, /) -> None:
        count = (lanes(op.result.type) or (0,))[0]
        if count > self.lanes or count not in _PMADDWD:
            return
        pairs = VectorType(i16, [2 * count])
        ops: list[Operation] = [byte := constant(IntegerAttr(8, i16), pairs, op.location)]
        add = _appending(ops)
        sides = [
            (add(vector.BitcastOp, word, pairs), widen)
            for word, widen in ((op.first, arith.ShRUIOp), (op.second, arith.ShRSIOp))
        ]
        even = [add(widen, add(arith.ShLIOp, side, byte.result), byte.result) for side, widen in sides]
        odd = [add(widen, side, byte.result) for side, widen in sides]
        halves = [add(CallExternOp, f"llvm.x86.{_PMADDWD[count]}", half, [op.result.type]) for half in (even, odd)]
        rewriter.replace(op, ops, [add(arith.AddiOp, *halves)])


def half_load(value: SSAValue) -> LoadOp | None:
    """The load of the 16 bits that a word is made of."""
    bits = value.owner.operands[0].owner if isinstance(value.owner, arith.ExtSIOp) else None
    load = bits.operands[0].owner if isinstance(bits, arith.BitcastOp) else None
    return load if isinstance(load, LoadOp) and load.guard is None and not lanes(load.result.type) else None


class WordOfNeighbours(RewritePattern):
    """A word of two numbers that lie side by side in memory is one load.

    LLVM sees it only where both addresses have one base, which they lack in large tiles.
    """

    reason = "both are in one word of memory"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.OrIOp, rewriter: PatternRewriter, /) -> None:
        lower, upper = op.lhs.owner, op.rhs.owner
        if op.result.type != i32 or not isinstance(lower, arith.AndIOp) or not isinstance(upper, arith.ShLIOp):
            return
        first, second = half_load(lower.lhs), half_load(upper.lhs)
        if (number_of(lower.rhs), number_of(upper.rhs)) != (0xFFFF, 16) or first is None or second is None:
            return
        if first.buffer is not second.buffer or tuple(first.indices) != tuple(second.indices):
            return
        (*outer, start), (*others, end) = first.map.data.results, second.map.data.results
        if outer != others or simplify(end - start, [_ANY] * len(first.indices)) != AffineExpr.constant(1):
            return
        pair = LoadOp.make(
            first.buffer, first.map.data, first.indices, type=VectorType(buffer_of(first.buffer).element_type, [2])
        )
        word = vector.BitcastOp(pair.result, VectorType(i32, [1]))
        rewriter.replace(op, [pair, word, vector.ExtractOp(word.result, [0], i32)])


class DotOntoFloats(RewritePattern):
    """`sum + tir.dot2_bf16 a, b` is `vdpbf16ps sum, a, b`."""

    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddfOp, rewriter: PatternRewriter, /) -> None:
        for total, product in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            dot = product.owner
            count = (lanes(product.type) or (0,))[0]
            if isinstance(dot, DotBf16Op) and product.has_one_use() and count in _BITS:
                halves = [vector.BitcastOp(word, VectorType(bf16, [2 * count])) for word in (dot.first, dot.second)]
                arguments: list[SSAValue] = [total, *(half.result for half in halves)]
                call = CallExternOp(f"llvm.x86.avx512bf16.dpbf16ps.{_BITS[count]}", arguments, [product.type])
                rewriter.replace(op, [*halves, call], [call.outputs[0]])
                rewriter.erase(dot)
                return


@dataclass
class DotOfPairs(RewritePattern):
    """`tir.dot2 a, b` of vectors is `pmaddwd a, b`. LLVM finds it too, but not where some lanes are not used."""

    lanes: int
    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Dot2Op, rewriter: PatternRewriter, /) -> None:
        count = (lanes(op.result.type) or (0,))[0]
        if count > self.lanes or count not in _PMADDWD:
            return
        words = [vector.BitcastOp(word, VectorType(i16, [2 * count])) for word in (op.first, op.second)]
        call = CallExternOp(f"llvm.x86.{_PMADDWD[count]}", [word.result for word in words], [op.result.type])
        rewriter.replace(op, [*words, call], [call.outputs[0]])


class NibblesToFloats(RewritePattern):
    """`sitofp ((x << c) >> 28)` of vectors, four bits as a signed number, is looked up in a register of all 16."""

    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        down = op.source.owner
        if op.kind.data != "sitofp" or op.result.type != VectorType(f32, [16]) or not isinstance(down, arith.ShRSIOp):
            return
        up = down.lhs.owner
        if number_of(down.rhs) != _NIBBLE or not isinstance(up, arith.ShLIOp) or not down.result.has_one_use():
            return
        table = DenseIntOrFPElementsAttr.from_list(VectorType(f32, [16]), [*map(float, range(8)), *range(-8, 0)])
        # The lowest four bits of each index count.
        ops: list[Operation] = [left := arith.SubiOp(down.rhs, up.rhs), index := arith.ShRUIOp(up.lhs, left)]
        ops.append(numbers := arith.ConstantOp(table))
        ops.append(
            call := CallExternOp("llvm.x86.avx512.permvar.sf.512", [numbers.result, index.result], [op.result.type])
        )
        rewriter.replace(op, ops, [call.outputs[0]])
        rewriter.erase(down)
        if up.result.first_use is None:
            rewriter.erase(up)


class HighProduct(RewritePattern):
    """`(a * b + c) >> 31` of words, computed in 64 bits, has the products of every other lane, which lie in place.

    LLVM has those of one half and of the other, whose lanes it widens, and narrows again.
    """

    reason = DotOntoSum.reason

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        chain: list[Operation] = [op]
        for kind in (arith.ShRSIOp, arith.AddiOp, arith.MuliOp):
            inner = chain[-1].operands[0]
            if not isinstance(inner.owner, kind) or not inner.has_one_use():
                return
            chain.append(inner.owner)
        _, shifted, total, product = chain
        casts = [value.owner for value in product.operands if isinstance(value.owner, CastOp)]
        words = [cast.source for cast in casts if cast.kind.data == "extsi"]
        narrow = op.result.type
        count = (lanes(narrow) or (0,))[0]
        if count not in _BITS or number_of(shifted.operands[1]) != _DROPPED:
            return
        if [word.type for word in words] != [narrow, narrow] or scalar_type(narrow) != i32:
            return
        wide = VectorType(i64, [count // 2])
        ops: list[Operation] = []
        add = _appending(ops)

        def number(value: int) -> SSAValue:
            ops.append(constant(IntegerAttr(value, i64), wide, op.location))
            return ops[-1].results[0]

        def every_other(value: SSAValue, start: int) -> SSAValue:
            mask = DenseArrayBase.from_list(i64, range(start, count, 2))
            ops.append(vector.ShuffleOp.create(operands=[value] * 2, properties={"mask": mask}, result_types=[wide]))
            return ops[-1].results[0]

        word = number(i32.bitwidth)
        pairs = [add(vector.BitcastOp, each, wide) for each in words]
        low = [add(arith.ShRSIOp, add(arith.ShLIOp, pair, word), word) for pair in pairs]
        high = [add(arith.ShRSIOp, pair, word) for pair in pairs]
        added = number_of(total.operands[1])
        halves = (
            [number(int(added))] * 2 if added is not None else [every_other(total.operands[1], at) for at in (0, 1)]
        )
        low_sum, high_sum = (
            add(arith.AddiOp, add(arith.MuliOp, *side), half) for side, half in zip((low, high), halves, strict=True)
        )
        parts = [
            add(vector.BitcastOp, add(kind, side, number(by)), narrow)
            for kind, side, by in (
                (arith.ShRUIOp, low_sum, _DROPPED),
                (arith.ShLIOp, high_sum, i32.bitwidth - _DROPPED),
            )
        ]
        places = [lane + count * (lane % 2) for lane in range(count)]
        ops.append(
            vector.ShuffleOp.create(
                operands=parts, properties={"mask": DenseArrayBase.from_list(i64, places)}, result_types=[narrow]
            )
        )
        rewriter.replace(op, ops, ops[-1].results)
        for old in chain[1:]:
            rewriter.erase(old)


def run(func: PrimFuncOp, *, vnni: bool, sdot: bool, pmaddwd: int, bf16_dots: bool) -> None:
    """Let one kernel use the instructions, in place. pmaddwd: the most lanes of that."""
    kinds = {type(op) for op in walk(func)}
    if pmaddwd == _WIDEST and arith.ShRSIOp in kinds:
        rewrite(func.body, [NibblesToFloats()], recursive=False)
    if pmaddwd and arith.MuliOp in kinds:
        rewrite(func.body, [HighProduct()], recursive=False)
    if (vnni or sdot) and Dot4Op in kinds:
        rewrite(func.body, [DotOntoSum(signed=sdot)], recursive=False)
    if pmaddwd and not vnni and Dot4Op in kinds:
        rewrite(func.body, [DotsOfSmallBytes(pmaddwd)], recursive=False)
        rewrite(func.body, [DotOfBytes(pmaddwd)], recursive=False)
    if DotBf16Op in kinds:
        rewrite(func.body, [WordOfNeighbours()], recursive=False)
    if bf16_dots and DotBf16Op in kinds:
        rewrite(func.body, [DotOntoFloats()], recursive=False)
    if pmaddwd and Dot2Op in kinds:
        rewrite(func.body, [DotOfPairs(pmaddwd)], recursive=False)
