"""The body of one loop, rewritten for all lanes at once."""

from __future__ import annotations

from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    AndIOp,
    CmpfOp,
    CmpiOp,
    ConstantOp,
    SelectOp,
    XOrIOp,
)
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, LocationAttr, VectorType, i1
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.sizes.kernel import at_least, lifted
from ....dialects.tir import UNBOUNDED, ForOp, IfOp, IndexOp, LoadOp, StoreOp
from ....dialects.tir import lanes as tir_lanes
from ....dialects.tir.index_maps import simplify_maps, update
from ....dialects.tir.masked import MaskedLoadOp, MaskedStoreOp, MaskOp
from ....provenance.span import fuse
from ..analysis.lanes import Branch, Condition, Lanes, is_scalar
from .constants import constant, splat, stride_attribute, vector_type, zero
from .ops import inline_before, record

_FIRST_LANE = AffineMap(0, 0, (AffineExpr.constant(0),))

Copies = dict[tuple[SSAValue, int], Operation]
"""The vectors made of a scalar for every lane, by scalar and number of lanes."""


class VectorizedBody:
    """Rewrites the body of one loop for all lanes at once."""

    def __init__(self, loop: ForOp, lanes: Lanes, copies: Copies):
        self.loop = loop
        self.lanes = lanes
        self.copies = copies

    def run(self) -> None:
        """Rewrite the body; the loop has to go then."""
        mask = None
        count = self.loop.trip_count
        if not at_least(count, self.lanes.width) and (first := self.loop.block.first_op):
            mask = self._mask(Condition((), (lifted(count - 1),), (-1,)), first, at=self.loop.location)
        self._block(self.loop.block, mask)

    def _block(self, block: Block, mask: SSAValue | None) -> None:
        """mask: the lanes that run the block; None when all do."""
        for op in list(block.ops):
            match op:
                case LoadOp() | StoreOp() if op in self.lanes.masked:
                    self._masked(op, mask)
                case LoadOp() | StoreOp() | IndexOp():
                    self._simplify(op)
                    self._access(op)
                case IfOp() if (branch := self.lanes.branches.get(op)) is not None:
                    self._branch(op, branch, mask)
                case IfOp():
                    self._simplify(op)
                    self._block(op.block, mask)
                    if not op.guard.data.results:
                        record("DecidedIf", op, "its guard always holds", inline_before(op.block, op))
                        op.detach()
                        op.erase()
                    elif op.orelse is not None:
                        self._block(op.orelse.block, mask)
                case ForOp():
                    self._block(op.block, mask)
                case _:
                    if any(result in self.lanes.varying for result in op.results):
                        self._compute(op)

    # Lanes that do not run

    def _mask(
        self,
        condition: Condition,
        asker: Operation,
        around: SSAValue | None = None,
        at: LocationAttr | None = None,
    ) -> SSAValue:
        """The lanes where `condition` holds, among those of `around`; made before `asker`."""
        simplified = simplify_maps(condition.first, (), (UNBOUNDED,) * len(condition.values))
        values = [condition.values[i] for i in simplified.kept]
        mask = MaskOp.make(simplified.map.data, values, condition.steps, self.lanes.width)
        self._insert(mask, asker)
        mask.location = at if at is not None else asker.location
        return mask.result if around is None else self._both(around, mask.result, asker)

    def _both(self, first: SSAValue, second: SSAValue, asker: Operation) -> SSAValue:
        both = AndIOp(first, second)
        self._insert(both, asker)
        return both.result

    def _branch(self, op: IfOp, branch: Branch, mask: SSAValue | None) -> None:
        own = self._mask(branch.condition, op)
        inside = own if mask is None else self._both(mask, own, op)
        self._block(op.block, inside)
        if branch.common:
            simplified = simplify_maps(branch.common, (), (UNBOUNDED,) * len(branch.condition.values))
            op.properties["guard"] = AffineMapAttr(simplified.map.data)
            op.operands = [branch.condition.values[i] for i in simplified.kept]
            return
        moved = inline_before(op.block, op)
        if op.orelse is not None:
            every = constant(IntegerAttr(1, i1), own.type, op.location)
            self._insert(every, op)
            other = XOrIOp(own, every.result)
            self._insert(other, op)
            self._block(op.orelse.block, other.result if mask is None else self._both(mask, other.result, op))
            moved += inline_before(op.orelse.block, op)
        record("Mask", op, "its guard differs by lane", moved)
        op.detach()
        op.erase()

    def _masked(self, op: LoadOp | StoreOp, mask: SSAValue | None) -> None:
        plan, stride = self.lanes.masked[op], self.lanes.strides[op]
        lanes = self._mask(plan.guard, op, mask) if plan.guard is not None else mask
        assert lanes is not None
        simplified = simplify_maps(plan.first, (), (UNBOUNDED,) * len(plan.values))
        access = simplified.map.data, [plan.values[i] for i in simplified.kept]
        if isinstance(op, StoreOp):
            wide: Operation = MaskedStoreOp.make(self._vector(op.value, op), lanes, op.buffer, *access, stride)
        else:
            type_ = self._type(op.result.type)
            otherwise = splat(op.otherwise if op.otherwise is not None else zero(op.result.type), type_)
            wide = MaskedLoadOp.make(lanes, op.buffer, *access, otherwise, type_, stride)
        wide.location, wide.attributes = op.location, dict(op.attributes)
        self._replace(op, wide)

    @staticmethod
    def _insert(new: Operation, asker: Operation) -> None:
        new.location = asker.location
        assert asker.parent is not None
        asker.parent.insert_op_before(new, asker)

    # Lanes that all run

    def _simplify(self, op: LoadOp | StoreOp | IfOp | IndexOp) -> None:
        """Let the maps of `op` be those of the first lane."""
        seen = self.lanes.views[op]
        update(op, seen.values, simplify_maps(seen.map, seen.guard, seen.ranges))

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
        if (cached := self.copies.get((value, self.lanes.width))) is not None:
            if not isinstance(cached, ConstantOp):
                cached.location = fuse([cached.location, asker.location])
            return cached.results[0]
        owner = value.owner
        if isinstance(owner, ConstantOp):
            new: Operation = constant(owner.value, self._type(value.type), owner.location)
        elif value is self.loop.var:
            new = IndexOp.make(_FIRST_LANE, [], self._type(value.type), 1)
            new.location = asker.location
        else:
            new = BroadcastOp.create(operands=[value], result_types=[self._type(value.type)], location=asker.location)
        new.results[0].name_hint = value.name_hint
        if isinstance(owner, Operation):
            assert owner.parent is not None
            owner.parent.insert_op_after(new, owner)
        else:
            first = owner.first_op
            assert first is not None
            owner.insert_op_before(new, first)
        self.copies[value, self.lanes.width] = new
        return new.results[0]
