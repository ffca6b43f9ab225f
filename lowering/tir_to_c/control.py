"""Loops, conditions, assertions, and parallel loops as functions of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.tir import AllocOp, AssertOp, BufferType, ForOp, IfOp, TileConfigOp, WhileOp, buffer_of
from ...dialects.tir.control import captured_values
from ...dialects.tir.statements import ConditionOp
from ...provenance.diagnostics import describe
from ...provenance.walk import walk
from ..tir_to_llvm.memory import SPARE
from .context import Function, Handler, Name, Printing, buffer_name
from .memory import Indices
from .tiles import configure
from .types import c_type

_MOST_UNROLLED = 1 << 12


def _for(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, ForOp)
    extent = op.trip_count
    if isinstance(extent, int) and extent == 0:
        return
    if isinstance(extent, int) and extent == 1:
        ctx.names[op.var] = Name("0", "0")
        ctx.lower(op.block)
    elif op.kind.data == "parallel" and not ctx.in_parallel:
        _parallel(ctx, op)
    else:
        loop(ctx, op, "0", ctx.size(extent))


def loop(ctx: Printing, op: ForOp, begin: str, end: str) -> None:
    """A loop over some numbers."""
    name = ctx.unused(op.var.name_hint or "i")
    ctx.names[op.var] = Name(name, name)
    count = op.attributes.get("unroll")
    if isinstance(count, IntegerAttr):
        ctx.emit(f"WHENCE_UNROLL({count.value.data})")
    elif op.kind.data == "unrolled" and isinstance(op.trip_count, int) and op.trip_count <= _MOST_UNROLLED:
        ctx.emit(f"WHENCE_UNROLL({op.trip_count})")
    with ctx.braces(f"for (int64_t {name} = {begin}; {name} < {end}; {name}++)"):
        ctx.lower(op.block)


def _if(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, IfOp)
    condition = Indices(ctx, op.indices).guard(op.guard.data)
    orelse = op.orelse.block if op.orelse is not None else None
    if condition in ("true", "false"):
        block = op.block if condition == "true" else orelse
        if block is not None:
            with ctx.braces(""):
                ctx.lower(block)
        return
    with ctx.braces(f"if ({condition})"):
        ctx.lower(op.block)
    if orelse is not None:
        with ctx.braces("else"):
            ctx.lower(orelse)


def _while(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, WhileOp)
    condition = op.before.block.last_op
    assert isinstance(condition, ConditionOp)
    with ctx.braces("for (;;)"):
        ctx.lower(op.before.block)
        ctx.emit(f"if (!{ctx.names[condition.condition].text}) break;")
        ctx.lower(op.block)


def _condition(ctx: Printing, op: Operation) -> None:
    """Emit nothing: the loop around reads the condition."""


def _assert(ctx: Printing, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    where = describe(op.location)
    text = f"{op.message.data}{f' ({where})' if where else ''}"
    spelled = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )
    with ctx.braces(f"if (!{ctx.names[op.condition].text})"):
        ctx.emit(f'fputs("{spelled}\\n", stderr);')
        ctx.emit("abort();")


def take_memory(ctx: Printing, block: Block) -> None:
    """Take the buffers of open sizes of a function at its top; it returns where there is no memory."""
    for op in _own(block):
        type_ = buffer_of(op.result)
        name, element = ctx.unused(op.result.name_hint), buffer_name(type_, op)
        nbytes = ctx.size(type_.nbytes)
        spare = SPARE if type_.scope.data == "local" else 0
        bytes_ = f"({nbytes} + {spare} + 63) / 64 * 64"
        ctx.emit(f"{element} *restrict {name} = aligned_alloc(64, {bytes_});")
        with ctx.braces(f"if (!{name})"):
            ctx.emit(f"whence_alloc_refused({bytes_});")
            free_memory(ctx)
            ctx.emit("return;")
        ctx.function.taken.append(name)
        ctx.name_buffer(op.result, name)


def _own(block: Block) -> Sequence[AllocOp]:
    """The allocations of open sizes in a block that are not inside of a parallel loop of it."""
    allocations: list[AllocOp] = []
    for op in block.ops:
        if isinstance(op, AllocOp) and not op.result.type.is_static:
            allocations.append(op)
        if not (isinstance(op, ForOp) and op.kind.data == "parallel" and not (op.is_known and op.trip_count == 1)):
            for region in op.regions:
                allocations += [inner for block_ in region.blocks for inner in _own(block_)]
    return allocations


def give_back(ctx: Printing) -> None:
    """Release the tiles that the function configured, and free what it took."""
    if ctx.function.tiles is not None:
        ctx.emit("_tile_release();")
    free_memory(ctx)


def free_memory(ctx: Printing) -> None:
    """Free what the function took so far."""
    for name in reversed(ctx.function.taken):
        ctx.emit(f"free({name});")


def computes_floats(root: Operation) -> bool:
    """Return whether some op below makes new floats, which may be denormal."""
    return any(c_type(op, result.type).is_float for op in walk(root) for result in op.results if _computes(op))


def _computes(op: Operation) -> bool:
    return op.name.partition(".")[0] in ("arith", "math", "vector") or op.name in (
        "tir.cast",
        "tir.dot2_bf16",
        "tir.call_extern",
    )


def _parallel(ctx: Printing, op: ForOp) -> None:
    """Outline a loop: `whence_parallel_for` calls a wrapper, which unpacks the captured values and calls the loop.

    Two functions, because only parameters can promise that buffers do not overlap.
    """
    captured = [value for value in captured_values(op) if _is_passed(ctx, value)]
    constants = [value.owner for value in captured_values(op) if isinstance(value.owner, arith.ConstantOp)]
    name = f"{ctx.symbol}_par{ctx.parallel}"
    ctx.parallel += 1
    fields: list[tuple[str, str, str]] = []
    for value in captured:
        text = ctx.names[value].text
        fields.append((*_declared(ctx, op, value), text))
    fields += [("int64_t ", "int64_t ", size) for size in ctx.sizes if size.isidentifier()]
    names = [text for _, _, text in fields]
    body = Function()
    outside = {constant.results[0]: ctx.names[constant.results[0]] for constant in constants}
    ctx.in_parallel = True
    with ctx.inside(body):
        take_memory(ctx, op.block)
        for constant in dict.fromkeys(constants):
            ctx.lower_again(constant)
        configurations = [inner for inner in walk(op) if isinstance(inner, TileConfigOp)]
        if len(configurations) == 1:
            # Once for all passes of the thread: it takes as long as a hundred vectors.
            configure(ctx, configurations[0])
        loop(ctx, op, "begin", "end")
        give_back(ctx)
    ctx.in_parallel = False
    ctx.names |= outside
    flush = ctx.flush and computes_floats(op)
    parameters = ", ".join([*(f"{parameter}{text}" for _, parameter, text in fields), "int64_t begin", "int64_t end"])
    passed = ", ".join([*(f"c->{text}" for text in names), "begin", "end"])
    members = [f"  {member}{text};" for member, _, text in fields] or ["  int none;"]
    ctx.functions += [
        f"static WHENCE_APART void {name}_body({parameters}) {{",
        *body.lines,
        "}",
        f"struct {name} {{",
        *members,
        "};",
        f"static void {name}(void *context, int64_t begin, int64_t end) {{",
        *([f"  struct {name} *c = context;"] if names else ["  (void)context;"]),
        *(["  WHENCE_FLOATS_BEGIN"] if flush else []),
        f"  if (begin < end) {name}_body({passed});",
        *(["  WHENCE_FLOATS_END"] if flush else []),
        "}",
    ]
    context = f"context_{ctx.parallel}"
    ctx.emit(f"struct {name} {context} = {{{', '.join(names) or '0'}}};")
    ctx.emit(f"whence_parallel_for(pool, {name}, &{context}, {ctx.size(op.trip_count)});")


def _is_passed(ctx: Printing, value: SSAValue) -> bool:
    return not isinstance(value.owner, arith.ConstantOp) and ctx.names[value].text.isidentifier()


def _declared(ctx: Printing, op: Operation, value: SSAValue) -> tuple[str, str]:
    """The type of a captured value, as a member of a struct and as a parameter."""
    const = "const " if value in ctx.readonly else ""
    if isinstance(value.type, BufferType):
        element = buffer_name(value.type, op)
        return f"{const}{element} *", f"{const}{element} *restrict "
    type_ = c_type(op, value.type)
    if type_.lanes and not ctx.vectors:
        return f"const {type_.scalar} *", f"const {type_.scalar} *"
    return f"{ctx.spelled(type_)} ", f"{ctx.spelled(type_)} "


CONTROL: Mapping[type[Operation], Handler] = {
    ForOp: _for,
    IfOp: _if,
    WhileOp: _while,
    ConditionOp: _condition,
    AssertOp: _assert,
}
