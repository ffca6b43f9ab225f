"""tir-common-subexpr-elimination: what is computed or read already is not computed or read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.tir import UNBOUNDED, CallExternOp, IndexOp, LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir.index_maps import Ranges, Reader, Writer, blocks_of, simplify_maps, view
from ...dialects.tir.masked import MaskedLoadOp
from ...provenance.ledger import current_ledger
from ...provenance.span import fuse
from .analysis.canonical import canonical


def run(func: PrimFuncOp) -> None:
    """Merge the equal ops of one kernel, in place."""
    written = {op.buffer for op in func.walk() if isinstance(op, Writer)}
    reads = Counter(_what(op) for op in func.walk() if isinstance(op, LoadOp | MaskedLoadOp | IndexOp))
    called = {value for op in func.walk() if isinstance(op, CallExternOp) for value in op.arguments}
    _Merge(written | called, reads).func(func)


def _what(op: LoadOp | MaskedLoadOp | IndexOp) -> Hashable:
    """What equal reads agree in, and what is told in no time."""
    return (op.buffer if isinstance(op, Reader) else None, op.result.type)


@dataclass
class _Merge:
    """The ops seen so far in the current block and those around it, by what they compute.

    The driver's own elimination stays within one block and knows no memory; here a block sees what its enclosing
    blocks computed before it.
    """

    written: set[SSAValue]
    """The buffers that the kernel stores to, or may, and other values that do not matter."""
    reads: Counter[Hashable]
    """How many reads there are of each buffer and type: a single one has no twin."""
    known: dict[Hashable, Operation] = field(default_factory=lambda: dict[Hashable, Operation]())
    twins: dict[Operation, list[Operation]] = field(default_factory=lambda: dict[Operation, list[Operation]]())

    def func(self, func: PrimFuncOp) -> None:
        self._block(func.block, {})
        for survivor, twins in self.twins.items():
            _absorb(survivor, twins)

    def _block(self, block: Block, ranges: Ranges) -> None:
        mine: list[Hashable] = []
        for op in list(block.ops):
            match op:
                case _ if (key := self._key(op, ranges)) is not None:
                    if (survivor := self.known.setdefault(key, op)) is op:
                        mine.append(key)
                    else:
                        self._merge(survivor, op)
                case _:
                    for inner, known in blocks_of(op, ranges):
                        self._block(inner, known)
        for key in mine:
            del self.known[key]

    def _key(self, op: Operation, ranges: Ranges) -> Hashable | None:
        """Equal for ops that give equal results; None for ops that must stay."""
        if isinstance(op, LoadOp | MaskedLoadOp | IndexOp):
            if (isinstance(op, Reader) and op.buffer in self.written) or self.reads[_what(op)] < 2:
                return None
            mask = op.mask if isinstance(op, MaskedLoadOp) else None
            return (mask, *_point(op, ranges), *_rest(op, ("map", "guard")))
        if op.regions or not op.results or not op.has_trait(Pure):
            return None
        return (op.operands, *_rest(op, ()))

    def _merge(self, survivor: Operation, twin: Operation) -> None:
        for old, new in zip(twin.results, survivor.results, strict=True):
            old.replace_all_uses_with(new)
        self.twins.setdefault(survivor, []).append(twin)
        twin.detach()


def _rest(op: Operation, skipped: tuple[str, ...]) -> tuple[Hashable, ...]:
    """What else makes two ops equal."""
    parts: list[tuple[str, Attribute]] = [item for item in op.properties.items() if item[0] not in skipped]
    return (type(op), tuple(op.result_types), frozenset(parts), frozenset(op.attributes.items()))


def _point(op: LoadOp | MaskedLoadOp | IndexOp, ranges: Ranges) -> tuple[Hashable, ...]:
    """What an access reads."""
    seen = view(op, ranges)
    simplified = simplify_maps(seen.map, seen.guard, seen.ranges)
    guard = simplified.guard.data.results if simplified.guard is not None else ()
    values = [seen.values[i] for i in simplified.kept]
    extents = [simplified.ranges[i] for i in simplified.kept]
    buffer = op.buffer if isinstance(op, Reader) else None
    # In the ranges that a guard leaves it says nothing any more.
    outside = [ranges.get(value, UNBOUNDED) for value in values]
    where = canonical(values, extents, simplified.map.data.results)
    return buffer, where, canonical(values, outside, guard), simplified.never


def _absorb(survivor: Operation, twins: list[Operation]) -> None:
    before = [survivor.location, *(twin.location for twin in twins)]
    survivor.location = fuse(before)
    if (ledger := current_ledger()) is not None:
        ledger.record(
            "CommonSubexpression",
            removed=[twin.name for twin in twins],
            created=[survivor.name],
            before=before,
            after=[survivor.location],
            reason="equal ops merged",
        )
    for twin in twins:
        twin.erase()


@dataclass(frozen=True)
class TirCommonSubexprEliminationPass(ModulePass):
    """Merges equal pure ops, and loads of one element of a buffer that the kernel does not write.

    Before: any kernels. After: no pure op, and no load of a buffer without stores, repeats an earlier one of its block
    or of an enclosing block. Loads are equal when their elements are, however their indices are written.
    Locations: the op that stays is located at itself and at those it stands for.

    ```mlir
    tir.for %i in 4 {
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %1 = math.exp %0 : f32
      tir.store %1, %b[%i] : f32, !tir.buffer<4xf32>
      tir.for %j in 4 {
        %2 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
        %3 = math.exp %2 : f32
        tir.store %3, %c[%i, %j] : f32, !tir.buffer<4x4xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
      %1 = math.exp %0 : f32
      tir.store %1, %b[%i] : f32, !tir.buffer<4xf32>
      tir.for %j in 4 {
        tir.store %1, %c[%i, %j] : f32, !tir.buffer<4x4xf32>
      }
    }
    ```
    """

    name = "tir-common-subexpr-elimination"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
