"""tir-vectorize: a loop of kind `vectorized` becomes straight vector code."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    CmpfOp,
    CmpiOp,
    ConstantOp,
    SelectOp,
)
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...dialects import tir_lanes
from ...dialects.tir import ForOp, IfOp, IndexOp, LoadOp, PrimFuncOp, StoreOp
from ...provenance.span import fuse
from .common import (
    Ranges,
    constant,
    hoist,
    narrowed,
    prim_funcs,
    record,
    settle,
    splat,
    stride_attribute,
    update,
    vector_type,
)
from .lanes import Lanes, Obstacle, is_scalar

_SERIAL = StringAttr("serial")
_FIRST_LANE = AffineMap(0, 0, (AffineExpr.constant(0),))


def run(func: PrimFuncOp) -> None:
    """Turn the vectorized loops of one kernel into vector code, in place."""
    _block(func.block, {}, {})


Copies = dict[tuple[SSAValue, int], Operation]
"""The vectors made of a scalar for every lane, by scalar and number of lanes."""


def _block(block: Block, ranges: Ranges, copies: Copies) -> None:
    for op in list(block.ops):
        match op:
            case ForOp():
                ranges[op.var] = (0, max(0, op.trip_count - 1))
                _block(op.block, ranges, copies)
                if op.kind.data == "vectorized":
                    _loop(op, ranges, copies)
            case IfOp():
                _block(op.block, narrowed(op, ranges), copies)
                if op.orelse is not None:
                    _block(op.orelse.block, ranges, copies)
            case _:
                pass


def _loop(loop: ForOp, ranges: Ranges, copies: Copies) -> None:
    try:
        lanes = Lanes(loop, ranges)
    except Obstacle as obstacle:
        loop.properties["kind"] = _SERIAL
        record("Serialize", loop, str(obstacle), gone=False)
        return
    _Vectors(loop, lanes, copies).block(loop.block)
    moved = hoist(loop.block, loop)
    record("Vectorize", loop, f"{lanes.width} lanes", moved)
    loop.detach()
    loop.erase()


class _Vectors:
    """Rewrites the body of one loop for all lanes at once."""

    def __init__(self, loop: ForOp, lanes: Lanes, copies: Copies):
        self.loop = loop
        self.lanes = lanes
        self.copies = copies

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            match op:
                case LoadOp() | StoreOp() | IndexOp():
                    self._settle(op)
                    self._access(op)
                case IfOp():
                    self._settle(op)
                    self.block(op.block)
                    if op.orelse is not None:
                        self.block(op.orelse.block)
                case ForOp():
                    self.block(op.block)
                case _:
                    if any(result in self.lanes.varying for result in op.results):
                        self._compute(op)

    def _settle(self, op: LoadOp | StoreOp | IfOp | IndexOp) -> None:
        """Let the maps of `op` be those of the first lane."""
        seen = self.lanes.views[op]
        update(op, seen.values, settle(seen.map, seen.guard, seen.ranges))

    def _type(self, scalar: Attribute) -> VectorType[Attribute]:
        return vector_type(scalar, self.lanes.width)

    def _access(self, op: LoadOp | StoreOp | IndexOp) -> None:
        if not (stride := self.lanes.strides[op]):
            return
        if isinstance(op, StoreOp):
            op.operands[0] = self._vector(op.value, op)
            op.properties["stride"] = stride_attribute(stride)
            return
        properties = {**op.properties, "stride": stride_attribute(stride)}
        type_ = self._type(op.result.type)
        if "otherwise" in properties:
            properties["otherwise"] = splat(properties["otherwise"], type_)
        wide = type(op).create(
            operands=op.operands,
            result_types=[type_],
            properties=properties,
            attributes=op.attributes,
            location=op.location,
        )
        self._replace(op, wide)

    def _compute(self, op: Operation) -> None:
        if isinstance(op, SelectOp | tir_lanes.SelectOp) and is_scalar(op.operands[0].type):
            # One condition for all lanes stays one.
            condition, *values = op.operands
            operands = [condition, *(self._vector(value, op) for value in values)]
        else:
            operands = [self._vector(operand, op) for operand in op.operands]
        wide = self._lanewise(op, operands)
        wide.location = op.location
        self._replace(op, wide)

    def _lanewise(self, op: Operation, operands: list[SSAValue]) -> Operation:
        """The op that does in each lane what `op` does; arith's, where that takes vectors."""
        kind = op.name.removeprefix("arith.")
        match op:
            case SelectOp() if not is_scalar(operands[0].type):
                return tir_lanes.SelectOp.make(*operands)
            case CmpiOp() | CmpfOp():
                names = CMPI_COMPARISON_OPERATIONS if isinstance(op, CmpiOp) else CMPF_COMPARISON_OPERATIONS
                return tir_lanes.CompareOp.make(names[op.predicate.value.data], *operands)
            case _ if kind in tir_lanes.CASTS:
                return tir_lanes.CastOp.make(kind, operands[0], self._type(op.results[0].type))
            case _:
                types = [self._type(result.type) for result in op.results]
                return type(op).create(
                    operands=operands, result_types=types, properties=op.properties, attributes=op.attributes
                )

    @staticmethod
    def _replace(op: Operation, wide: Operation) -> None:
        assert op.parent is not None
        op.parent.insert_op_before(wide, op)
        for old, new in zip(op.results, wide.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()

    def _vector(self, value: SSAValue, asker: Operation) -> SSAValue:
        """`value` in every lane: made once, right after `value`, and located at all who ask for it."""
        if not is_scalar(value.type):
            return value
        if (known := self.copies.get((value, self.lanes.width))) is not None:
            if not isinstance(known, ConstantOp):
                known.location = fuse([known.location, asker.location])
            return known.results[0]
        owner = value.owner
        if isinstance(owner, ConstantOp):
            made: Operation = constant(owner.value, self._type(value.type), owner.location)
        elif value is self.loop.var:
            made = IndexOp.make(_FIRST_LANE, [], self._type(value.type), 1)
            made.location = asker.location
        else:
            made = BroadcastOp.create(operands=[value], result_types=[self._type(value.type)], location=asker.location)
        made.results[0].name_hint = value.name_hint
        if isinstance(owner, Operation):
            assert owner.parent is not None
            owner.parent.insert_op_after(made, owner)
        else:
            first = owner.first_op
            assert first is not None
            owner.insert_op_before(made, first)
        self.copies[value, self.lanes.width] = made
        return made.results[0]


@dataclass(frozen=True)
class TirVectorizePass(ModulePass):
    """Makes vectors of the loops of kind `vectorized`.

    Before: any kernels. After: no loop is `vectorized`. A loop of 2, 4, 8, 16, 32 or 64 passes whose lanes do not
    depend on each other is replaced by its body, where what differs by lane is a vector; a load, store or index moves
    by `stride` from lane to lane. Any other one is `serial` (the ledger says why): where a guard differs by lane, an
    index divides the lane or depends on data of the lane, or lanes meet in one element. Of nested ones the innermost
    wins.
    Locations: ops keep theirs; a value that is copied to all lanes has the locations of the ops that asked for it.

    ```mlir
    tir.for %i in 4 {
      tir.for vectorized %j in 16 {
        %0 = tir.load %a[%i, %j] : !tir.buffer<4x16xf32> -> f32
        %1 = tir.load %b[%i] : !tir.buffer<4xf32> -> f32
        %2 = arith.addf %0, %1 : f32
        tir.store %2, %a[%i, %j] : f32, !tir.buffer<4x16xf32>
      }
    }
    // becomes
    tir.for %i in 4 {
      %0 = tir.load %a[%i, 0] : !tir.buffer<4x16xf32> -> vector<16xf32>
      %1 = tir.load %b[%i] : !tir.buffer<4xf32> -> f32
      %2 = vector.broadcast %1 : f32 to vector<16xf32>
      %3 = arith.addf %0, %2 : vector<16xf32>
      tir.store %3, %a[%i, 0] : vector<16xf32>, !tir.buffer<4x16xf32>
    }
    ```
    """

    name = "tir-vectorize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
