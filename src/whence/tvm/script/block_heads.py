"""Blocks of a script: variables, condition, regions, notes and views, then the statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whence.script.names import POISON, keyed, listed
from whence.script.source import Mistake
from whence.script.statements import Statements
from whence.script.words import ALLOCATIONS, AXES, LETTERS
from whence.support.dtypes import INT
from whence.te.language.blocks import Block, BlockRealize, BufferRegion, IterVar
from whence.te.language.expr import Expr, Range, Var, convert
from whence.te.language.locations import located
from whence.te.language.statements import Buffer, Stmt


@dataclass
class _Head:
    """The head of a block."""

    variables: list[IterVar] = field(default_factory=lambda: list[IterVar]())
    values: list[Any] = field(default_factory=lambda: list[Any]())
    where: Any = True
    init: Stmt | None = None
    reads: list[BufferRegion] | None = None
    writes: list[BufferRegion] | None = None
    buffers: list[Buffer] = field(default_factory=lambda: list[Buffer]())
    notes: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())


class Blocks(Statements):
    """Reads statements and blocks."""

    def block(self, node: ast.With, call: ast.Call) -> Stmt:
        """The block of a `with`; its mistakes do not hide those in its body."""
        name = self._name(call)
        outer_layer, outer_views = self.source.layer, self.views
        self.source.layer, self.views = name or self.source.layer, []
        head = _Head()
        try:
            with self.scope(), located(self.source.location(node)):
                rest: list[ast.stmt] = []
                for stmt in node.body:
                    if not self._headed(stmt, head):
                        rest.append(stmt)
                body = self.sequence(rest)
                block = Block(
                    head.variables,
                    head.reads,
                    head.writes,
                    name,
                    body,
                    head.init,
                    head.buffers,
                    self.views,
                    head.notes,
                )
                return BlockRealize(head.values, head.where, block)
        finally:
            self.source.layer, self.views = outer_layer, outer_views

    def _name(self, call: ast.Call) -> str:
        if len(call.args) > 1 or any(word.arg not in ("name", "no_realize") for word in call.keywords):
            self.source.refuse(call, "expected at most the name of a block")
        return self.text(call.args[0], "the name of a block") if call.args else ""

    def _headed(self, stmt: ast.stmt, head: _Head) -> bool:
        """Read a statement that belongs to the head of a block; return whether it does."""
        try:
            with self.source.judged(stmt):
                return self._read(stmt, head)
        except Mistake:
            self._poisoned(stmt, head)
            return True

    def _poisoned(self, stmt: ast.stmt, head: _Head) -> None:
        """Let variables whose declaration is a mistake be variables all the same."""
        for target in stmt.targets if isinstance(stmt, ast.Assign) else ():
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name) and part.id not in self.names:
                    self.names[part.id] = POISON

    def _read(self, stmt: ast.stmt, head: _Head) -> bool:
        match stmt:
            case ast.Assign(targets=[target], value=ast.Call() as call):
                word = self.word(call.func)
                if word.startswith("axis."):
                    self._axes(target, call, word.removeprefix("axis."), head)
                    return True
                if word == "match_buffer" and isinstance(target, ast.Name) and call.args:
                    self.match(target, call, call.args[0])
                    return True
                if word in ALLOCATIONS and isinstance(target, ast.Name):
                    buffer = self.names[target.id] = self.buffer(target.id, call, self.given(call))
                    head.buffers.append(buffer)
                    return True
                return False
            case ast.Expr(value=ast.Call() as call):
                return self._noted(call, head)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]) if self.word(call.func) == "init":
                head.init = self.body(stmt.body)
                return True
            case _:
                return False

    def _noted(self, call: ast.Call, head: _Head) -> bool:
        word = self.word(call.func)
        args, _ = self.arguments(call)
        match word:
            case "where" if len(args) == 1:
                head.where = self.expr(args[0]).astype("bool")
            case "reads" | "writes":
                parts = args[0].elts if len(args) == 1 and isinstance(args[0], ast.List | ast.Tuple) else args
                setattr(head, word, [self.region(part) for part in parts])
            case "block_attr" | "sblock_attr" if len(args) == 1:
                notes = keyed(self.value(args[0]))
                if notes is None or not all(map(_is_note, notes.values())):
                    self.source.refuse(args[0], "expected a dictionary of numbers, strings and lists of them")
                head.notes.update(notes)
            case _:
                return False
        return True

    # Variables

    def _axes(self, target: ast.expr, call: ast.Call, kind: str, head: _Head) -> None:
        args, named = self.arguments(call)
        if kind == "remap":
            self._remapped(target, call, args, head)
            return
        kind = LETTERS.get(kind, kind)
        if kind not in AXES:
            self.source.refuse(call.func, f"expected T.axis.remap or one among {', '.join(AXES)}, got T.axis.{kind}")
        if named or len(args) != 2:
            self.source.refuse(call, f"expected T.axis.{kind}(extent, value), got {len(args) + len(named)} arguments")
        if not isinstance(target, ast.Name):
            self.source.refuse(target, "expected a name of a variable")
        self._variable(target, AXES[kind], self._domain(args[0]), self.whole(self.value(args[1]), args[1]), head)

    def _domain(self, node: ast.expr) -> Range:
        value = self.value(node)
        ends = listed(value) or [0, value]
        if len(ends) != 2:
            self.source.refuse(node, f"expected an extent or the pair of its ends, got {len(ends)} numbers")
        low, high = (end if isinstance(end, int) else self.whole(end, node) for end in ends)
        return IterVar((low, high), "", 0).dom

    def _remapped(self, target: ast.expr, call: ast.Call, args: Sequence[ast.expr], head: _Head) -> None:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(args) != 2:
            self.source.refuse(call, 'expected T.axis.remap("SR", [i, j])')
        listing = args[1].elts if isinstance(args[1], ast.List | ast.Tuple) else [ast.Starred(args[1], ast.Load())]
        letters, values = self.text(args[0], "letters"), self.spread(listing)
        together = target if isinstance(target, ast.Name) and len(values) > 1 else None
        if together is not None:
            names = [ast.copy_location(ast.Name(f"{together.id}_{number}"), target) for number in range(len(values))]
        if not len(letters) == len(values) == len(names):
            self.source.refuse(
                call,
                f"expected a letter and a loop for each of {len(names)} names, got {len(letters)} and {len(values)}",
            )
        for name, letter, node in zip(names, letters, values, strict=True):
            if letter not in LETTERS or not isinstance(name, ast.Name):
                self.source.refuse(args[0], f"expected letters among {', '.join(LETTERS)}, got {letters!r}")
            value = self.expr(node)
            loop = self.extents.get(value) if isinstance(value, Var) else None
            if loop is None:
                self.source.refuse(
                    node, f"expected a variable of a loop, got {value}; T.axis.spatial takes other values"
                )
            self._variable(name, AXES[LETTERS[letter]], loop, value, head)
        if together is not None:
            self.names[together.id] = [variable.var for variable in head.variables[-len(values) :]]

    def _variable(self, name: ast.Name, iter_type: int, dom: Range, value: Expr, head: _Head) -> None:
        wide = value.dtype == "int64"
        variable = IterVar(dom, Var(name.id, "int64" if wide else INT), iter_type)
        self.names[name.id] = variable.var
        head.variables.append(variable)
        head.values.append(convert(value))


def _is_note(value: Any) -> bool:
    if (parts := listed(value)) is not None:
        return all(map(_is_note, parts))
    return isinstance(value, bool | int | float | str)
