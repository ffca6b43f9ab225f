"""tir-narrow-datatype: 64-bit arithmetic on small numbers is done with 32 bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from ...dialects.tir import LoadOp, PrimFuncOp, prim_funcs
from ...dialects.tir import lanes as tir_lanes
from ...dialects.tir.index_maps import Ranges
from ...dialects.tir.lanes import lanes, scalar_type
from ...provenance.walk import walk
from .analysis.integer_ranges import integer_ranges, kind_of, numbers_of
from .rewriting.constants import constant
from .rewriting.ops import drop, record

_ARITHMETIC = {"addi", "subi", "muli", "minsi", "maxsi", "divsi", "remsi", "floordivsi"}
_ENDS = {"cmpi", "compare", "sitofp", "trunci", "index_cast"}
"""Ops that take 64 bits, and give something else."""
_LOW, _HIGH = -(1 << 31), (1 << 31) - 1


def run(func: PrimFuncOp) -> None:
    """Narrow the arithmetic of one kernel, in place."""
    if not any(_is_end(op) for op in walk(func)):
        return
    narrow = _Narrow(integer_ranges(func))
    for op in list(walk(func)):
        narrow.end(op)
    for op in reversed(narrow.replaced):
        if op.has_trait(Pure) and all(result.first_use is None for result in op.results):
            drop(op, "Narrow", "32 bits are enough")


def _type(type: Attribute, scalar: Attribute) -> Attribute:
    """Return the type with as many lanes of `scalar`."""
    return VectorType(scalar, shape) if (shape := lanes(type)) else scalar


@dataclass
class _Narrow:
    ranges: Ranges
    made: dict[SSAValue, SSAValue] = field(default_factory=lambda: dict[SSAValue, SSAValue]())
    """Wide values and their narrow twins."""
    replaced: list[Operation] = field(default_factory=lambda: list[Operation]())

    def end(self, op: Operation) -> None:
        """Let an op that ends 64-bit arithmetic take narrow operands, if all of it can be narrow."""
        if not _is_end(op):
            return
        if not all(map(self._can, op.operands)) or not any(map(self._is_computed, op.operands)):
            return
        operands = [self._twin(operand) for operand in op.operands]
        if kind_of(op) == "trunci" and scalar_type(op.results[0].type) == i32:
            op.results[0].replace_all_uses_with(operands[0])
            self.replaced.append(op)
            return
        op.operands = operands
        record("Narrow", op, "32 bits are enough for its operands", gone=False)

    def _fits(self, value: SSAValue) -> bool:
        low, high = self.ranges[value] if value in self.ranges else (_LOW - 1, _HIGH)
        return _LOW <= low and high <= _HIGH

    def _can(self, value: SSAValue) -> bool:
        """Return whether a narrow twin can be had without cutting a wide value short."""
        stack, seen = [value], set[SSAValue]()
        while stack:
            current = stack.pop()
            if current in seen or current in self.made:
                continue
            seen.add(current)
            if not self._fits(current) or not isinstance(current.owner, Operation):
                return False
            stack.extend(_sources(current.owner))
            if not _is_leaf(current.owner) and not _sources(current.owner):
                return False
        return True

    @staticmethod
    def _is_computed(value: SSAValue) -> bool:
        """Return whether something is gained: arithmetic, or at least a wide copy of a narrow number."""
        return isinstance(value.owner, Operation) and not isinstance(value.owner, arith.ConstantOp)

    def _twin(self, value: SSAValue) -> SSAValue:
        """The narrow twin of `value`, made after it; operands first."""
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self.made:
                stack.pop()
                continue
            owner = current.owner
            assert isinstance(owner, Operation)
            missing = [source for source in _sources(owner) if source not in self.made]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self.made[current] = self._make(owner)
        return self.made[value]

    def _make(self, wide: Operation) -> SSAValue:
        result = wide.results[0]
        type_ = _type(result.type, i32)
        new = self._op(wide, type_)
        self.replaced.append(wide)
        if isinstance(new, SSAValue):
            return new
        new.location = wide.location
        new.results[0].name_hint = result.name_hint
        assert wide.parent is not None
        wide.parent.insert_op_after(new, wide)
        return new.results[0]

    def _op(self, wide: Operation, type_: Attribute) -> Operation | SSAValue:
        """The op that computes with 32 bits what `wide` does, or a value that is that already."""
        kind = kind_of(wide)
        match wide:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return constant(IntegerAttr(number.data, i32), type_, wide.location)
            case arith.ConstantOp():
                vector = cast("VectorType[IntegerType]", type_)
                return constant(DenseIntOrFPElementsAttr.from_list(vector, numbers_of(wide)), type_, wide.location)
            case BroadcastOp():
                return BroadcastOp.create(operands=[self.made[wide.source]], result_types=[type_])
            case arith.SelectOp() | tir_lanes.SelectOp():
                condition, *values = wide.operands
                operands = [condition, *(self.made[value] for value in values)]
                return type(wide).create(operands=operands, result_types=[type_])
            case _ if kind == "extsi" and scalar_type(wide.operands[0].type) == i32:
                return wide.operands[0]
            case _ if kind in ("extsi", "extui", "index_cast"):
                return type(wide).create(operands=wide.operands, result_types=[type_], properties=wide.properties)
            case _:
                operands = [self.made[operand] for operand in wide.operands]
                # Flags speak of 64 bits; as results fit, signed arithmetic does not wrap with 32 either.
                return type(wide).create(operands=operands, result_types=[type_], properties=dict(wide.properties))


def _is_end(op: Operation) -> bool:
    return bool(op.operands) and scalar_type(op.operands[0].type) == i64 and kind_of(op) in _ENDS


def _is_leaf(op: Operation) -> bool:
    """Return whether a number of 32 bits is at hand, or made just as easily."""
    if isinstance(op, LoadOp):
        return False
    kind = kind_of(op)
    from_index = kind == "index_cast" and isinstance(scalar_type(op.operands[0].type), IndexType)
    return isinstance(op, arith.ConstantOp) or from_index or kind in ("extsi", "extui")


def _sources(op: Operation) -> list[SSAValue]:
    """The operands that must be narrow for the result to be."""
    kind = kind_of(op)
    if kind in _ARITHMETIC:
        return list(op.operands)
    if kind == "select":
        return list(op.operands[1:])
    return [op.source] if isinstance(op, BroadcastOp) else []


@dataclass(frozen=True)
class TirNarrowDatatypePass(ModulePass):
    """Does 64-bit integer arithmetic with 32 bits where the bounds of loops and types prove that the numbers fit.

    What is narrowed is arithmetic on data, not that of addresses: there 64 bits cost nothing, as the machine adds them
    up while it loads, and 32 would need an extension each; LLVM finds the rest. On data the width counts: a vector
    holds half as many 64-bit lanes, and a conversion of those to floats is an instruction of few machines.

    Before: any kernels. After: comparisons, conversions to floats or indices, and truncations of 64-bit numbers take
    32-bit ones, where these can be computed from constants, indices and extended narrower numbers alone.
    Locations: a narrow op has that of the wide one; wide ones without further use go, as the ledger says.

    ```mlir
    tir.for %i in 100 {
      %0 = arith.index_cast %i : index to i64
      %c = arith.constant 3 : i64
      %1 = arith.muli %0, %c : i64
      %2 = arith.sitofp %1 : i64 to f32
      tir.store %2, %b[%i] : f32, !tir.buffer<100xf32>
    }
    // becomes
    tir.for %i in 100 {
      %0 = arith.index_cast %i : index to i32
      %c = arith.constant 3 : i32
      %1 = arith.muli %0, %c : i32
      %2 = arith.sitofp %1 : i32 to f32
      tir.store %2, %b[%i] : f32, !tir.buffer<100xf32>
    }
    ```
    """

    name = "tir-narrow-datatype"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
