"""Statements as ops of the tir dialect."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import tir
from ...dialects.affine import Range, below, bounds, flatten
from ...dialects.element_types import DTYPES
from ...dialects.relay.attributes import to_attribute
from ...dialects.sizes import Size, same
from ...dialects.sizes.kernel import affine_map, known, lifted
from ...dialects.tir.block import ITER_KINDS, BlockOp, InitOp
from ...dialects.tir.buffer import STACK_LIMIT
from ...dialects.tir.statements import ConditionOp
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import fail
from .blocks import Block as BlockStmt
from .blocks import BlockRealize, IterVar, MatchBufferRegion
from .declared_regions import check_regions
from .expr import Call, Expr, Extent, Joint, Var, convert
from .extents import Sizes, SymbolSizes, extent_value
from .locations import here
from .script_scalars import alternatives_of, guards_of
from .statement_scalars import StatementEmitter
from .statements import (
    KINDS,
    Allocate,
    AllocateConst,
    AssertStmt,
    Buffer,
    BufferStore,
    DeclBuffer,
    Evaluate,
    ExternCall,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    Pointer,
    SeqStmt,
    Stmt,
    While,
    stmts_in,
)
from .tensor import Tensor
from .walks import walk


class _Body:
    """The statements of one function on their way."""

    def __init__(self, name: str, buffers: Iterable[tuple[Buffer, SSAValue]], block: Block, sizes: Sizes):
        self.name = name
        self.block = block
        self.builder = LocatedBuilder(block, here(name))
        self.sizes = sizes
        self.tensors: dict[Tensor, SSAValue] = {}
        self.handles: dict[Var, SSAValue] = {}
        for buffer, argument in buffers:
            self.declare(buffer, argument)
        self.loops: dict[Var, AffineExpr] = {}
        self.limits: list[Range] = []
        self.indices: list[SSAValue] = []
        self.values: dict[Var, SSAValue] = {}
        self.parallel = 0
        """The number of parallel loops around."""

    def declare(self, buffer: Buffer, value: SSAValue) -> None:
        self.tensors[buffer.tensor] = self.handles[buffer.data] = value

    def emitter(self) -> StatementEmitter:
        return StatementEmitter(self.builder, self.sizes, self.name, self)

    def inside(self, block: Block, stmt: Stmt) -> None:
        with self.builder.at(block):
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        # One that names something is followed, not nested, in the ops, and there may be many.
        following: Stmt | None = stmt
        while following is not None:
            with self.builder.located(following.location):
                following = self._next(following)

    def _next(self, stmt: Stmt) -> Stmt | None:
        """Make the ops of a statement, up to the body of one that names something, which is returned."""
        match stmt:
            case LetStmt():
                self.values[stmt.var] = self.emitter().value(stmt.value.astype(stmt.var.dtype))
                return stmt.body
            case AssertStmt():
                holds = self.emitter().value(stmt.condition.astype("bool"))
                self.builder.add(tir.AssertOp.make(holds, str(stmt.message)))
                return stmt.body
            case Allocate():
                self._allocate(stmt.buffer, stmt.annotations)
                return stmt.body
            case AllocateConst():
                made = tir.AllocConstOp.make(stmt.data, self._type(stmt.buffer))
                self._named(stmt.buffer, self.builder.add(made).result)
                return stmt.body
            case DeclBuffer():
                self._view(stmt.buffer, stmt.source, stmt.indices, stmt.strides)
                return stmt.body
            case _:
                self._whole(stmt)
                return None

    def _whole(self, stmt: Stmt) -> None:
        match stmt:
            case SeqStmt():
                for inner in stmt.seq:
                    self.stmt(inner)
            case BufferStore():
                self._store(stmt)
            case For():
                self._loop(stmt)
            case IfThenElse():
                self._branch(stmt.condition, stmt.then_case, stmt.else_case)
            case While():
                loop = self.builder.add(tir.WhileOp.make())
                with self.builder.at(loop.before.block):
                    holds = self.emitter().value(stmt.condition.astype("bool"))
                    self.builder.add(ConditionOp.create(operands=[holds]))
                self.inside(loop.block, stmt.body)
            case BlockRealize():
                self._block(stmt)
            case BlockStmt() if not stmt.iter_vars:
                self._block(BlockRealize([], True, stmt))
            case Evaluate(value=Joint(op=Operation()) as value):
                self.emitter().copied(value)
            case Evaluate(value=ExternCall() as call):
                self._call(call)
            case Evaluate():
                pass
            case _:
                fail(f"tir: expected a statement, got {type(stmt).__name__}")

    def _store(self, stmt: BufferStore) -> None:
        buffer = self.tensors.get(stmt.buffer.tensor)
        if buffer is None:
            fail(f"tir.BufferStore: expected a parameter or an allocated buffer, got '{stmt.buffer.name}'")
        emitter = self.emitter()
        point, stride = emitter.place(stmt.buffer.name, stmt.indices)
        value = emitter.value(stmt.value.astype(stmt.dtype))
        self.builder.add(tir.StoreOp.make(value, buffer, *emitter.access(point), stride=stride))

    def _call(self, call: ExternCall) -> None:
        """A C function on buffers and on numbers that are known."""
        if call.packed:
            fail(f"tir.Evaluate: expected a C function, got the Python function '{call.callee}'; use te.extern for it")
        arguments: list[SSAValue] = []
        offsets: dict[int, SSAValue] = {}
        for argument in call.arguments:
            if isinstance(argument, Expr):
                handle = self.handles.get(argument) if isinstance(argument, Var) else None
                arguments.append(self.emitter().value(argument) if handle is None else handle)
                continue
            if isinstance(argument, Pointer):
                if not argument.is_whole:
                    offsets[len(arguments)] = self._offset(argument)
                argument = argument.buffer
            tensor = argument.tensor if isinstance(argument, Buffer) else argument
            if tensor not in self.tensors:
                fail(f"tir.Evaluate: expected a parameter or an allocated buffer, got '{argument.name}'")
            arguments.append(self.tensors[tensor])
        self.builder.add(tir.CallExternOp(call.callee, arguments, [], offsets))

    def _offset(self, pointer: Pointer) -> SSAValue:
        """The offset of a pointer; raises ScheduleError where it lies outside of the buffer in all iterations."""
        emitter, buffer = self.emitter(), pointer.buffer
        place = emitter.index(pointer.offset)
        if not buffer.strides and place.used_dims() <= set(range(len(self.limits))):
            size = prod((extent_value(extent, self.sizes) for extent in buffer.shape), start=cast(Any, 1))
            low, high = bounds(place, self.limits)
            if below(high, 0) or below(size, low):
                fail(
                    f"tir.Buffer.access_ptr: expected an offset in the {size} elements of '{buffer.name}', "
                    f"got {pointer.offset}"
                )
        map_, indices = emitter.access([place])
        return self.builder.add(tir.IndexOp.make(map_, indices, IndexType())).result

    def _type(self, buffer: Buffer, scope: str = "global") -> tir.BufferType:
        extents = [extent_value(extent, self.sizes) for extent in buffer.shape]
        return tir.BufferType.of(extents, DTYPES[buffer.dtype], scope)

    def _named(self, buffer: Buffer, value: SSAValue) -> None:
        value.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
        self.declare(buffer, value)

    def _allocate(self, buffer: Buffer, annotations: Mapping[str, Any]) -> None:
        is_own = buffer.scope() != "local" and self.parallel > 0
        # Each iteration of a parallel loop has its own.
        kept = Buffer(buffer.shape, buffer.dtype, buffer.name, "local") if is_own else buffer
        type_ = self._type(kept, "local" if kept.scope() == "local" else "global")
        if not self.limits and type_.is_static and known(type_.nbytes) > STACK_LIMIT:
            # No stack holds it, and it is one for the whole kernel.
            type_ = self._type(kept)
        alloc = tir.AllocOp(type_, kept.scope())
        alloc.attributes.update(attributes_of(annotations))
        if alloc.result.type.scope.data == "global":
            # Where they all are, at the top.
            alloc.location = self.builder.location
            first = next((op for op in self.block.ops if not isinstance(op, tir.AllocOp)), None)
            if first is None:
                self.block.add_op(alloc)
            else:
                self.block.insert_op_before(alloc, first)
        else:
            self.builder.add(alloc)
        self._named(buffer, alloc.result)

    def _view(
        self, buffer: Buffer, source: Buffer, start: Sequence[Expr], strides: Sequence[Extent] | None = None
    ) -> None:
        if source.tensor not in self.tensors:
            fail(f"tir.DeclBuffer: expected a parameter or an allocated buffer, got '{source.name}'")
        emitter = self.emitter()
        map_, indices = emitter.access([emitter.index(index) for index in start])
        steps = None if strides is None else [extent_value(step, self.sizes) for step in strides]
        whole = self.tensors[source.tensor]
        type_ = self._type(buffer, tir.buffer_of(whole).scope.data)
        made = tir.DeclBufferOp.make(whole, map_, indices, type_, steps)
        self._named(buffer, self.builder.add(made).result)

    def _match(self, view: MatchBufferRegion) -> None:
        """A view of the last dimensions of a region, the others of which have one element."""
        buffer, source, region = view.buffer, view.source.buffer, view.source.region
        self._view(buffer, source, [convert(one.min) for one in region])
        strides = tir.buffer_of(self.tensors[source.tensor]).strides[len(region) - len(buffer.shape) :]
        for wanted, stride in zip(buffer.strides, strides, strict=False):
            if isinstance(wanted, Var):
                self.loops[wanted] = lifted(stride)
            elif not same(extent_value(wanted, self.sizes), stride):
                fail(f"tir.match_buffer: expected the strides of '{source.name}', got {wanted} for {stride}")
        if isinstance(buffer.elem_offset, Var):
            emitter = self.emitter()
            points = [emitter.index(convert(one.min)) for one in region]
            self.loops[buffer.elem_offset] = flatten(points, tir.buffer_of(self.tensors[source.tensor]).strides)

    def _loop(self, stmt: For) -> None:
        emitter = self.emitter()
        start, extent = emitter.affine(stmt.min), emitter.affine(stmt.extent)
        if start is None or extent is None:
            fail(f"tir.For: expected bounds of numbers, sizes and loop variables, got {stmt.min} and {stmt.extent}")
        count, name = self._count(emitter, stmt.extent), stmt.loop_var.name
        is_parallel = ForKind(stmt.kind) is ForKind.PARALLEL
        loop = self.builder.add(
            tir.ForOp.make(count, KINDS[int(stmt.kind)], name if SSAValue.is_valid_name(name) else None)
        )
        loop.attributes.update(attributes_of(stmt.annotations))
        position = len(self.indices)
        self.indices.append(loop.var)
        self.limits.append((0, count - 1))
        self.loops[stmt.loop_var] = AffineDimExpr(position) + start
        self.parallel += is_parallel
        with self.builder.at(loop.block):
            if extent.used_dims():
                # As many rounds as the widest loop has, and a condition inside.
                guard = extent + AffineDimExpr(position) * -1 + -1
                branch = self.builder.add(tir.IfOp.make(*self.emitter().access([guard])))
                self.inside(branch.block, stmt.body)
            else:
                self.stmt(stmt.body)
        self.parallel -= is_parallel
        del self.loops[stmt.loop_var]
        self.indices.pop()
        self.limits.pop()

    def _block(self, stmt: BlockRealize) -> None:
        block, emitter = stmt.block, self.emitter()
        starts = [emitter.index(convert(var.dom.min)) for var in block.iter_vars]
        points = [emitter.index(value) - start for value, start in zip(stmt.iter_values, starts, strict=True)]
        axes = [(_kind(var), self._count(emitter, var.dom.extent)) for var in block.iter_vars]
        guards = [] if stmt.is_always else self._alternatives(emitter, stmt.predicate)
        map_, operands = emitter.access([*points, *(guard for each in guards for guard in each)])
        pieces = iter(map_.results)
        bound, *where = [affine_map(map_.num_dims, tuple(islice(pieces, len(each)))) for each in (points, *guards)]
        hints = [var.var.name if SSAValue.is_valid_name(var.var.name) else None for var in block.iter_vars]
        made = self.builder.add(BlockOp.make(block.name_hint, axes, bound, operands, where=where, hints=hints))
        made.attributes.update(attributes_of(block.annotations))
        position = len(self.indices)
        for argument, (_, extent), start, var in zip(made.block.args, axes, starts, block.iter_vars, strict=True):
            self.loops[var.var] = AffineDimExpr(len(self.indices)) + start
            self.indices.append(argument)
            self.limits.append((0, extent - 1))
        with self.builder.at(made.block):
            for buffer in block.alloc_buffers:
                self._allocate(buffer, {})
            for view in block.match_buffers:
                self._match(view)
            if block.init is not None:
                self.inside(self.builder.add(InitOp.make()).block, block.init)
            self.stmt(block.body)
            check_regions(block, made, self.tensors, self.emitter().affine, self.indices)
        del self.indices[position:], self.limits[position:]
        for var in block.iter_vars:
            del self.loops[var.var]

    def _count(self, emitter: StatementEmitter, extent: Extent) -> Size:
        """The most iterations that an extent gives."""
        form = emitter.affine(convert(extent))
        if form is None:
            fail(f"tir.For: expected bounds of numbers, sizes and loop variables, got {extent}")
        count = bounds(form, self.limits)[1]
        return max(0, count) if isinstance(count, int) else count

    def _alternatives(self, emitter: StatementEmitter, condition: Expr) -> list[list[AffineExpr]]:
        """Lists of expressions, of which in one all are at least 0 where the condition holds."""
        forms = alternatives_of(emitter, condition)
        # 1 where it holds.
        return [[emitter.index(condition.astype("int64")) - 1]] if forms is None else forms

    def _branch(self, condition: Expr, then: Stmt, otherwise: Stmt | None) -> None:
        emitter = self.emitter()
        is_likely = isinstance(condition, Call) and condition.name == "likely"
        condition = condition.a if isinstance(condition, Call) and is_likely else condition
        guards = guards_of(emitter, condition)
        if guards is None:
            # 1 where it holds.
            guards = [emitter.index(condition.astype("int64")) - 1]
        branch = self.builder.add(
            tir.IfOp.make(*emitter.access(guards), likely=is_likely, orelse=otherwise is not None)
        )
        self.inside(branch.block, then)
        if branch.orelse is not None and otherwise is not None:
            self.inside(branch.orelse.block, otherwise)


def _kind(var: IterVar) -> str:
    """The kind of a variable, which tir does not have for iterations in order."""
    return var.kind if var.kind in ITER_KINDS else "opaque"


def attributes_of(annotations: Mapping[str, Any]) -> dict[str, Attribute]:
    """Notes on a statement as attributes of its op."""
    return {key: value if isinstance(value, Attribute) else to_attribute(value) for key, value in annotations.items()}


def emit(
    name: str, buffers: Sequence[Buffer], body: Stmt, outputs: int | None = None, sizes: Sequence[str] = ()
) -> tir.PrimFuncOp:
    """The function of statements on buffers, the last of which are written.

    outputs: how many they are, if that is known. sizes: the names of its first sizes, in order, before those of shapes.
    Raises ScheduleError when one that is written stands before one that is not.
    """
    named = [
        node.name
        for buffer in buffers
        for extent in buffer.shape
        if isinstance(extent, Expr)
        for node in walk([extent])
        if isinstance(node, Var)
    ]
    names = list(dict.fromkeys([*sizes, *named]))
    values = SymbolSizes(names)
    for buffer in buffers:
        buffer.check_packed("tir.PrimFunc")
    types = [buffer_type(buffer, values) for buffer in buffers]
    if outputs is None:
        stored = _stored(body, buffers)
        written = [buffer in stored for buffer in buffers]
        outputs = sum(written)
        if not all(written[len(written) - outputs :]):
            order = ", ".join(buffer.name for buffer, is_output in zip(buffers, written, strict=True) if is_output)
            fail(f"tir.PrimFunc: expected what is written last among the parameters, got {order} elsewhere")
    op = tir.PrimFuncOp(name, types, outputs, list(names))
    op.location = here(name)
    for buffer, argument in zip(buffers, op.block.args, strict=True):
        argument.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
        argument.location = buffer.location
    _Body(name, zip(buffers, op.block.args, strict=True), op.block, values).stmt(body)
    return op


def filled(
    name: str, ins: tuple[Sequence[Buffer], Sequence[int]], outs: Sequence[Buffer], body: Stmt, sizes: Sizes
) -> Block:
    """Statements that fill buffers from others, as a block whose arguments are the inputs and then the outputs.

    ins: the inputs, and the number of the argument that each of them is. Raises ScheduleError where the statements
    write an input, or have no meaning here.
    """
    inputs, places = ins
    first = [inputs[places.index(place)] for place in sorted(set(places))]
    block = Block(arg_types=[buffer_type(buffer, sizes) for buffer in (*first, *outs)])
    stored = _stored(body, (*first, *outs), inputs)
    if written := [buffer.name for buffer in inputs if buffer in stored]:
        fail(f"te.extern '{name}': expected statements that read their inputs, got stores to {', '.join(written)}")
    count = len(first)
    tensors = [(buffer, block.args[place]) for buffer, place in zip(inputs, places, strict=True)]
    tensors += zip(outs, block.args[count:], strict=True)
    for buffer, argument in zip((*first, *outs), block.args, strict=True):
        argument.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
    _Body(name, tensors, block, sizes).stmt(body)
    return block


def buffer_type(buffer: Buffer, sizes: Sizes) -> tir.BufferType:
    extents = [extent_value(extent, sizes) for extent in buffer.shape]
    return tir.BufferType.of(extents, DTYPES[buffer.dtype], buffer.scope())


def _stored(body: Stmt, parameters: Iterable[Buffer], only_read: Collection[Buffer] = ()) -> set[Buffer]:
    """The buffers that statements write, through views of them, too.

    only_read: buffers that no function writes which is called with them as they are, not by a pointer.
    """
    buffers: set[Buffer] = set()
    owners = {buffer.data: buffer for buffer in parameters}
    handles: list[Var] = []
    sources: dict[Buffer, Buffer] = {}
    stack = [body]
    while stack:
        stmt = stack.pop()
        match stmt:
            case BufferStore():
                buffers.add(stmt.buffer)
            case Evaluate(value=ExternCall() as call):
                buffers.update(each.buffer for each in call.arguments if isinstance(each, Pointer) and each.writes)
                buffers.update(each for each in call.arguments if isinstance(each, Buffer) and each not in only_read)
            case Evaluate(value=Joint(op=tir.StoreOp() | tir.MaskedStoreOp()) as vector):
                handles += [part for part in vector.parts if isinstance(part, Var) and part.dtype == "handle"]
            case DeclBuffer():
                sources[stmt.buffer] = stmt.source
                owners[stmt.buffer.data] = stmt.buffer
            case BlockStmt():
                sources.update((view.buffer, view.source.buffer) for view in stmt.match_buffers)
                owners.update((view.buffer.data, view.buffer) for view in stmt.match_buffers)
            case _:
                pass
        stack += stmts_in(stmt)
    buffers.update(owners[handle] for handle in handles if handle in owners)
    viewed = [buffer for buffer in buffers if buffer in sources]
    for buffer in viewed:
        source: Buffer | None = buffer
        while (source := sources.get(source)) is not None:
            buffers.add(source)
    return buffers
