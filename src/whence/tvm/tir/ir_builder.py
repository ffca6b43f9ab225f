"""Statements in the order in which a person writes them, TVM's `ir_builder`.

>>> ib = tir.ir_builder.create()
>>> A, B = ib.pointer("float32", (64,), name="A"), ib.pointer("float32", (64,), name="B")
>>> with ib.for_range(0, 64, kind="parallel") as i:
...     B[i] = A[i] * 2.0
>>> func = tir.PrimFunc([A.buffer, B.buffer], ib.get())
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from whence.support.dtypes import fail
from whence.te.language.expr import Expr, ExprLike, Extent, Var, convert
from whence.te.language.locations import passed_over
from whence.te.language.math import likely
from whence.te.language.statements import (
    Allocate,
    Buffer,
    BufferStore,
    Evaluate,
    ExternCall,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from whence.te.schedule.intrin import Tile

passed_over(__name__)


class BufferVar:
    """A buffer as `A[i]`, and `A[i] = value`."""

    def __init__(self, builder: IRBuilder, buffer: Buffer):
        self._builder = builder
        self.buffer = buffer

    @property
    def dtype(self) -> str:
        return self.buffer.dtype

    def __getitem__(self, index: Any) -> Any:
        return self.buffer[index]

    def __setitem__(self, index: Any, value: ExprLike) -> None:
        indices = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
        self._builder.emit(BufferStore(self.buffer, value, indices))


class IRBuilder:
    """Collects statements, in scopes."""

    def __init__(self) -> None:
        self._scopes: list[list[Any]] = [[]]

    def emit(self, stmt: Stmt | ExternCall | Expr) -> None:
        """Put a statement behind the others, or a call or value as one."""
        self._scopes[-1].append(stmt if isinstance(stmt, Stmt) else Evaluate(stmt))

    @contextmanager
    def _scope(self) -> Generator[list[Stmt]]:
        """Statements of their own."""
        inner: list[Stmt] = []
        self._scopes.append([])
        yield inner
        inner.append(_joined(self._scopes.pop()))

    @contextmanager
    def for_range(
        self, begin: ExprLike, end: ExprLike, name: str = "i", dtype: str = "int32", kind: str = "serial"
    ) -> Generator[Var]:
        """A loop from `begin` below `end`, a scope that yields its variable."""
        var = Var(name, dtype)
        with self._scope() as body:
            yield var
        self.emit(For(var, begin, convert(end) - begin, kind, body[0]))

    @contextmanager
    def if_scope(self, cond: Expr) -> Generator[None]:
        """Collect the statements for a condition that holds."""
        with self._scope() as body:
            yield
        self.emit(IfThenElse(cond, body[0]))

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """Collect the statements for the other case, right after an `if_scope`."""
        before = self._scopes[-1][-1] if self._scopes[-1] else None
        if not isinstance(before, IfThenElse) or before.else_case is not None:
            fail("tir.ir_builder: else_scope can only follow an if_scope")
        with self._scope() as body:
            yield
        before.else_case = body[0]

    @contextmanager
    def while_loop(self, condition: Expr) -> Generator[None]:
        """Collect the body of a loop that runs while a condition holds."""
        with self._scope() as body:
            yield
        self.emit(While(condition, body[0]))

    def let(self, var_name: str, value: ExprLike) -> Var:
        """Bind a value to a name in the following statements."""
        expr = convert(value)
        var = Var(var_name, expr.dtype)
        self._scopes[-1].append(partial(LetStmt, var, expr))
        return var

    def allocate(
        self,
        dtype: str,
        shape: Sequence[Extent] | Extent,
        name: str = "buf",
        axis_separators: object = None,
        scope: str = "",
    ) -> BufferVar:
        """Allocate a buffer for the following statements."""
        buffer = Buffer(shape, dtype, name, scope)
        self._scopes[-1].append(partial(Allocate, buffer))
        return BufferVar(self, buffer)

    def pointer(
        self, content_type: str, shape: Sequence[Extent] | Extent = 1, name: str = "ptr", scope: str = ""
    ) -> BufferVar:
        """A buffer that is a parameter, of one element if no shape is given."""
        return BufferVar(self, Buffer(shape, content_type, name, scope))

    def buffer_ptr(self, buf: Buffer | Tile, shape: Sequence[Extent] | None = None) -> BufferVar:
        """A buffer, to be read and written by `[]`. Raises ScheduleError for another shape than its own."""
        if shape is not None and len(shape) != len(buf.shape):
            fail(f"tir.ir_builder: expected the shape {list(buf.shape)} of '{buf.name}', got {list(shape)}")
        return BufferVar(self, buf.buffer if isinstance(buf, Tile) else buf)

    def likely(self, expr: Expr) -> Expr:
        """The condition, marked as one that holds nearly always."""
        return likely(expr)

    def get(self) -> Stmt:
        """The statements. Raises ScheduleError inside a scope."""
        if len(self._scopes) != 1:
            fail("tir.ir_builder: expected get outside of scopes")
        return _joined(self._scopes[0])


def _joined(parts: Sequence[Any]) -> Stmt:
    """A sequence of statements; one that defines a name takes the following ones as its body."""
    stmts: list[Stmt] = []
    for part in reversed(parts):
        if isinstance(part, Stmt):
            stmts.insert(0, part)
        else:
            stmts = [part(stmts[0] if len(stmts) == 1 else SeqStmt(stmts))]
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)


def create() -> IRBuilder:
    """A builder."""
    return IRBuilder()
