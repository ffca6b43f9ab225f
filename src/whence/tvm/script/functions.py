"""Functions and modules of a script: their parameters, notes and bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from whence.relay.module import IRModule
from whence.script import relax_functions
from whence.script.block_heads import Blocks
from whence.script.names import POISON, keyed
from whence.script.relax_head import Head
from whence.script.source import Mistake, Source
from whence.support.dtypes import NAMES
from whence.syntax.relay.expr import Function, Program
from whence.te.language.blocks import BlockRealize, MatchBufferRegion
from whence.te.language.expr import Range, Var
from whence.te.language.locations import located
from whence.te.language.statements import Allocate, Buffer, Stmt
from whence.tir.function import PrimFunc

MODULES = {"tir": "T", "tirx": "T", "ir": "I", "relax": "R"}
"""The modules of words, by their names in `tvm.script` or `whence.script`, and the letters for them."""
MACRO = "expected the statements of a macro in place of each call of it, got T.macro, which is not read"
Captured = Callable[[str], Any]


def nothing(name: str) -> Any:
    """Refuse every name: a text has no names outside of it."""
    raise KeyError(name)


def read(source: Source, captured: Captured = nothing, aliases: Mapping[str, str] | None = None) -> Any:
    """Return the function or the module of a text, which holds one: a kernel, a function of relay, or an IRModule.

    Raises TextError with all mistakes of the text, at most 20, and their places.
    """
    words = {letter: letter for letter in "TIR"} | {"relax": "R"} | dict(aliases or {})
    found: list[ast.FunctionDef | ast.ClassDef] = []
    head = Head()
    for node in source.parsed().body:
        match node:
            case ast.ImportFrom(module=module, names=names):
                words |= {
                    name.asname or name.name: MODULES[name.name] for name in names if name.name in MODULES and module
                }
            case ast.FunctionDef() | ast.ClassDef():
                found.append(node)
            case ast.Expr(value=ast.Constant()) | ast.Import():
                pass
            case _ if head.reads(node, source):
                pass
            case _:
                source.record(node.lineno, node.col_offset + 1, "expected a function or a class with functions")
    for decorator in _macros(found, words):
        source.record(decorator.lineno, decorator.col_offset + 1, MACRO)
    source.check()
    if len(found) != 1:
        source.record(1, 1, f"expected one function or one class with functions, got {len(found)}")
    source.check()
    reader = _Functions(source, captured, words)
    made: Any = None
    try:
        (node,) = found
        made = reader.lone(node, head) if isinstance(node, ast.FunctionDef) else reader.module(node, head)
    except (Mistake, RecursionError) as error:
        if isinstance(error, RecursionError):
            source.record(1, 1, "expected statements and expressions that are not nested hundreds deep")
    source.check()
    assert made is not None, "a mistake is recorded"
    return made


def _macros(found: Iterable[ast.AST], words: Mapping[str, str]) -> Iterator[ast.expr]:
    """The decorators of macros, at any depth."""
    for node in (inner for outer in found for inner in ast.walk(outer)):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            match getattr(decorator, "func", decorator):
                case ast.Attribute(value=ast.Name(id=letter), attr="macro") if words.get(letter) == "T":
                    yield decorator
                case _:
                    pass


class _Functions(Blocks):
    def lone(self, node: ast.FunctionDef, head: Head) -> PrimFunc | Function:
        """The function of a text: a kernel, or a function of Relax."""
        if not self._is_relax(node):
            return self.function(node)
        program = self._relax({node.name: node}, "", head, {})
        self.source.check()
        return program.functions[node.name]

    def _is_relax(self, node: ast.FunctionDef) -> bool:
        names = (getattr(decorator, "func", decorator) for decorator in node.decorator_list)
        return any(
            isinstance(name, ast.Attribute)
            and name.attr == "function"
            and isinstance(name.value, ast.Name)
            and self.letter(name.value.id) == "R"
            for name in names
        )

    def _relax(
        self, nodes: Mapping[str, ast.FunctionDef], module: str, head: Head, kernels: Mapping[str, PrimFunc]
    ) -> Program:
        reader = relax_functions.Functions(
            self.source, self.captured, self.letter, head.constants, lambda text: read(Source(text, "<kernel>"))
        )
        return reader.read(nodes, module, head.sizes, kernels)

    def module(self, node: ast.ClassDef, head: Head) -> IRModule:
        """The functions of a class."""
        functions: dict[str, Any] = {}
        relax: dict[str, ast.FunctionDef] = {}
        for stmt in node.body:
            match stmt:
                case ast.FunctionDef() if self._is_relax(stmt):
                    relax[stmt.name] = stmt
                case ast.FunctionDef():
                    with self.scope():
                        functions[stmt.name] = self.function(stmt)
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="module_attrs" | "module_global_infos"))):
                    pass
                case _:
                    self.source.record(stmt.lineno, stmt.col_offset + 1, "expected functions in a module")
        program = self._relax(relax, node.name, head, dict(functions))
        self.source.check()
        return IRModule({**cast("Mapping[str, PrimFunc]", program.kernels), **program.functions})

    def function(self, node: ast.FunctionDef) -> PrimFunc:
        """A function of buffers and whole numbers."""
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
            self.source.refuse(node, "expected parameters with a type each, without defaults or stars")
        self.source.layer = node.name
        self.views: list[MatchBufferRegion] = []
        self.extents: dict[Var, Range] = {}
        with located(self.source.location(node)):
            params: list[Var | Buffer] = []
            for argument in (*node.args.posonlyargs, *node.args.args):
                try:
                    params.append(self._parameter(argument))
                    self.names[argument.arg] = params[-1]
                except Mistake:
                    self.names[argument.arg] = POISON
            private = any(
                word.arg == "private" and isinstance(word.value, ast.Constant) and word.value.value is True
                for decorator in node.decorator_list
                if isinstance(decorator, ast.Call)
                for word in decorator.keywords
            )
            self.attrs: dict[str, Any] = {} if private else {"global_symbol": node.name}
            self.handles = {one: None for one in params if isinstance(one, Var) and one.dtype == "handle"}
            body = self._within_root(self.sequence([stmt for stmt in node.body if not self._signature(stmt)]))
            # A mistake may be in the very statement that says what a handle is.
            for param in self.handles if not self.source.mistakes else ():
                if self.handles[param] is None:
                    self.source.record(
                        node.lineno, node.col_offset + 1, f"expected T.match_buffer({param.name}, shape) of the handle"
                    )
            buffer_map = {p.data: p for p in params if isinstance(p, Buffer)}
            buffer_map |= {handle: buffer for handle, buffer in self.handles.items() if buffer is not None}
            variables = [param.data if isinstance(param, Buffer) else param for param in params]
            with self.source.judged(node):
                return PrimFunc(variables, body, None, buffer_map, self.attrs)

    def _within_root(self, body: Stmt) -> Stmt:
        """Return what is in the block that stands for the function, whose notes are the function's."""
        if not isinstance(body, BlockRealize) or not body.is_root:
            return body
        self.attrs |= body.block.annotations
        inner = body.block.body
        for buffer in reversed(body.block.alloc_buffers):
            with located(buffer.location):
                inner = Allocate(buffer, inner)
        return inner

    def _parameter(self, argument: ast.arg) -> Var | Buffer:
        annotation = argument.annotation
        match annotation:
            case None:
                self.source.refuse(argument, f"expected a type of the parameter {argument.arg}, such as T.handle")
            case ast.Call(func=func) if self.word(func) == "Buffer":
                buffer = self.buffer(argument.arg, annotation, self.given(annotation))
                with self.source.judged(annotation):
                    buffer.check_packed("T.Buffer")
                return buffer
            case ast.Subscript(value=func, slice=index) if self.word(func) == "Buffer":
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                return self.buffer(argument.arg, annotation, dict(zip(("shape", "dtype"), parts, strict=False)))
            case ast.Call(func=func) if self.word(func) in NAMES:
                return Var(argument.arg, self.word(func))
            case _:
                dtype = self.annotated_dtype(annotation)
                if dtype != "handle" and not dtype.startswith(("int", "uint")):
                    self.source.refuse(annotation, f"expected a buffer or a whole number as parameter, got {dtype}")
                return Var(argument.arg, dtype)

    def _signature(self, stmt: ast.stmt) -> bool:
        """Read a statement that belongs to the signature; return whether it does."""
        try:
            match stmt:
                case ast.Expr(value=ast.Call(func=func) as call) if self.word(func) == "func_attr":
                    self._noted_attrs(call)
                case ast.Assign(
                    targets=[ast.Name() as target], value=ast.Call(func=func, args=[ast.Name() as handle, *_]) as call
                ) if self.word(func) == "match_buffer" and isinstance(self.names.get(handle.id), Var):
                    buffer = self.buffer(target.id, call, self.given(call, 1))
                    self.matched(buffer, self.names[handle.id], call)
                case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call) if self.is_variable(
                    self.word(call.func), call
                ):
                    self.names[target.id] = self.variable(target.id, call)
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(
                    values
                ):
                    pairs = [
                        (name, value)
                        for name, value in zip(names, values, strict=True)
                        if isinstance(name, ast.Name) and isinstance(value, ast.Call)
                    ]
                    if len(pairs) < len(names) or not all(self.is_variable(self.word(v.func), v) for _, v in pairs):
                        return False
                    self.names |= {name.id: self.variable(name.id, value) for name, value in pairs}
                case _:
                    return False
        except Mistake:
            self._poison(stmt)
        return True

    def _noted_attrs(self, call: ast.Call) -> None:
        args, _ = self.arguments(call)
        notes = keyed(self.value(args[0])) if len(args) == 1 else None
        if notes is None:
            self.source.refuse(call, "expected a dictionary in T.func_attr")
        for key, value in notes.items():
            self.attrs[key] = getattr(value, "value", value)
