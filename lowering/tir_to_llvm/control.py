"""Loops, conditions, and parallel loops as functions of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, SymbolRefAttr, UnitAttr, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.llvm_ext import UNROLL
from ...dialects.sizes import Size, same
from ...dialects.tir import ForOp, IfOp, TileConfigOp, WhileOp
from ...dialects.tir.control import captured_values
from ...dialects.tir.statements import ConditionOp
from ...provenance.walk import walk
from .builder import NO_FLAGS
from .context import Handler, Lowering
from .frame import Place, Scope
from .indexing import Indices
from .tiles import configure
from .types import PTR, VOID

PARALLEL_FOR = "whence_parallel_for"
"""`void (ptr pool, ptr body, ptr ctx, i64 n)` of the runtime: calls `body(ctx, begin, end)` on pieces of 0..n."""
_NO_ALIAS: Mapping[str, Attribute] = {"llvm.noalias": UnitAttr()}
_READ_ONLY: Mapping[str, Attribute] = {"llvm.noalias": UnitAttr(), "llvm.readonly": UnitAttr()}


def buffer_attributes(*, readonly: bool) -> Mapping[str, Attribute]:
    """Return the promises about a buffer's pointer: nothing else reaches the buffer, and perhaps nothing writes it."""
    return _READ_ONLY if readonly else _NO_ALIAS


def _for(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, ForOp)
    extent, frame = op.trip_count, ctx.frame
    if not isinstance(extent, int):
        _open_loop(ctx, op, extent)
        return
    if extent == 0:
        return
    if extent == 1:
        frame.values[op.var], frame.depths[op.var] = ctx.index(0), 0
        ctx.lower(op.block)
    elif op.kind.data == "parallel" and ctx.pool is not None:
        _parallel(ctx, op, ctx.pool)
    else:
        _loop(ctx, op, ctx.index(0), ctx.index(extent))


def _open_loop(ctx: Lowering, op: ForOp, extent: Size) -> None:
    """A loop that a call may not run at all."""
    end, frame = ctx.size(extent), ctx.frame
    some, none = ctx.new_block(), ctx.new_block()
    ctx.branch_if(ctx.icmp("slt", ctx.index(0), end), some, none)
    ctx.start(some)
    if op.kind.data == "parallel" and ctx.pool is not None:
        _parallel(ctx, op, ctx.pool)
    elif same(op.bounds[1], 0):
        frame.values[op.var], frame.depths[op.var] = ctx.index(0), 0
        ctx.lower(op.block)
    else:
        _loop(ctx, op, ctx.index(0), end)
    ctx.place(op)
    ctx.branch(none)
    ctx.start(none)


def _loop(ctx: Lowering, op: ForOp, begin: SSAValue, end: SSAValue) -> None:
    """A loop that is known to run at least once."""
    frame = ctx.frame
    body, after = ctx.new_block(i64), ctx.new_block()
    variable = body.args[0]
    variable.name_hint = op.var.name_hint
    frame.values[op.var], frame.depths[op.var] = variable, len(frame.scopes)
    ctx.branch(body, begin)
    ctx.start(body)
    frame.scopes.append(Scope(body))
    ctx.lower(op.block)
    frame.scopes.pop()
    ctx.place(op)
    following = ctx.plus(variable, ctx.index(1))
    again = ctx.icmp("slt", following, end)
    ctx.branch_if(again, body, after, passed=((following,), ()), attributes={UNROLL: _unroll(op)})
    ctx.start(after)


def _unroll(op: ForOp) -> Attribute:
    count = op.attributes.get("unroll")
    if isinstance(count, IntegerAttr):
        return IntegerAttr(count.value.data, i64)
    return StringAttr("full" if op.kind.data == "unrolled" else "disable")


def _if(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, IfOp)
    condition = Indices(ctx, op.indices).guard(op.guard.data)
    orelse = op.orelse.block if op.orelse is not None else None
    if isinstance(condition, bool):
        chosen = op.block if condition else orelse
        if chosen is not None:
            ctx.lower(chosen)
        return
    inside, after = ctx.new_block(), ctx.new_block()
    other = ctx.new_block() if orelse is not None else after
    ctx.branch_if(condition, inside, other)
    for target, block in ((inside, op.block), (other, orelse)):
        if block is not None:
            ctx.start(target)
            ctx.lower(block)
            ctx.place(op)
            ctx.branch(after)
    ctx.start(after)


def _while(ctx: Lowering, op: Operation) -> None:
    assert isinstance(op, WhileOp)
    condition = op.before.block.last_op
    assert isinstance(condition, ConditionOp)
    test, body, after = ctx.new_block(), ctx.new_block(), ctx.new_block()
    ctx.branch(test)
    ctx.start(test)
    ctx.frame.scopes.append(Scope(test))
    ctx.lower(op.before.block)
    ctx.place(op)
    ctx.branch_if(ctx.get(condition.condition), body, after)
    ctx.start(body)
    ctx.lower(op.block)
    ctx.place(op)
    ctx.branch(test)
    ctx.frame.scopes.pop()
    ctx.start(after)


def _condition(ctx: Lowering, op: Operation) -> None:
    """Emit nothing: the loop around reads the condition."""


def _parallel(ctx: Lowering, op: ForOp, pool: SSAValue) -> None:
    """Outline a loop: the pool calls a wrapper, which unpacks the captured values and calls the loop proper.

    Two functions, because only parameters can promise that buffers do not overlap.
    """
    outer = ctx.frame
    captured: list[SSAValue] = []
    constants: list[SSAValue] = []
    for value in captured_values(op):
        lowered = outer.values.get(value)
        is_constant = lowered is not None and isinstance(lowered.owner, llvm.ConstantOp)
        (constants if is_constant else captured).append(value)
    passed = [outer.places[v].pointer if v in outer.places else outer.values[v] for v in captured]
    passed += outer.sizes
    name = f"{ctx.symbol}_par{ctx.parallel}"
    ctx.parallel += 1
    _wrapper(ctx, name, [value.type for value in passed])
    _worker(ctx, op, name, captured, constants)
    ctx.place(op)
    context = _pack(ctx, passed)
    ctx.extern(PARALLEL_FOR, (PTR, PTR, PTR, i64), VOID)
    wrapper = ctx.value(llvm.AddressOfOp, (), PTR, {"global_name": SymbolRefAttr(name)})
    ctx.call(PARALLEL_FOR, (pool, wrapper, context, ctx.size(op.trip_count)))


def _field(ctx: Lowering, context: SSAValue, struct: Attribute, number: int) -> SSAValue:
    properties: dict[str, Attribute] = {
        "elem_type": struct,
        "rawConstantIndices": DenseArrayBase.from_list(i32, [0, number]),
        "noWrapFlags": IntegerAttr(0, i32),
        "inbounds": UnitAttr(),
    }
    return ctx.value(llvm.GEPOp, (context,), PTR, properties)


def _pack(ctx: Lowering, values: Sequence[SSAValue]) -> SSAValue:
    struct = llvm.LLVMStructType.from_type_list([value.type for value in values])
    context = ctx.alloca(struct, 1)
    for number, value in enumerate(values):
        ctx.emit(llvm.StoreOp, (value, _field(ctx, context, struct, number)))
    return context


def _wrapper(ctx: Lowering, name: str, types: Sequence[Attribute]) -> None:
    struct = llvm.LLVMStructType.from_type_list(types)
    with ctx.inside(ctx.function(name, (PTR, i64, i64), internal=True)) as frame:
        context, begin, end = frame.entry.args
        loaded = [
            ctx.value(llvm.LoadOp, (_field(ctx, context, struct, number),), type_) for number, type_ in enumerate(types)
        ]
        some, none = ctx.new_block(), ctx.new_block()
        ctx.branch_if(ctx.icmp("slt", begin, end), some, none)
        ctx.start(some)
        ctx.call(f"{name}_body", (*loaded, begin, end))
        ctx.branch(none)
        ctx.start(none)
        ctx.emit(llvm.ReturnOp, ())


def _worker(ctx: Lowering, op: ForOp, name: str, captured: Sequence[SSAValue], constants: Sequence[SSAValue]) -> None:
    """The function `name_body` of the captured values, begin and a greater end."""
    outer, pool = ctx.frame, ctx.pool
    types: list[Attribute] = []
    attributes: list[Mapping[str, Attribute]] = []
    for value in captured:
        place = outer.places.get(value)
        types.append(PTR if place is not None else outer.values[value].type)
        attributes.append(buffer_attributes(readonly=place.readonly) if place is not None else NO_FLAGS)
    types += [i64] * len(outer.sizes)
    attributes += [NO_FLAGS] * len(outer.sizes)
    function = ctx.function(
        f"{name}_body",
        (*types, i64, i64),
        parameter_attributes=(*attributes, NO_FLAGS, NO_FLAGS),
        internal=True,
        no_inline=True,
    )
    ctx.pool = None
    with ctx.inside(function) as frame:
        *arguments, begin, end = frame.entry.args
        frame.sizes = tuple(arguments[len(captured) :])
        for value, argument in zip(captured, arguments[: len(captured)], strict=True):
            if (place := outer.places.get(value)) is not None:
                frame.places[value] = Place(argument, place.aligned, place.readonly)
            else:
                frame.values[value] = argument
                frame.depths[value] = 0
        for value in constants:
            owner = outer.values[value].owner
            assert isinstance(owner, llvm.ConstantOp)
            frame.values[value], frame.depths[value] = ctx.constant(owner.value, owner.result.type), 0
        configurations = [inner for inner in walk(op) if isinstance(inner, TileConfigOp)]
        if len(configurations) == 1:
            # Once for all passes of the thread: it takes as long as a hundred vectors.
            ctx.place(configurations[0])
            configure(ctx, configurations[0])
            ctx.place(op)
        _loop(ctx, op, begin, end)
        ctx.give_back()
        ctx.emit(llvm.ReturnOp, ())
        ctx.check_taken()
    ctx.pool = pool


CONTROL: dict[type[Operation], Handler] = {ForOp: _for, IfOp: _if, WhileOp: _while, ConditionOp: _condition}
