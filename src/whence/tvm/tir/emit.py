"""Statements as ops of the tir dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from whence.dialects import tir
from whence.dialects.affine import Range, bounds
from whence.dialects.element_types import DTYPES
from whence.dialects.tir.statements import ConditionOp
from whence.provenance.builder import LocatedBuilder
from whence.support.dtypes import fail
from whence.te.language.expr import Expr, Var
from whence.te.language.extents import Sizes, SymbolSizes, extent_value
from whence.te.language.locations import here
from whence.te.language.scalars import scalar_type
from whence.te.language.script_scalars import TirEmitter, guards_of
from whence.te.language.tensor import Tensor
from whence.te.language.walks import walk
from whence.tir.statements import (
    KINDS,
    Allocate,
    AssertStmt,
    Buffer,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    stmts_in,
)


class _Emitter(TirEmitter):
    """Expressions whose variables are loops'."""

    def __init__(self, builder: LocatedBuilder, tensors: dict[Tensor, SSAValue], sizes: Sizes, name: str, body: _Body):
        super().__init__(builder, tensors, sizes, name, (), body.indices, body.values)
        self._loops = dict(body.loops)
        self._limits = list(body.limits)

    def _form(self, expr: Expr) -> AffineExpr | None:
        if isinstance(expr, Var) and expr in self._loops:
            return self._loops[expr]
        return super()._form(expr)

    def _ranges(self) -> list[Range]:
        return self._limits

    def _value(self, expr: Expr, guarded: bool) -> SSAValue:
        if isinstance(expr, Var) and expr in self._loops:
            index = self.index_value(self._loops[expr])
            return self.builder.add(arith.IndexCastOp(index, scalar_type(expr.dtype))).result
        return super()._value(expr, guarded)


class _Body:
    """The statements of one function on their way."""

    def __init__(self, name: str, buffers: Sequence[Buffer], op: tir.PrimFuncOp, sizes: Sizes):
        self.name = name
        self.op = op
        self.builder = LocatedBuilder(op.block, here(name))
        self.sizes = sizes
        self.tensors: dict[Tensor, SSAValue] = {
            buffer.tensor: argument for buffer, argument in zip(buffers, op.block.args, strict=True)
        }
        self.loops: dict[Var, AffineExpr] = {}
        self.limits: list[Range] = []
        self.indices: list[SSAValue] = []
        self.values: dict[Var, SSAValue] = {}

    def emitter(self) -> _Emitter:
        return _Emitter(self.builder, self.tensors, self.sizes, self.name, self)

    def inside(self, block: Block, stmt: Stmt) -> None:
        with self.builder.at(block):
            self.stmt(stmt)

    def stmt(self, stmt: Stmt) -> None:
        with self.builder.located(stmt.location):
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
                case LetStmt():
                    self.values[stmt.var] = self.emitter().value(stmt.value.astype(stmt.var.dtype))
                    self.stmt(stmt.body)
                case AssertStmt():
                    holds = self.emitter().value(stmt.condition.astype("bool"))
                    self.builder.add(tir.AssertOp.make(holds, str(stmt.message)))
                    if stmt.body is not None:
                        self.stmt(stmt.body)
                case Allocate():
                    self._allocate(stmt.buffer)
                    self.stmt(stmt.body)
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

    def _allocate(self, buffer: Buffer) -> None:
        extents = [extent_value(extent, self.sizes) for extent in buffer.shape]
        alloc = tir.AllocOp(tir.BufferType.of(extents, DTYPES[buffer.dtype], buffer.scope()))
        alloc.result.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
        block = self.op.block if buffer.scope() == "global" else self.builder.block
        with self.builder.at(block):
            if block is self.builder.block is self.op.block and (first := block.first_op) is not None:
                alloc.location = self.builder.location
                block.insert_op_before(alloc, first)
            else:
                self.builder.add(alloc)
        self.tensors[buffer.tensor] = alloc.result

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
        guards = guards_of(emitter, condition)
        if guards is None:
            # 1 where it holds.
            guards = [emitter.index(condition.astype("int64")) - 1]
        branch = self.builder.add(tir.IfOp.make(*emitter.access(guards), orelse=otherwise is not None))
        self.inside(branch.block, then)
        if branch.orelse is not None and otherwise is not None:
            self.inside(branch.orelse.block, otherwise)


def emit(name: str, buffers: Sequence[Buffer], body: Stmt) -> tir.PrimFuncOp:
    """The function of statements on buffers, the last of which are written.

    Raises ScheduleError when one that is written stands before one that is not.
    """
    names = dict.fromkeys(
        node.name
        for buffer in buffers
        for extent in buffer.shape
        if isinstance(extent, Expr)
        for node in walk([extent])
        if isinstance(node, Var)
    )
    sizes = SymbolSizes(names)
    types = [
        tir.BufferType.of([extent_value(extent, sizes) for extent in buffer.shape], DTYPES[buffer.dtype])
        for buffer in buffers
    ]
    written = [buffer in _stored(body) for buffer in buffers]
    outputs = sum(written)
    if not all(written[len(written) - outputs :]):
        order = ", ".join(buffer.name for buffer, is_output in zip(buffers, written, strict=True) if is_output)
        fail(f"tir.PrimFunc: expected the buffers that are written last among the parameters, got {order} elsewhere")
    op = tir.PrimFuncOp(name, types, outputs, list(names))
    op.location = here(name)
    for buffer, argument in zip(buffers, op.block.args, strict=True):
        argument.name_hint = buffer.name if SSAValue.is_valid_name(buffer.name) else None
        argument.location = buffer.location
    _Body(name, buffers, op, sizes).stmt(body)
    return op


def _stored(body: Stmt) -> set[Buffer]:
    buffers: set[Buffer] = set()
    stack = [body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, BufferStore):
            buffers.add(stmt.buffer)
        stack += stmts_in(stmt)
    return buffers
