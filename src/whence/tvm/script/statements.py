"""Statements of a script: each at its place, and after a mistake those behind it and inside it are read, too."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.dialects.builtin import LocationAttr

import whence.script.vectors as vectors
from whence.script.declarations import Declarations
from whence.script.names import POISON, keyed, listed
from whence.script.source import Mistake
from whence.script.words import BLOCKS, CALLS, DECLARATIONS, LOOPS, SPECIAL
from whence.support.dtypes import INT, lanes_of
from whence.te.language.blocks import BufferRegion
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


_HINTS = ("compute_scope", "device_id", "double_buffer_scope", "extern_scope", "storage_alignment")
"""Keys of T.attr, beside pragmas, that change no value on a CPU."""


@dataclass(frozen=True)
class _Loop:
    """A loop from `start` on by steps: `extent` rounds."""

    start: Any
    extent: Any
    kind: ForKind = ForKind.SERIAL
    step: int = 1


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
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                pairs = zip(names, values, strict=True)
                return [part for target, value in pairs for part in self._assigned(node, target, value)]
            case ast.Assign(targets=[target], value=value):
                return self._assigned(node, target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=None):
                self.names[target.id] = self.variable(target.id, node.annotation)
                return []
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                is_open = isinstance(node.annotation, ast.Attribute) and self.word(node.annotation) == "let"
                return self._bound(target, value, None if is_open else self.annotated_dtype(node.annotation))
            case ast.AugAssign(target=target, op=op, value=value):
                load = ast.copy_location(_loaded(target), target)
                return self._assigned(node, target, ast.copy_location(ast.BinOp(load, op, value), node))
            case ast.Expr(value=value):
                return self._evaluated(node, value)
            case ast.Pass():
                return []
            case ast.Return() | ast.Break() | ast.Continue():
                word = type(node).__name__.lower()
                self.source.refuse(node, f"expected statements that all run, got Python's {word}")
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
        with self.scope():
            try:
                loops, notes = self._heads(node)
                targets = self._targets(node, len(loops))
            except Mistake:
                # What is in the loop may have mistakes of its own.
                targets = [(name.id, None) for name in ast.walk(node.target) if isinstance(name, ast.Name)]
                loops, notes = [_Loop(0, 1)] * len(targets), {}
            variables: list[Var] = []
            for name, count in targets:
                own = [name] if count is None else [f"{name}_{number}" for number in range(count)]
                found = [self._of_loop(each, loop) for each, loop in zip(own, loops[len(variables) :], strict=False)]
                self.names[name] = found[0][1] if count is None else [value for _, value in found]
                variables += [variable for variable, _ in found]
            body = self.sequence(node.body)
        if node.orelse:
            self.source.refuse(node.orelse[0], "expected no else of a loop")
        for variable, loop in reversed(list(zip(variables, loops, strict=True))):
            start = loop.start if loop.step == 1 else 0
            body = For(variable, start, loop.extent, loop.kind, body, annotations=notes)
        return body

    def _of_loop(self, name: str, loop: _Loop) -> tuple[Var, Expr]:
        """The variable of a loop, and the value that its name has."""
        dtype = loop.extent.dtype if isinstance(loop.extent, Expr) else INT
        variable = Var(name, dtype if dtype == "int64" else INT)
        if loop.step != 1:
            return variable, variable * loop.step + loop.start
        self.extents[variable] = Range(loop.start, loop.extent)
        return variable, variable

    def _targets(self, node: ast.For, count: int) -> list[tuple[str, int | None]]:
        """The names behind `for`, and for one that is a list of variables their number."""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        starred = [target for target in targets if isinstance(target, ast.Starred)]
        if len(starred) > 1:
            self.source.refuse(starred[1], "expected one name with a star, got several")
        if (not starred and len(targets) not in (1, count)) or len(targets) - 1 > count:
            self.source.refuse(node.iter, f"expected as many extents as names, {len(targets)}, got {count}")
        found: list[tuple[str, int | None]] = []
        for target in targets:
            is_list = isinstance(target, ast.Starred) or (not starred and len(targets) < count)
            name = target.value if isinstance(target, ast.Starred) else target
            if not isinstance(name, ast.Name):
                self.source.refuse(target, "expected a name of a loop variable")
            found.append((name.id, count - len(targets) + 1 if is_list else None))
        return found

    def _heads(self, node: ast.For) -> tuple[list[_Loop], dict[str, Any]]:
        """The loops of a `for`, and the notes on them."""
        if not isinstance(node.iter, ast.Call):
            self.source.refuse(node.iter, "expected range(..), T.grid(..) or another loop of T")
        args, named = self.arguments(node.iter)
        is_range = isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range"
        word = "serial" if is_range else self.word(node.iter.func)
        notes = keyed(self.value(named["annotations"])) if "annotations" in named else {}
        if word == "grid":
            return [self._between(node, [arg], ForKind.SERIAL) for arg in args], {}
        if word not in LOOPS:
            self.source.refuse(node.iter, "expected range(..), T.grid(..) or another loop of T")
        ends = [*args, *(named[name] for name in ("start", "stop", "step") if name in named)]
        return [self._between(node, ends, LOOPS[word])], notes or {}

    def _between(self, node: ast.For, nodes: Sequence[ast.expr], kind: ForKind) -> _Loop:
        ends = [self._end(each) for each in nodes]
        if len(ends) not in (1, 2, 3):
            self.source.refuse(node.iter, f"expected one to three ends of a loop, got {len(ends)}")
        start, stop, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
        extent = stop if isinstance(start, int) and start == 0 else _minus(stop, start)
        step = int(step.value) if isinstance(step, Const) else step
        if not isinstance(step, int) or step < 1:
            self.source.refuse(nodes[-1], f"expected a number above 0 as step, got {step}")
        if step != 1:
            extent = (extent + (step - 1)) // step
        return _Loop(start, extent, kind, step)

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
            case "LetStmt" if variable := self._given_variable(call):
                return self._bound(variable, args[0], None, is_declared=True)
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
                if word in DECLARATIONS or word == "Buffer":
                    assert isinstance(value, ast.Call)
                    return self.declared(target, value, word)
                if isinstance(value, ast.Call) and self.is_variable(word, value):
                    self.names[target.id] = self.variable(target.id, value)
                    return []
                if word == "bind" and isinstance(value, ast.Call) and value.args:
                    value = value.args[0]
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
        if isinstance(stored, BufferRegion):
            stored = self.number(stored, value)
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

    def _given_variable(self, call: ast.Call) -> ast.Name | None:
        """The name of `var=name`, a variable that is declared."""
        found = [word.value for word in call.keywords if word.arg == "var" and isinstance(word.value, ast.Name)]
        return found[0] if found and call.args and isinstance(self.names.get(found[0].id), Var) else None

    def _bound(self, target: ast.Name, node: ast.expr, dtype: str | None, *, is_declared: bool = False) -> list[Part]:
        """A name for a value; a second name for a buffer is no statement. is_declared: the name is a variable."""
        value = self.value(node)
        known = self.names.get(target.id)
        is_constant = isinstance(node, ast.Call) and self.word(node.func) == "meta_var"
        is_pointer = isinstance(value, Var) and value.dtype == "handle"
        if is_constant or is_pointer or isinstance(value, Buffer | str | list):
            self.names[target.id] = value
            return []
        if dtype is not None and isinstance(value, int | float) and not lanes_of(dtype) > 1:
            number: Expr = self._constant(value, dtype, node)
        else:
            number = self.number(value, node)
            if dtype is not None and number.dtype != dtype:
                self.source.refuse(node, f"expected {dtype}, got {number.dtype}")
        variable = known if is_declared and isinstance(known, Var) else Var(target.id, number.dtype)
        if variable.dtype != number.dtype:
            self.source.refuse(node, f"expected {variable.dtype} as {target.id} is declared, got {number.dtype}")
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
                match args[0]:
                    case ast.Call(func=func) if self.word(func) == "assume":
                        return self._evaluated(node, args[0])
                    case _:
                        pass
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
            case "bind" | "LetStmt" if variable := self._given_variable(value):
                return self._bound(variable, args[0], None, is_declared=True)
            case "assume" if len(args) == 1:
                self.expr(args[0])
                return []
            case "prefetch" | "func_attr" | "func_ret" | "reads" | "writes" | "block_attr" | "sblock_attr":
                return []
            case "attr":
                self._attribute_of(value)
                return []
            case "call_extern" | "call_pure_extern" | "call_packed" | "tvm_call_packed":
                found = self.value(value)
                return [Evaluate(found)]
            case _ if word in CALLS or word in SPECIAL:
                return [Evaluate(self.number(self.value(value), value))]
            case _:
                self.source.refuse(value, "expected a statement, got a call that is none")

    def _attribute_of(self, call: ast.Call) -> None:
        """Refuse a note that has a meaning; those that guide a compiler have none."""
        args, _ = self.arguments(call)
        key = self.text(args[1], "a key") if len(args) == 3 else ""
        is_this_machine = key == "device_type" and self.value(args[2]) == 1
        if not is_this_machine and key not in _HINTS and not key.startswith("pragma_"):
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
