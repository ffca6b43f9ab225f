"""Statements as ops of the tir dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects import tir
from ...dialects.affine import Range, bounds
from ...dialects.element_types import DTYPES
from ...dialects.relay.attributes import to_attribute
from ...dialects.sizes.kernel import affine_map, at_least, lifted
from ...dialects.tir.statements import ConditionOp
from ...provenance.builder import LocatedBuilder
from ...support.dtypes import fail
from .expr import Binary, Call, Cast, Const, Expr, Joint, Read, Select, Var
from .extents import Sizes, SymbolSizes, extent_value
from .locations import here
from .scalars import number_attribute, scalar_type
from .script_scalars import TirEmitter, guards_of
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
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    stmts_in,
)
from .tensor import Tensor, tensor_of
from .walks import walk


class _Emitter(TirEmitter):
    """Expressions whose variables are loops'."""

    def __init__(self, builder: LocatedBuilder, tensors: dict[Tensor, SSAValue], sizes: Sizes, name: str, body: _Body):
        super().__init__(builder, tensors, sizes, name, (), body.indices, body.values)
        self._loops = dict(body.loops)
        self._limits = list(body.limits)
        self._handles = body.handles

    def _form(self, expr: Expr) -> AffineExpr | None:
        if isinstance(expr, Var) and expr in self._loops:
            return self._loops[expr]
        return super()._form(expr)

    def _ranges(self) -> list[Range]:
        return self._limits

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        match expr:
            case Var() if expr in self._loops:
                index = self.index_value(self._loops[expr])
            case Binary() if (form := self._sum(expr)) is not None:
                index = self.index_value(form)
            case Select(true_value=Read() as read, false_value=Const() as number) if guards := self._guards(expr):
                return self._guarded_load(read, guards, number)
            case Joint(op=Operation()):
                result = self.copied(expr).results[0]
                if not isinstance(result.type, IndexType):
                    return result
                index = result
            case _:
                return super()._value(expr, guarded)
        return self.builder.add(arith.IndexCastOp(index, scalar_type(expr.dtype))).result

    def _sum(self, expr: Expr) -> AffineExpr | None:
        """The index that, cut to the dtype, has the bits of arithmetic of loops, if an expression is such."""
        if not isinstance(expr, Binary) or expr.op not in ("add", "sub", "mul"):
            return None
        form = self.affine(expr)
        return form if form is not None and form.used_dims() else None

    def _guards(self, expr: Expr) -> list[AffineExpr] | None:
        """The guards under which an expression is an element, and elsewhere a number, if it is such a one."""
        match expr:
            case Select(guarded=True, true_value=Read(otherwise=None), false_value=Const()):
                return guards_of(self, expr.condition)
            case _:
                return None

    def _guarded_load(self, read: Read, guards: Sequence[AffineExpr], number: Const) -> SSAValue:
        """The element where the guards hold and the point is inside, the number elsewhere."""
        buffer = self.tensors[tensor_of(read)]
        point = [self.index(index) for index in read.indices]
        shape = [lifted(extent) for extent in tir.buffer_of(buffer).get_shape()]
        sides = [*point, *(at * -1 + extent - 1 for at, extent in zip(point, shape, strict=True))]
        known = {str(guard.simplify(len(self.indices), 0)) for guard in guards}
        outside = [
            side
            for side in sides
            if not at_least(bounds(side, self._limits)[0], 0) and str(side.simplify(len(self.indices), 0)) not in known
        ]
        map_, operands = self.access([*point, *guards, *outside])
        places, conditions = map_.results[: len(point)], map_.results[len(point) :]
        load = tir.LoadOp.make(
            buffer,
            affine_map(map_.num_dims, places),
            operands,
            guard=affine_map(map_.num_dims, conditions),
            otherwise=number_attribute(number.value, scalar_type(read.dtype)),
        )
        with self.builder.located(read.location or self.builder.location):
            return self.builder.add(load).result

    def _operands(self, expr: Expr, guarded: bool) -> list[tuple[Expr, bool]]:
        if isinstance(expr, Joint) and isinstance(expr.op, Operation):
            return [(part, guarded) for part in expr.parts if not self._is_place(part)]
        if self._guards(expr) or self._sum(expr) is not None:
            return []
        return super()._operands(expr, guarded)

    def _is_place(self, part: Expr) -> bool:
        """Return whether a part of a copy is a buffer or an index."""
        return (isinstance(part, Var) and part in self._handles) or (isinstance(part, Cast) and part.dtype == "index")

    def copied(self, expr: Joint) -> Operation:
        """The copy of an op that an expression holds, of its operands."""
        op = cast(Operation, expr.op)
        return self.builder.add(
            type(op).create(
                operands=[self._operand(part) for part in expr.parts],
                result_types=op.result_types,
                properties=dict(op.properties),
                attributes=dict(op.attributes),
            )
        )

    def _operand(self, part: Expr) -> SSAValue:
        match part:
            case Var() if part in self._handles:
                return self._handles[part]
            case Cast(dtype="index", a=a):
                form = self.index(a)
                return self.indices[form.position] if isinstance(form, AffineDimExpr) else self.index_value(form)
            case _:
                return self.value(part)


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

    def declare(self, buffer: Buffer, value: SSAValue) -> None:
        self.tensors[buffer.tensor] = self.handles[buffer.data] = value

    def emitter(self) -> _Emitter:
        return _Emitter(self.builder, self.tensors, self.sizes, self.name, self)

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
                self._allocate(stmt)
                return stmt.body
            case AllocateConst():
                made = tir.AllocConstOp.make(stmt.data, self._type(stmt.buffer))
                self._named(stmt.buffer, self.builder.add(made).result)
                return stmt.body
            case DeclBuffer():
                self._view(stmt)
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
        point = [emitter.index(index) for index in stmt.indices]
        value = emitter.value(stmt.value.astype(stmt.buffer.dtype))
        self.builder.add(tir.StoreOp.make(value, buffer, *emitter.access(point)))

    def _call(self, call: ExternCall) -> None:
        """A C function on buffers and on numbers that are known."""
        if call.packed:
            fail(f"tir.Evaluate: expected a C function, got the Python function '{call.callee}'; use te.extern for it")
        arguments: list[SSAValue] = []
        for argument in call.arguments:
            if isinstance(argument, Buffer):
                if argument.tensor not in self.tensors:
                    fail(f"tir.Evaluate: expected a parameter or an allocated buffer, got '{argument.name}'")
                arguments.append(self.tensors[argument.tensor])
            elif isinstance(argument, Expr):
                handle = self.handles.get(argument) if isinstance(argument, Var) else None
                arguments.append(self.emitter().value(argument) if handle is None else handle)
        self.builder.add(tir.CallExternOp(call.callee, arguments, []))

    def _type(self, buffer: Buffer) -> tir.BufferType:
        return buffer_type(buffer, self.sizes)

    def _named(self, buffer: Buffer, value: SSAValue) -> None:
        value.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
        self.declare(buffer, value)

    def _allocate(self, stmt: Allocate) -> None:
        alloc = tir.AllocOp(self._type(stmt.buffer))
        alloc.attributes.update(attributes_of(stmt.annotations))
        if stmt.buffer.scope() == "global":
            # Where they all are, at the top.
            alloc.location = self.builder.location
            first = next((op for op in self.block.ops if not isinstance(op, tir.AllocOp)), None)
            if first is None:
                self.block.add_op(alloc)
            else:
                self.block.insert_op_before(alloc, first)
        else:
            self.builder.add(alloc)
        self._named(stmt.buffer, alloc.result)

    def _view(self, stmt: DeclBuffer) -> None:
        emitter = self.emitter()
        map_, indices = emitter.access([emitter.index(index) for index in stmt.indices])
        steps = None if stmt.strides is None else [extent_value(step, self.sizes) for step in stmt.strides]
        source = self.tensors[stmt.source.tensor]
        made = tir.DeclBufferOp.make(source, map_, indices, self._type(stmt.buffer), steps)
        self._named(stmt.buffer, self.builder.add(made).result)

    def _loop(self, stmt: For) -> None:
        emitter = self.emitter()
        start, extent = emitter.affine(stmt.min), emitter.affine(stmt.extent)
        if start is None or extent is None:
            fail(f"tir.For: expected bounds of numbers, sizes and loop variables, got {stmt.min} and {stmt.extent}")
        count = bounds(extent, self.limits)[1]
        name = stmt.loop_var.name
        count = max(0, count) if isinstance(count, int) else count
        loop = self.builder.add(
            tir.ForOp.make(count, KINDS[int(stmt.kind)], name if SSAValue.is_valid_name(name) else None)
        )
        loop.attributes.update(attributes_of(stmt.annotations))
        position = len(self.indices)
        self.indices.append(loop.var)
        self.limits.append((0, count - 1))
        self.loops[stmt.loop_var] = AffineDimExpr(position) + start
        with self.builder.at(loop.block):
            if extent.used_dims():
                # As many rounds as the widest loop has, and a condition inside.
                guard = extent + AffineDimExpr(position) * -1 + -1
                branch = self.builder.add(tir.IfOp.make(*self.emitter().access([guard])))
                self.inside(branch.block, stmt.body)
            else:
                self.stmt(stmt.body)
        del self.loops[stmt.loop_var]
        self.indices.pop()
        self.limits.pop()

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
        stored = _stored(body)
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
    stored = _stored(body)
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


def _stored(body: Stmt) -> set[Buffer]:
    buffers: set[Buffer] = set()
    stack = [body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, BufferStore):
            buffers.add(stmt.buffer)
        elif isinstance(stmt, Evaluate) and isinstance(stmt.value, ExternCall):
            buffers.update(argument for argument in stmt.value.arguments if isinstance(argument, Buffer))
        stack += stmts_in(stmt)
    return buffers
