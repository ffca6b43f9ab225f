"""tir-compact-buffers: buffers are as large as what one pass of a loop uses of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr
from xdsl.passes import ModulePass

from ...dialects.affine import below, linear, substitute
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map
from ...dialects.tir import AllocOp, BlockOp, BufferType, ForOp, LoadOp, PrimFuncOp, StoreOp, prim_funcs
from ...dialects.tir.access import stored_type
from ...dialects.tir.buffer import STACK_LIMIT
from ...dialects.tir.index_maps import LEADING
from ...provenance.diagnostics import message
from ...provenance.walk import walk
from ...support.errors import ScheduleError
from .analysis.accesses import Nest, Touch, Variable, name_of, same_place
from .analysis.regions import Region, holds, region_in
from .rewriting.ops import record
from .rewriting.starts import Point

Element: TypeAlias = LoadOp | StoreOp


@dataclass(frozen=True)
class Box:
    """The part of a buffer that one pass of a loop uses: in each dimension `extents` elements from `begins` on."""

    loop: ForOp
    variables: tuple[SSAValue, ...]
    begins: tuple[AffineExpr, ...]
    extents: tuple[Size, ...]

    def type_of(self, old: BufferType, scope: str) -> BufferType:
        """Return the type of a buffer of the box, of the elements of another one."""
        return BufferType.of(self.extents, old.element_type, scope)


def box_of(alloc: AllocOp) -> Box | None:
    """Return the box of the innermost loop of which each pass uses a smaller part of a buffer, and only values of its
    own; None if there is none."""
    users = list(dict.fromkeys(use.operation for use in alloc.result.uses))
    elements = [op for op in users if isinstance(op, Element) and _is_scalar(op)]
    if not elements or len(elements) < len(users):
        return None
    for loop in _common(elements, alloc):
        if any(each.kind.data == "vectorized" for each in _up_to(loop, alloc)):
            continue
        is_fresh = loop is alloc.parent_op()
        nest = Nest(*loop.block.ops)
        touches = [touch for touch in nest.touches if touch.buffer is alloc.result]
        if not touches or not (is_fresh or all(_is_own(op, loop) for op in elements if isinstance(op, LoadOp))):
            continue
        if (box := _smaller(region_in(loop, touches, nest), loop, alloc.result.type)) is not None:
            return box
    return None


def compacted(alloc: AllocOp, loop: ForOp) -> BufferType:
    """Return the type that a buffer has as one of each pass of a loop, where that is known to be enough."""
    type_ = alloc.result.type
    box = box_of(alloc)
    return box.type_of(type_, "local") if box is not None and loop.is_ancestor(box.loop) else type_


def _is_scalar(op: Element) -> bool:
    value = op.result.type if isinstance(op, LoadOp) else op.value.type
    type_ = op.buffer.type
    return isinstance(type_, BufferType) and value == stored_type(type_.element_type) and bool(type_.get_shape())


def _common(elements: Sequence[Operation], alloc: AllocOp) -> Iterator[ForOp]:
    """The loops around all of some ops, innermost first, as far as a buffer lives."""
    parent = elements[0].parent_op()
    while parent is not None:
        if isinstance(parent, ForOp) and all(parent.is_ancestor(op) for op in elements):
            yield parent
        if parent is alloc.parent_op():
            return
        parent = parent.parent_op()


def _smaller(region: Region, loop: ForOp, type_: BufferType) -> Box | None:
    """Return a region as a box, whole in the dimensions in which it is not smaller; None if that are all."""
    begins: list[AffineExpr] = []
    extents: list[Size] = []
    for begin, extent, whole in zip(region.begins, region.extents, type_.get_shape(), strict=True):
        # What all passes may use, some do: a number is not above an open size that it is used of.
        is_number = isinstance(extent, int) and not isinstance(whole, int)
        is_less = below(0, extent) and (is_number or below(extent, whole))
        begins.append(begin if is_less else AffineConstantExpr(0))
        extents.append(extent if is_less else whole)
    if all(same(extent, whole) for extent, whole in zip(extents, type_.get_shape(), strict=True)):
        return None
    return Box(loop, region.variables, tuple(begins), tuple(extents))


def _is_own(load: LoadOp, loop: ForOp) -> bool:
    """Return whether what a load reads was surely stored before in the same pass of a loop."""
    op: Operation = load
    while op is not loop:
        level = op.parent_op()
        assert level is not None
        assert op.parent is not None
        if isinstance(level, BlockOp) and _is_started(level, load, loop):
            return True
        if isinstance(level, ForOp | BlockOp) and _is_stored(level, op, op.parent, load):
            return True
        op = level
    return False


def _is_stored(level: ForOp | BlockOp, op: Operation, block: Block, load: LoadOp) -> bool:
    """Return whether a statement before `op` stores all that a load in `op` reads while the variables of `level` stand
    still."""
    earlier: list[Operation] = []
    for statement in block.ops:
        if statement is op:
            break
        earlier.append(statement)
    nest = Nest(*earlier, op, within=level if isinstance(level, BlockOp) else None)
    touches = [touch for touch in nest.touches if touch.buffer is load.buffer]
    read = [touch for touch in touches if touch.op is load]
    if not read:
        # It never runs.
        return True
    hull = region_in(level, read, nest)
    for touch in touches:
        if touch.writes and not op.is_ancestor(touch.op) and _runs(touch, level):
            stored = region_in(level, [touch], nest)
            if stored.exact and holds(stored, hull, nest):
                return True
    return False


def _runs(touch: Touch, level: Operation) -> bool:
    """Return whether loops inside of `level` run a store at least once, but for those that go along its elements."""
    parent, along = touch.op.parent_op(), _used(touch)
    while parent is not None and parent is not level:
        if isinstance(parent, ForOp) and parent.var not in along and not parent.is_run():
            return False
        parent = parent.parent_op()
    return True


def _used(touch: Touch) -> set[Variable]:
    """The variables of the element that an access touches."""
    if touch.access is None:
        return set()
    return {touch.access.variables[dim] for expr in touch.access.map for dim in expr.used_dims()}


def _is_started(block: BlockOp, load: LoadOp, loop: ForOp) -> bool:
    """Return whether the init part of a block stores what a load in it reads, earlier in the same pass of a loop."""
    init = block.init
    if init is None or init.is_ancestor(load) or block.guards:
        return False
    point = Point(block)
    reduced: set[Variable] = set()
    for expr in point.of("reduce"):
        form = linear(expr, point.ranges)
        # Then the first passes of its loops are the only ones at 0.
        if not same(form.constant, 0):
            return False
        for atom, factor in form.terms:
            value = point.values[atom.position] if isinstance(atom, AffineDimExpr) else None
            over = value.owner.parent_op() if value is not None and isinstance(value.owner, Block) else None
            if not isinstance(over, ForOp) or over is loop or not loop.is_ancestor(over):
                return False
            if not isinstance(factor, int) or factor < 1:
                return False
            reduced.add(over.var)
    touch = Nest().touch(load)
    if touch is None or touch.access is None or reduced & _used(touch):
        return False
    return any(isinstance(op, StoreOp) and op.buffer is load.buffer and same_place(op, load) for op in init.block.ops)


def compact(alloc: AllocOp, box: Box) -> bool:
    """Replace a buffer by one of its box: in the loop, or, if that is too large for a stack, in the old place.

    Returns False, and changes nothing, where passes that run at once would share it.
    """
    loop, old = box.loop, alloc.result.type
    made = box.type_of(old, "local")
    around = [*_up_to(loop, alloc)]
    at_once = any(each.kind.data == "parallel" for each in around)
    inner = any(isinstance(op, ForOp) and op.kind.data == "parallel" for op in loop.walk() if op is not loop)
    small = isinstance(made.nbytes, int) and made.nbytes <= STACK_LIMIT
    if around and small and not inner:
        first = loop.block.first_op
        assert first is not None
        place, before = loop.block, first
    elif not at_once:
        assert alloc.parent is not None
        place, before = alloc.parent, alloc
        made = box.type_of(old, old.scope.data)
    else:
        return False
    new = AllocOp(made)
    new.location, new.result.name_hint = alloc.location, alloc.result.name_hint
    place.insert_op_before(new, before)
    for op in dict.fromkeys(use.operation for use in alloc.result.uses):
        assert isinstance(op, Element)
        _shift(op, new.result, box)
    record("CompactBuffer", alloc, f"one pass uses {'x'.join(map(str, box.extents))} elements", [new])
    alloc.detach()
    alloc.erase()
    return True


def _up_to(loop: ForOp, alloc: AllocOp) -> Iterator[ForOp]:
    """The loop and those around it that are inside of where a buffer lives."""
    parent: Operation | None = loop
    while parent is not None and parent is not alloc.parent_op():
        if isinstance(parent, ForOp):
            yield parent
        parent = parent.parent_op()


def _shift(op: Element, buffer: SSAValue, box: Box) -> None:
    """Let an access name an element of the box."""
    leading = LEADING[type(op)]
    count = len(op.indices)
    total = count + len(box.variables)
    dims = [AffineDimExpr(count + number) for number in range(len(box.variables))]
    point = [expr + substitute(begin, dims) * -1 for expr, begin in zip(op.map.data.results, box.begins, strict=True)]
    op.properties["map"] = AffineMapAttr(affine_map(total, tuple(point)))
    if isinstance(op, LoadOp) and op.guard is not None:
        op.properties["guard"] = AffineMapAttr(affine_map(total, op.guard.data.results))
    op.operands = [*op.operands[: leading - 1], buffer, *op.indices, *box.variables]


def _is_at_once(op: Operation) -> bool:
    parent = op.parent_op()
    return parent is not None and (
        (isinstance(parent, ForOp) and parent.kind.data == "parallel") or _is_at_once(parent)
    )


def run(func: PrimFuncOp) -> None:
    """Compact the buffers of one kernel of blocks, in place.

    Raises ScheduleError for a buffer of each pass of a parallel loop that is larger than a stack holds.
    """
    if not any(isinstance(op, BlockOp) for op in walk(func)):
        return
    for alloc in [op for op in walk(func) if isinstance(op, AllocOp) and not op.attributes]:
        if (box := box_of(alloc)) is not None:
            compact(alloc, box)
    for alloc in [op for op in walk(func) if isinstance(op, AllocOp)]:
        size = alloc.result.type.nbytes
        if isinstance(alloc.parent_op(), ForOp) and isinstance(size, int) and size > STACK_LIMIT and _is_at_once(alloc):
            expected = f"at most {STACK_LIMIT} bytes of {name_of(alloc.result)} in each pass of a parallel loop"
            raise ScheduleError(message(alloc.name, expected, str(size), alloc.location))


@dataclass(frozen=True)
class TirCompactBuffersPass(ModulePass):
    """Makes buffers of kernels with blocks as large as what one pass of a loop uses: TVM's CompactBufferAllocation.

    Before: any kernels. After: where each pass of a loop uses elements of a box only, and reads none that it has not
    stored before, a buffer has the size of the box. It lives in the loop if a stack holds it, else in its old place. A
    buffer that lives in the loop already may keep what it holds from nowhere else, so that its box alone counts.
    Kernels without blocks stay.
    Locations: the new buffer has that of the old one.

    ```mlir
    %y = tir.alloc : !tir.buffer<64x64xf32>
    tir.for %i in 64 {
      // blocks that store %y[%i, ..], then blocks that read it
    }
    // becomes
    tir.for %i in 64 {
      %y = tir.alloc : !tir.buffer<1x64xf32, "local">
      // blocks that store %y[%i - %i, ..], ..
    }
    ```
    """

    name = "tir-compact-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in prim_funcs(op):
            run(func)
