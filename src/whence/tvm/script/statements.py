"""Statements of a script: each at its place, and after a mistake those behind it and inside it are read, too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import LocationAttr

import whence.script.vectors as vectors
from whence.script.declarations import Declarations
from whence.script.names import POISON, keyed, listed
from whence.script.source import Mistake
from whence.script.words import BLOCKS, DECLARATIONS, LOOPS
from whence.support.dtypes import INT, lanes_of
from whence.te.language.expr import Const, Expr, Range, Var, convert
from whence.te.language.lanes import vector_access
from whence.te.language.locations import located
from whence.te.language.statements import (
    AssertStmt,
    Buffer,
    BufferStore,
    Evaluate,
    ExternCall,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

Part = Stmt | Callable[[Stmt], Stmt]
"""A statement, or what makes one of the statements behind it."""


class Statements(Declarations):
    """Reads statements."""

    def block(self, node: ast.With, call: ast.Call) -> Stmt:
        """The block of a `with T.sblock(..)`."""
        raise NotImplementedError

    def body(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """The statements of a body, whose names end with it."""
        with self.scope():
            return self.sequence(nodes)

    def sequence(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """The statements in a row, as far as they have no mistakes."""
        parts: list[tuple[Part, LocationAttr]] = []
        for node in nodes:
            where = self.source.location(node)
            try:
                with located(where), self.source.judged(node):
                    found = self._statement(node)
            except Mistake:
                self._poison(node)
                continue
            parts += [(part, where) for part in found]
        stmts: list[Stmt] = []
        for part, where in reversed(parts):
            with located(where):
                stmts = [part, *stmts] if isinstance(part, Stmt) else [part(_joined(stmts))]
        return _joined(stmts)

    def _poison(self, node: ast.stmt) -> None:
        """Let names that a mistaken statement defines be no mistakes where they are used."""
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name):
                    self.names[part.id] = POISON

    def _statement(self, node: ast.stmt) -> list[Part]:
        match node:
            case ast.For():
                return [self._loop(node)]
            case ast.While(test=test, body=body):
                return [While(self.expr(test).astype("bool"), self.body(body))]
            case ast.If():
                return [self._branch(node)]
            case ast.With():
                return self._with(node)
            case ast.Assert(test=test, msg=message):
                text = "the condition of an assert holds" if message is None else self._message(message)
                return [partial(AssertStmt, self.expr(test), text)]
            case ast.Assign(targets=[target], value=value):
                return self._assigned(node, target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=None):
                self.names[target.id] = self.variable(target.id, node.annotation)
                return []
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                return self._bound(target, value, self.annotated_dtype(node.annotation))
            case ast.AugAssign(target=target, op=op, value=value):
                load = ast.copy_location(_loaded(target), target)
                return self._assigned(node, target, ast.copy_location(ast.BinOp(load, op, value), node))
            case ast.Expr(value=value):
                return self._evaluated(node, value)
            case ast.Pass():
                return []
            case _:
                words = type(node).__name__.lower()
                self.source.refuse(node, f"expected a statement of TVMScript, got Python's {words}")

    def _message(self, node: ast.expr) -> str:
        """The text of an assert, which TVM also writes as a kind with its parts."""
        value: Any = self.value(node)
        while parts := listed(value):
            value = parts[-1]
        return str(value)

    # Loops and branches

    def _loop(self, node: ast.For) -> Stmt:
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        with self.scope():
            try:
                loops, notes = self._heads(node, targets)
            except Mistake:
                # What is in the loop may have mistakes of its own.
                loops, notes = [(0, 1, ForKind.SERIAL)] * len(targets), {}
            variables: list[Var] = []
            for target, (start, extent, _) in zip(targets, loops, strict=True):
                if not isinstance(target, ast.Name):
                    self.source.refuse(target, "expected a name of a loop variable")
                dtype = extent.dtype if isinstance(extent, Expr) else INT
                variables.append(Var(target.id, dtype if dtype == "int64" else INT))
                self.names[target.id] = variables[-1]
                self.extents[variables[-1]] = Range(start, extent)
            body = self.sequence(node.body)
        if node.orelse:
            self.source.refuse(node.orelse[0], "expected no else of a loop")
        for variable, (start, extent, kind) in reversed(list(zip(variables, loops, strict=True))):
            body = For(variable, start, extent, kind, body, annotations=notes)
        return body

    def _heads(
        self, node: ast.For, targets: Sequence[ast.expr]
    ) -> tuple[list[tuple[Any, Any, ForKind]], dict[str, Any]]:
        """Start, extent and kind of each loop, and the notes on them."""
        if not isinstance(node.iter, ast.Call):
            self.source.refuse(node.iter, "expected range(..), T.grid(..) or another loop of T")
        args, named = self.arguments(node.iter)
        is_range = isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        word = "serial" if is_range else self.word(node.iter.func)
        notes = keyed(self.value(named["annotations"])) if "annotations" in named else {}
        if word == "grid":
            if len(args) != len(targets):
                self.source.refuse(node.iter, f"expected as many extents as names, {len(targets)}, got {len(args)}")
            return [(0, self._end(arg), ForKind.SERIAL) for arg in args], {}
        if word not in LOOPS:
            self.source.refuse(node.iter, "expected range(..), T.grid(..) or another loop of T")
        ends = [self._end(arg) for arg in (*args, *(named[name] for name in ("start", "stop") if name in named))]
        if len(ends) not in (1, 2) or len(targets) != 1:
            self.source.refuse(
                node.iter, f"expected one name and one or two ends of a loop, got {len(targets)} and {len(ends)}"
            )
        start, stop = (0, ends[0]) if len(ends) == 1 else ends
        extent = stop if isinstance(start, int) and start == 0 else _minus(stop, start)
        return [(start, extent, LOOPS[word])], notes or {}

    def _end(self, node: ast.expr) -> Any:
        value = self.value(node)
        if isinstance(value, float) or vectors.is_vector(value):
            self.source.refuse(node, f"expected a whole number, got {value}")
        return value if isinstance(value, int) else self.whole(value, node)

    def _branch(self, node: ast.If) -> Stmt:
        try:
            condition = self.expr(node.test).astype("bool")
        except Mistake:
            condition = convert(True)
        then = self.body(node.body)
        return IfThenElse(condition, then, self.body(node.orelse) if node.orelse else None)

    # Statements that name something

    def _with(self, node: ast.With) -> list[Part]:
        if len(node.items) != 1:
            self.source.refuse(node, "expected one item behind with")
        item = node.items[0]
        call, target = item.context_expr, item.optional_vars
        if not isinstance(call, ast.Call):
            self.source.refuse(call, "expected T.sblock(..) or another scope of T")
        try:
            word = self.word(call.func)
        except Mistake:
            # A block whose word is misspelt has statements all the same.
            self.block(node, call)
            raise
        if word in BLOCKS:
            return [self.block(node, call)]
        if word in ("LetStmt", "let", "Assert", "attr") or word in DECLARATIONS:
            with self.scope():
                parts = self._opened(node, call, word, target)
                body = self.sequence(node.body)
            for part in reversed(parts):
                body = part if isinstance(part, Stmt) else part(body)
            return [body]
        self.body(node.body)
        self.source.refuse(call, f"expected T.sblock(..) or another scope of T, got T.{word}")

    def _opened(self, node: ast.With, call: ast.Call, word: str, target: ast.expr | None) -> list[Part]:
        args, _ = self.arguments(call)
        match word:
            case "LetStmt" if isinstance(target, ast.Name) and args:
                return self._bound(target, args[0], None)
            case "let" if len(args) == 2 and isinstance(args[0], ast.Name):
                return self._bound(args[0], args[1], None)
            case "Assert" if len(args) == 2:
                return [partial(AssertStmt, self.expr(args[0]), self._message(args[1]))]
            case "attr":
                self._attribute_of(call)
                return []
            case _ if isinstance(target, ast.Name) and word in DECLARATIONS:
                return self.declared(target, call, word)
            case _:
                self.source.refuse(call, f"expected T.{word}(..) as a name")

    def _assigned(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> list[Part]:
        match target:
            case ast.Subscript():
                return [self._store(target, value)]
            case ast.Name():
                match value:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="view")) if isinstance(
                        source := self.names.get(name), Buffer
                    ):
                        return self.viewed(target, source, value)
                    case _:
                        word = self.word(value.func) if isinstance(value, ast.Call) else ""
                if word in DECLARATIONS:
                    assert isinstance(value, ast.Call)
                    return self.declared(target, value, word)
                if isinstance(value, ast.Call) and self.is_variable(word, value):
                    self.names[target.id] = self.variable(target.id, value)
                    return []
                return self._bound(target, value, None)
            case _:
                self.source.refuse(target, "expected an element of a buffer or a name before =")

    def _store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        # Both sides are read before a mistake in one ends the statement.
        try:
            buffer = self.value(target.value)
            if not isinstance(buffer, Buffer):
                self.source.refuse(target.value, "expected a buffer before [..] =")
            indices = self.indices(target)
            self.check_rank(target, buffer, indices)
        except Mistake:
            self.value(value)
            raise
        stored = self.value(value)
        if any(isinstance(index, slice) for index in indices):
            *outer, last = indices
            start = convert(0) if getattr(last, "start", None) is None else last.start
            if any(isinstance(index, slice) for index in outer) or not vectors.is_vector(stored):
                self.source.refuse(target, "expected a vector, and a slice in the last index alone")
            indices = [*outer, vectors.ramp(start, 1, lanes_of(stored.dtype))]
        vector_access(buffer.name, [convert(index) for index in indices])
        if vectors.is_vector(stored) and not any(map(vectors.is_vector, indices)):
            self.source.refuse(target, f"expected lanes in the last index of {buffer.name}, got {stored.dtype} for it")
        number = self.number(stored, value)
        if isinstance(stored, int | float):
            number = self._constant(stored, buffer.dtype, value)
        return BufferStore(buffer, number, indices)

    def _constant(self, number: float, dtype: str, node: ast.expr) -> Expr:
        with self.source.judged(node):
            return convert(float(number) if dtype.startswith(("float", "bfloat")) else number, dtype)

    def _bound(self, target: ast.Name, node: ast.expr, dtype: str | None) -> list[Part]:
        """A name for a value; a second name for a buffer is no statement."""
        value = self.value(node)
        if isinstance(value, Buffer | str | list):
            self.names[target.id] = value
            return []
        if dtype is not None and isinstance(value, int | float) and not lanes_of(dtype) > 1:
            number: Expr = self._constant(value, dtype, node)
        else:
            number = self.number(value, node)
            if dtype is not None and number.dtype != dtype:
                self.source.refuse(node, f"expected {dtype}, got {number.dtype}")
        variable = Var(target.id, number.dtype)
        self.names[target.id] = variable
        return [partial(LetStmt, variable, number)]

    # Calls

    def _evaluated(self, node: ast.Expr, value: ast.expr) -> list[Part]:
        if isinstance(value, ast.Constant):
            return []
        if not isinstance(value, ast.Call):
            self.source.refuse(node, "expected a statement, got a value that nothing uses; T.evaluate computes one")
        args, _ = self.arguments(value)
        match value.func:
            case ast.Attribute(attr="vstore", value=inner) if len(args) == 2:
                return [self.buffer_of(inner).vstore(self.value(args[0]), self.value(args[1]))]
            case _:
                pass
        word = self.word(value.func)
        match word:
            case "evaluate" if len(args) == 1:
                found = self.value(args[0])
                return [Evaluate(found if isinstance(found, ExternCall) else self.number(found, args[0]))]
            case "buffer_store" if len(args) == 3:
                buffer, stored, point = (
                    self.buffer_of(args[0]),
                    self.number(self.value(args[1]), args[1]),
                    self.value(args[2]),
                )
                return [BufferStore(buffer, stored, point if isinstance(point, list) else [point])]
            case "masked_store" if len(args) >= 4:
                buffer, stored, *point, mask = (self.value(arg) for arg in args)
                return [vectors.masked_store(buffer, stored, point, mask)]
            case "prefetch" | "func_attr" | "func_ret" | "reads" | "writes" | "block_attr" | "sblock_attr":
                return []
            case "attr":
                self._attribute_of(value)
                return []
            case "call_extern" | "call_pure_extern":
                found = self.value(value)
                return [Evaluate(found)]
            case _:
                self.source.refuse(value, "expected a statement, got a call that is none")

    def _attribute_of(self, call: ast.Call) -> None:
        """Refuse a note that has a meaning; those that guide a compiler have none."""
        args, _ = self.arguments(call)
        key = self.text(args[1], "a key") if len(args) == 3 else ""
        if not key.startswith("pragma_"):
            self.source.refuse(call, f"expected T.attr of a pragma, got {key!r}, which changes what a kernel does")


def _loaded(node: ast.expr) -> ast.expr:
    match node:
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case _:
            return node


def _minus(stop: Any, start: Any) -> Any:
    if isinstance(stop, Const) and isinstance(start, Const):
        return int(stop.value) - int(start.value)
    return stop - start


def _joined(stmts: Sequence[Stmt]) -> Stmt:
    if not stmts:
        return Evaluate(0)
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)
