"""transform_layout and transform_block_layout: other dims of a buffer, and other variables of a block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, ArrayAttr, FloatAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ...dialects.affine import bounds, spell, substitute
from ...dialects.element_types import is_integer
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import affine_map, known
from ...dialects.tir import AllocOp, BlockOp, BufferType, LoadOp, StoreOp, buffer_of
from ...passes.tir.analysis.dependence import accumulation, carriers, coincidence
from ...passes.tir.analysis.meetings import Witness
from ...passes.tir.rewriting.ops import drop
from ...provenance.builder import LocatedBuilder
from ...provenance.walk import walk
from ...support.errors import ScheduleError, WhenceError
from ..language.affine_forms import affine_expr, layout_map
from ..language.expr import Axis
from ..language.layouts import inverse_layout
from ..schedule.python_text import index_names
from .accesses import name_of_buffer
from .bindings import Place
from .bodies import (
    allocated,
    check_own_values,
    copied,
    covers,
    move_access,
    ordered_loops,
    position,
    stores_of,
    tree_of,
)
from .legality import is_one_to_one, reason
from .loops import check_plain
from .state import State, chain, function_of, loops_of, only_child, refuse


def layout_of(primitive: str, index_map: object, names: Sequence[str]) -> AffineMapAttr:
    """The affine map that users pass as a function of indices, as an IndexMap, or as the map itself.

    Raises ScheduleError for one of another number of indices, and for one that is not affine.
    """
    map_indices: Any = getattr(index_map, "map_indices", None)
    if isinstance(index_map, AffineMapAttr):
        layout = index_map
    elif map_indices is not None:
        axes = [Axis(name, 1 << 32) for name in names]
        dims = {axis: AffineExpr.dimension(number) for number, axis in enumerate(axes)}
        exprs = [affine_expr(expr, dims) for expr in map_indices(axes)]
        layout = AffineMapAttr(affine_map(len(axes), tuple(exprs)))
    else:
        try:
            layout, separators = layout_map(cast("Any", index_map), names)
        except (TypeError, ValueError) as error:
            raise ScheduleError(f"{primitive}: expected a function of {len(names)} indices, got {error}") from error
        except WhenceError as error:
            raise ScheduleError(f"{primitive}: {str(error).removeprefix('te: ')}") from error
        if separators:
            raise ScheduleError(f"{primitive}: expected indices, got axis separators")
    if layout.data.num_dims != len(names):
        raise ScheduleError(f"{primitive}: expected a map of {len(names)} indices, got one of {layout.data.num_dims}")
    return layout


def number_of(value: float, element: Attribute) -> ConstantOp:
    """A constant of an element type."""
    if is_integer(element):
        return ConstantOp.from_int_and_width(int(value), cast("IntegerType", element).width.data)
    return ConstantOp(FloatAttr(value, cast("AnyFloat", element)))


def extents_of(primitive: str, layout: AffineMap, shape: Sequence[int], op: Operation) -> list[int]:
    """The shape behind a layout. Raises ScheduleError for a layout of negative indices."""
    ranges = [(0, extent - 1) for extent in shape]
    extents: list[int] = []
    names = index_names(len(shape))
    for expr in layout.results:
        low, high = bounds(expr, ranges)
        if not isinstance(low, int) or not isinstance(high, int) or low < 0:
            refuse(primitive, f"expected indices of 0 and more, got {low} to {high} of {spell(expr, names)}", op)
        extents.append(high + 1)
    return extents


def _check_injective(primitive: str, layout: AffineMap, shape: Sequence[int], name: str, op: Operation) -> None:
    variables = range(len(shape))
    answer = coincidence(variables, layout.results, [(0, extent - 1) for extent in shape])
    if answer is None:
        return
    got = f"an open question: {answer}"
    if isinstance(answer, Witness):
        one, other = ([values[variable] for variable in variables] for values in (answer.earlier, answer.later))
        got = f"{one} and {other} at {list(answer.element)}"
    refuse(primitive, f"expected a place of its own for each of {name}, got {got}", op)


def transform_layout(state: State, block: BlockOp, buffer: SSAValue, layout: AffineMap, pad: float | None) -> None:
    """`C[i, j]` -> `C[i // 4, j, i % 4]`, everywhere in the kernel; loops stay.

    pad: of places of no element. Raises ScheduleError for an argument of the kernel, for two elements at one place, and
    for such places without `pad`.
    """
    name, label = "transform_layout", name_of_buffer(buffer)
    alloc, type_ = buffer.owner, buffer_of(buffer)
    if not isinstance(alloc, AllocOp):
        text = f"expected an intermediate buffer, got {label}, an argument of the kernel"
        refuse(name, text, block, remedy="the layout of a cache_read or cache_write of it")
    if not type_.is_static:
        refuse(name, f"expected a buffer of known extents, got {type_}", block)
    shape = [known(extent) for extent in type_.get_shape()]
    accesses = _plain_accesses(name, block, buffer)
    _check_injective(name, layout, shape, f"the elements of {label}", block)
    extents = extents_of(name, layout, shape, block)
    padded = prod(extents) != prod(shape)
    if padded and pad is None:
        text = f"expected a layout that fills {extents} with the elements of {label}, got {shape} of them"
        refuse(name, text, block, remedy="pad_value=0")
    made = allocated(block, label, BufferType.of(extents, type_.element_type, type_.scope.data))
    for op in accesses:
        move_access(op, made, [substitute(expr, op.map.data.results) for expr in layout.results])
    if padded and pad is not None:
        _fill(state, block, made, inverse_layout(layout, shape), shape, pad)
    drop(alloc, name, "its elements are laid out anew")


def _plain_accesses(primitive: str, block: BlockOp, buffer: SSAValue) -> list[LoadOp | StoreOp]:
    """The accesses of a buffer. Raises ScheduleError for others than loads and stores of elements."""
    ops = list(dict.fromkeys(use.operation for use in buffer.uses))
    plain = [op for op in ops if isinstance(op, LoadOp | StoreOp)]
    element = buffer_of(buffer).element_type
    vectors = [op for op in plain if (op.result if isinstance(op, LoadOp) else op.value).type != element]
    if len(plain) != len(ops) or vectors:
        refuse(primitive, f"expected loads and stores of elements of {name_of_buffer(buffer)}, got others", block)
    return plain


def _fill(
    state: State,
    block: BlockOp,
    buffer: SSAValue,
    inverse: Sequence[AffineExpr] | None,
    shape: Sequence[int],
    pad: float,
) -> None:
    """Store a number at the places of no element, at all if these are not known, before all other stores."""
    type_ = buffer_of(buffer)
    rank = len(type_.shape)
    ranges = [(0, known(extent) - 1) for extent in type_.get_shape()]
    beyond = [
        affine_map(rank, (expr + -extent,))
        for expr, extent in zip(inverse or (), shape, strict=False)
        if not _is_below(bounds(expr, ranges)[1], extent)
    ]
    axes: list[tuple[str, Size]] = [("spatial", extent) for extent in type_.get_shape()]
    identity = affine_map(rank, tuple(AffineDimExpr(dim) for dim in range(rank)))
    loops = ordered_loops([(f"ax{dim}", known(extent)) for dim, (_, extent) in enumerate(axes)])
    hints = [f"v{dim}" for dim in range(rank)]
    label = state.fresh(f"{name_of_buffer(buffer)}_pad")
    made = BlockOp.make(label, axes, identity, [loop.var for loop in loops], where=beyond, hints=hints)
    scratch = Block()
    builder = LocatedBuilder(scratch, block.location)
    number = builder.add(number_of(pad, type_.element_type))
    LocatedBuilder(made.block, block.location).add(StoreOp.make(number.result, buffer, identity, made.block.args))
    loops[-1].block.add_op(made)
    builder.add(loops[0])
    first = tree_of(min(stores_of(function_of(block), buffer), key=position))
    for op in list(scratch.ops):
        op.detach()
        assert first.parent is not None
        first.parent.insert_op_before(op, first)


def _is_below(high: Size, extent: int) -> bool:
    return isinstance(high, int) and high < extent


def transform_block_layout(state: State, block: BlockOp, layout: AffineMap) -> None:
    """`for i, j: Z[i, j]` -> `for ax0: Z[ax0 // 6, ax0 % 6]`: loops over the variables that a layout gives.

    Raises ScheduleError for a layout that is not one to one and onto, for one that mixes variables of data and of a
    reduction, and where iterations depend on each other.
    """
    name = "transform_block_layout"
    check_own_values(name, block)
    loops = loops_of(block)
    if not loops or only_child(chain(name, loops)[-1]) is not block:
        refuse(name, "expected loops that hold the block alone, got none or others", block)
    check_plain(name, loops)
    if not covers(block) or not is_one_to_one(block, loops):
        refuse(name, "expected loops that run the block once at each of its points, got others", block)
    domain = [known(extent) for extent in block.domain]
    _check_injective(name, layout, domain, "the points of the block", block)
    extents = extents_of(name, layout, domain, block)
    inverse = inverse_layout(layout, domain)
    if inverse is None or prod(extents) != prod(domain):
        refuse(name, f"expected a layout of all points of {extents}, got one of {prod(domain)} points", block)
    kinds = [_kind(name, block, expr) for expr in layout.results]
    _check_unordered(name, block)
    fresh = ordered_loops([(f"ax{number}", extent) for number, extent in enumerate(extents)])
    for loop in fresh:
        loop.location = block.location
    count = len(extents)
    made = BlockOp.make(
        block.label.data,
        list(zip(kinds, extents, strict=True)),
        affine_map(count, tuple(AffineDimExpr(number) for number in range(count))),
        [loop.var for loop in fresh],
        hints=[f"v{number}" for number in range(count)],
    )
    made.location, made.attributes = block.location, dict(block.attributes)
    arguments = tuple(made.block.args)
    places = [Place((expr,), arguments).simplified() for expr in inverse]
    ops, _ = copied(block.block.ops, dict(zip(block.block.args, places, strict=True)), {}, state)
    made.block.add_ops(ops)
    fresh[-1].block.add_op(made)
    outermost = loops[0]
    assert outermost.parent is not None
    outermost.parent.insert_op_before(fresh[0], outermost)
    state.move(block, made)
    state.consume(name, *loops)
    drop(outermost, name, "loops over other variables stand for it")


def reorder_variables(block: BlockOp, order: Sequence[int]) -> None:
    """Give the variables of a block another order, and their kinds, extents and values with them."""
    count = len(order)
    for number in order:
        old = block.block.args[number]
        new = block.block.insert_arg(old.type, len(block.block.args))
        new.name_hint, new.location = old.name_hint, old.location
        old.replace_all_uses_with(new)
    for old in block.block.args[:count]:
        block.block.erase_arg(old)
    map_ = block.map.data
    block.map = AffineMapAttr(AffineMap(map_.num_dims, map_.num_symbols, tuple(map_.results[n] for n in order)))
    block.kinds = ArrayAttr([block.kinds.data[number] for number in order])
    block.extents = ArrayAttr([block.extents.data[number] for number in order])


def _kind(name: str, block: BlockOp, expr: AffineExpr) -> str:
    """The kind of a variable of a layout."""
    kinds = {block.kinds.data[dim].data for dim in expr.used_dims()}
    if len(kinds) > 1 or "opaque" in kinds:
        refuse(name, f"expected variables of one kind in {expr}, got {', '.join(sorted(kinds))}", block)
    return kinds.pop() if kinds else "spatial"


def _check_unordered(name: str, block: BlockOp) -> None:
    """Refuse a block whose points have to run in order, but for terms that are added up."""
    for loop, verdict in carriers(loops_of(block)).items():
        stores = [op for op in walk(block) if isinstance(op, StoreOp)]
        updates = [op for op in stores if op.parent is block.block]
        if block.init is None or len(updates) != 1 or accumulation(updates[0]) is None:
            text = f"expected points that run in any order, got {reason(verdict)}"
            refuse(name, text, block, loop)
