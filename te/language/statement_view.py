"""Ops of tir as statements and expressions, at the places of the ops: the inverse of `emit`.

A value becomes part of the statement that uses it. It gets a name, by a `LetStmt`, where several statements use it,
where one inside a loop or a branch does, and where what it was loaded from is written before it is used. Ops that the
te language has no expression for, such as those of vectors, masks and tiles, are `te.Joint`s that hold the op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    LocationAttr,
    StringAttr,
    UnknownLoc,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from ...dialects import tir
from ...dialects.element_types import dtype_name, stored_type
from ...dialects.sizes import Size
from ...dialects.sizes.kernel import lifted
from ...dialects.tir.block import BlockOp, InitOp
from ...support.dtypes import BOOL, INT, fail, is_float, is_unsigned
from .affine_forms import AFFINE
from .blocks import ITER_TYPES as WORDS
from .blocks import Block as BlockStmt
from .blocks import BlockRealize, IterVar
from .expr import (
    Binary,
    Call,
    CallExtern,
    Cast,
    Compare,
    Const,
    Expr,
    Joint,
    Not,
    Range,
    Read,
    Reinterpret,
    Select,
    Var,
    binary,
    compare,
)
from .locations import located
from .named_values import named_values
from .operators import OF_FLOATS, OF_FUNCTIONS, OF_INTEGERS, OF_UNSIGNED, PREDICATES
from .statements import (
    KINDS,
    Allocate,
    AllocateConst,
    AssertStmt,
    Buffer,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from .tensor import Tensor
from .view_numbers import alike, as_integers, dtype_of, is_fast, is_true, number_of, other_sign
from .walks import at

_FUNCTIONS = OF_FUNCTIONS | {
    arith.NegfOp: "negative",
    math.AbsFOp: "abs",
    math.AbsIOp: "abs",
}
_CASTS: dict[type[Operation], str | None] = {
    arith.ExtSIOp: "int",
    arith.ExtUIOp: "uint",
    arith.TruncIOp: None,
    arith.SIToFPOp: "int",
    arith.UIToFPOp: "uint",
    arith.FPToSIOp: None,
    arith.FPToUIOp: None,
    arith.ExtFOp: None,
    arith.TruncFOp: None,
}
"""Casts, and the sort of integers that they take."""
ITER_TYPES = {name: number for number, name in WORDS.items()}
_JOINTS = {op.name: op.name.rpartition(".")[2] for op in (tir.DotBf16Op, tir.JoinBytesOp, tir.WidenPairsOp)}

_Part = Stmt | Callable[[Stmt], Stmt]
"""A statement, or what makes one of the statements behind it."""


def view(op: tir.PrimFuncOp, tensors: Sequence[Tensor] = ()) -> tuple[list[Buffer], Stmt]:
    """Return the buffers that are the arguments of a function, and its body.

    tensors: those whose elements the arguments are; accesses are of them then, not of buffers. Raises ScheduleError for
    an op that no statement stands for.
    """
    viewer = Viewer(op)
    buffers = [viewer.declared(argument, f"p{number}") for number, argument in enumerate(op.block.args)]
    for buffer, tensor in zip(buffers, tensors, strict=False):
        buffer.tensor = tensor
    with located(op.location):
        return buffers, viewer.block(op.block)


class Viewer:
    """The expressions of the values of a function, as far as they exist."""

    def __init__(self, func: tir.PrimFuncOp):
        self.values: dict[SSAValue, Expr] = {}
        self.buffers: dict[SSAValue, Buffer] = {}
        self.sizes = [Var(name, INT) for name in func.size_names]
        self.named = named_values(func)

    # Statements

    def block(self, block: Block) -> Stmt:
        """The statements of a block."""
        parts: list[tuple[_Part, LocationAttr]] = []
        for op in block.ops:
            with located(op.location):
                part = self._part(op)
            if part is not None:
                parts.append((part, op.location))
        stmts: list[Stmt] = []
        for part, location in reversed(parts):
            if isinstance(part, Stmt):
                stmts.append(part)
            else:
                with located(location):
                    stmts = [part(_joined(stmts))]
        return _joined(stmts)

    def _part(self, op: Operation) -> _Part | None:
        match op:
            case tir.StoreOp() if not isinstance(op.value.type, VectorType) and not self._is_word(op.buffer, op.value):
                buffer = self.buffers[op.buffer]
                value = as_integers(self.values[op.value], buffer.dtype)
                return BufferStore(buffer, value, self._points(op.map.data.results, op.indices))
            case tir.ForOp():
                return self._loop(op)
            case InitOp():
                return None
            case tir.IfOp():
                condition = self._holds(op.guard.data.results, op.indices)
                condition = Call("likely", condition) if op.likely else condition
                orelse = None if op.orelse is None else self.block(op.orelse.block)
                return IfThenElse(condition, self.block(op.block), orelse)
            case BlockOp():
                return self._block(op)
            case tir.WhileOp():
                *before, last = op.before.block.ops
                for inner in before:
                    if self._part(inner) is not None:
                        fail(f"tir: expected a condition of values alone, got {inner.name} in that of a tir.while")
                return While(self.values[last.operands[0]], self.block(op.block))
            case tir.AssertOp():
                return AssertStmt(self.values[op.condition], op.message.data)
            case tir.AllocOp():
                return partial(Allocate, self.declared(op.result, "buf"), annotations=notes_of(op))
            case tir.AllocConstOp():
                return partial(AllocateConst, self.declared(op.result, "const"), op.value)
            case tir.DeclBufferOp():
                points = self._points(op.map.data.results, op.indices)
                steps = None if op.steps is None else list(map(self.size, op.steps))
                return partial(DeclBuffer, self.declared(op.result, "view"), self.buffers[op.buffer], points, steps)
            case _ if op.regions:
                fail(
                    f"tir.PrimFunc: expected loops, branches and accesses, got {op.name}, which no statement stands for"
                )
            case _ if len(op.results) == 1:
                return self._value(op)
            case _:
                return Evaluate(self._copied(op))

    def _loop(self, op: tir.ForOp) -> Stmt:
        var = self.values[op.var] = Var(op.var.name_hint or "i", INT)
        kind = KINDS.index(op.kind.data)
        return For(var, 0, self.size(op.trip_count), kind, self.block(op.block), annotations=notes_of(op))

    def _block(self, op: BlockOp) -> Stmt:
        points = self._points(op.map.data.results, op.indices)
        holds = [self._holds(guard.results, op.indices) for guard in op.guards if guard.results]
        variables = [
            IterVar(Range(0, self.size(extent)), Var(argument.name_hint or f"v{number}", INT), ITER_TYPES[kind.data])
            for number, (argument, kind, extent) in enumerate(zip(op.block.args, op.kinds, op.domain, strict=True))
        ]
        self.values.update(zip(op.block.args, (variable.var for variable in variables), strict=True))
        init = None if op.init is None else self.block(op.init.block)
        block = BlockStmt(variables, None, None, op.label.data, self.block(op.block), init, annotations=notes_of(op))
        return BlockRealize(points, reduce(partial(Binary, "or"), holds) if holds else True, block)

    def _value(self, op: Operation) -> _Part | None:
        result = op.results[0]
        value = self.values[result] = at(self._expression(op), _place(op))
        if op not in self.named:
            return None
        var = self.values[result] = Var(result.name_hint or f"v{len(self.values)}", value.dtype)
        return partial(LetStmt, var, value)

    def declared(self, value: SSAValue, otherwise: str) -> Buffer:
        """The buffer that a value is."""
        type_ = tir.buffer_of(value)
        shape = [self.size(extent) for extent in type_.get_shape()]
        with located(value.location if isinstance(value, BlockArgument) else cast(Operation, value.owner).location):
            buffer = Buffer(shape, dtype_name(type_.element_type), value.name_hint or otherwise, _scope(value))
        self.buffers[value] = buffer
        return buffer

    # Expressions

    def _expression(self, op: Operation) -> Expr:
        """The value of an op whose operands have theirs."""
        kind = type(op)
        if any(isinstance(value.type, VectorType) for value in (*op.operands, *op.results)) or is_fast(op):
            return self._copied(op)
        dtype = dtype_of(op.results[0].type)
        match op:
            case arith.ConstantOp():
                return number_of(op.value, dtype)
            case tir.IndexOp():
                return self.affine(op.map.data.results[0], op.indices)
            case tir.LoadOp() if not self._is_word(op.buffer, op.result):
                return self._load(op)
            case arith.IndexCastOp():
                value = self.values[op.input]
                return value if isinstance(op.result.type, IndexType) else value.astype(dtype)
            case arith.CmpiOp() | arith.CmpfOp():
                return self._or_copy(self._comparison(op), op)
            case arith.XOrIOp() if dtype == BOOL and is_true(op.rhs):
                return Not(self.values[op.lhs])
            case arith.SelectOp():
                then, otherwise = alike(self.values[op.lhs], self.values[op.rhs])
                return Select(self.values[op.cond], then, otherwise, guarded=False)
            case arith.BitcastOp():
                return Reinterpret(dtype, self.values[op.input])
            case math.FmaOp():
                return Joint(dtype, "fma", tuple(self.values[part] for part in op.operands))
            case tir.CallExternOp() if all(value in self.values for value in op.arguments):
                return CallExtern(dtype, op.callee.data, tuple(self.values[value] for value in op.arguments))
            case _ if kind in _CASTS:
                return self._cast(op, dtype)
            case _ if kind in _FUNCTIONS:
                return Call(_FUNCTIONS[kind], self.values[op.operands[0]])
            case _ if op.name in _JOINTS:
                return Joint(dtype, _JOINTS[op.name], tuple(self.values[part] for part in op.operands))
            case _ if len(op.operands) == 2 and all(operand in self.values for operand in op.operands):
                return self._or_copy(self._binary(op), op)
            case _:
                return self._copied(op)

    def _binary(self, op: Operation) -> Expr | None:
        a, b = (self.values[operand] for operand in op.operands)
        if isinstance(op.results[0].type, IndexType):
            a, b = a.astype("int64"), b.astype("int64")
        a, b = alike(a, b)
        if is_float(a.dtype):
            name = OF_FLOATS.get(type(op))
            return None if name is None else Binary(name, a, b)
        own, other = (OF_UNSIGNED, OF_INTEGERS) if is_unsigned(a.dtype) else (OF_INTEGERS, OF_UNSIGNED)
        if (name := own.get(type(op))) is None and (name := other.get(type(op))) is not None:
            wanted = other_sign(a.dtype)
            a, b = as_integers(a, wanted), as_integers(b, wanted)
        return None if name is None else Binary(name, a, b)

    def _comparison(self, op: arith.CmpiOp | arith.CmpfOp) -> Expr | None:
        a, b = self.values[op.lhs], self.values[op.rhs]
        if isinstance(op.lhs.type, IndexType):
            a, b = a.astype("int64"), b.astype("int64")
        a, b = alike(a, b)
        words = arith.CMPF_COMPARISON_OPERATIONS if isinstance(op, arith.CmpfOp) else arith.CMPI_COMPARISON_OPERATIONS
        word = words[op.predicate.value.data]
        for name, (of_floats, of_signed, of_unsigned) in PREDICATES.items():
            if isinstance(op, arith.CmpfOp):
                if word == of_floats:
                    return Compare(name, a, b)
            elif word in (of_signed, of_unsigned):
                if of_signed != of_unsigned and is_unsigned(a.dtype) != (word == of_unsigned):
                    wanted = other_sign(a.dtype)
                    a, b = as_integers(a, wanted), as_integers(b, wanted)
                return Compare(name, a, b)
        return None

    def _cast(self, op: Operation, dtype: str) -> Expr:
        value, sort = self.values[op.operands[0]], _CASTS[type(op)]
        if sort is not None and value.dtype != BOOL and is_unsigned(value.dtype) != (sort == "uint"):
            value = as_integers(value, other_sign(value.dtype))
        if value.dtype == BOOL and sort == "int":
            return self._copied(op)
        if isinstance(op, arith.FPToUIOp):
            dtype = other_sign(dtype)
        return Cast(dtype, value) if dtype != BOOL else self._copied(op)

    def _load(self, op: tir.LoadOp) -> Expr:
        buffer = self.buffers[op.buffer]
        read = Read(buffer.tensor, tuple(self._points(op.map.data.results, op.indices)))
        if op.guard is None or op.otherwise is None:
            return read
        if tir.PAST_THE_END in op.attributes:
            return self._copied(op)
        holds = self._holds(op.guard.data.results, op.indices)
        return Select(holds, at(read, _place(op)), number_of(op.otherwise, buffer.dtype), guarded=True)

    def _copied(self, op: Operation) -> Joint:
        """A copy of the op, for the expressions of its operands."""
        parts = [self._operand(value) for value in op.operands]
        dtype = dtype_of(op.results[0].type) if op.results else "handle"
        return Joint(dtype, _template(op), tuple(parts))

    def _or_copy(self, made: Expr | None, op: Operation) -> Expr:
        return self._copied(op) if made is None else made

    def _operand(self, value: SSAValue) -> Expr:
        if value in self.buffers:
            return self.buffers[value].data
        return Cast("index", self.values[value]) if isinstance(value.type, IndexType) else self.values[value]

    def _is_word(self, buffer: SSAValue, value: SSAValue) -> bool:
        return value.type != stored_type(tir.buffer_of(buffer).element_type)

    # Indices and sizes

    def _points(self, results: Iterable[AffineExpr], operands: Sequence[SSAValue]) -> list[Expr]:
        return [self.affine(result, operands) for result in results]

    def affine(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> Expr:
        """An affine expression of index values; a sum with a minus where a factor is negative."""
        match expr:
            case AffineConstantExpr(value):
                return Const(value, INT)
            case AffineDimExpr(position):
                return self.values[operands[position]]
            case AffineSymExpr(position):
                return self.sizes[position]
            case AffineBinaryOpExpr(kind, lhs, rhs):
                a = self.affine(lhs, operands)
                if kind is AffineBinaryOpKind.Add:
                    for one, other in ((rhs, a), (lhs, None)):
                        factor, rest = _factor(one)
                        if factor < 0:
                            kept = self.affine(rhs, operands) if other is None else other
                            return binary("sub", kept, binary("mul", self.affine(rest, operands), -factor))
                return binary(AFFINE[kind], a, self.affine(rhs, operands))
            case _:
                fail(f"tir: expected an affine index, got {expr}")

    def size(self, size: Size) -> Any:
        return size if isinstance(size, int) else self.affine(lifted(size), ())

    def _holds(self, guards: Sequence[AffineExpr], operands: Sequence[SSAValue]) -> Expr:
        """The condition that all guards are at least 0."""
        conditions = [self._guard(guard, operands) for guard in guards]
        holds = conditions[0]
        for condition in conditions[1:]:
            holds = Binary("and", holds, condition)
        return holds

    def _guard(self, guard: AffineExpr, operands: Sequence[SSAValue]) -> Compare:
        """`i * 4 + j < 10` for a guard `9 - i * 4 - j`."""
        constant_, more, less = 0, list[AffineExpr](), list[AffineExpr]()
        for term in _terms(guard):
            factor, rest = _factor(term)
            if isinstance(rest, AffineConstantExpr):
                constant_ += factor * rest.value
            else:
                (more if factor > 0 else less).append(rest * abs(factor))
        left, right = (self._sum(side, operands) for side in (less, more))
        if right is None:
            return compare("lt", Const(0, INT) if left is None else left, constant_ + 1)
        if left is None:
            return compare("ge", right, -constant_)
        return compare("lt", left, right) if constant_ == -1 else compare("le", left, right + constant_)

    def _sum(self, terms: Sequence[AffineExpr], operands: Sequence[SSAValue]) -> Expr | None:
        parts = self._points(terms, operands)
        total = parts[0] if parts else None
        for part in parts[1:]:
            assert total is not None
            total = binary("add", total, part)
        return total


def _joined(reversed_stmts: Sequence[Stmt]) -> Stmt:
    stmts = list(reversed(reversed_stmts))
    if not stmts:
        return Evaluate(0)
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)


def _terms(expr: AffineExpr) -> list[AffineExpr]:
    """The summands of an affine expression."""
    terms, stack = list[AffineExpr](), [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, AffineBinaryOpExpr) and one.kind is AffineBinaryOpKind.Add:
            stack += (one.rhs, one.lhs)
        else:
            terms.append(one)
    return terms


def _factor(term: AffineExpr) -> tuple[int, AffineExpr]:
    """A summand as a number times an expression."""
    match term:
        case AffineConstantExpr(value):
            return (-1, AffineConstantExpr(-value)) if value < 0 else (1, term)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, AffineConstantExpr(value)) if value:
            return value, lhs
        case _:
            return 1, term


def _scope(value: SSAValue) -> str:
    """The scope that somebody asked for a buffer, or for that of a view."""
    while isinstance(value.owner, tir.DeclBufferOp):
        value = value.owner.buffer
    return value.owner.asked if isinstance(value.owner, tir.AllocOp) else tir.buffer_of(value).scope.data


def _place(op: Operation) -> LocationAttr | None:
    return None if isinstance(op.location, UnknownLoc) else op.location


def _python(value: Attribute) -> Any:
    """A note on a statement in Python's terms, if that says the same."""
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, IntegerAttr) and cast("Attribute", value.type) == i64:
        return value.value.data
    if isinstance(value, IntegerAttr) and cast("Attribute", value.type) == i1:
        return bool(value.value.data)
    return cast("Attribute", value)


def notes_of(op: Operation) -> dict[str, Any]:
    """Return the notes on an op, in Python's terms where they have any."""
    return {key: _python(value) for key, value in op.attributes.items()}


def _template(op: Operation) -> Operation:
    """The op without its operands."""
    made = type(op).create(result_types=op.result_types, properties=dict(op.properties), attributes=dict(op.attributes))
    made.location = op.location
    return made
