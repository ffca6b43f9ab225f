"""TVMScript of kernels: the text that TVM 0.27 reads, or with `version="0.14"` that of TVM 0.14.

Printed are the statements that stand for a function, of any stage: after all passes its vectors, masks and
shuffles, too, by the spellings of `script_vectors.py`, bit for bit. What has none is refused, never approximated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from textwrap import indent
from typing import Any, cast

from xdsl.dialects import arith

from whence.dialects.sizes import SizeExpr
from whence.support.dtypes import BOOL, fail, is_float
from whence.te.language.blocks import Block, BlockRealize
from whence.te.language.expr import (
    Axis,
    Binary,
    Call,
    CallExtern,
    Cast,
    Const,
    Expr,
    Joint,
    Read,
    Select,
    Source,
    Var,
    convert,
)
from whence.te.language.lanes import Progressions, progression
from whence.te.language.statements import (
    Allocate,
    AllocateConst,
    AssertStmt,
    Buffer,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)
from whence.te.language.text import ATOM, spell
from whence.te.language.walks import children, operands_first
from whence.tir.script_blocks import Regions, axes, matched, notes, regions
from whence.tir.script_loops import grid, head_of, starts_at_zero
from whence.tir.script_vectors import Operand, Spelling, elements_of, exactly, spelled, stored

VERSIONS = ("0.27", "0.14")
_HEADS = {"0.27": ("tirx", "@T.prim_func(s_tir=True)"), "0.14": ("tir", "@T.prim_func")}
_BLOCKS = {"0.27": "sblock", "0.14": "block"}
_TAKEN = frozenset(
    "T I R False None True and as assert break class continue def del elif else except finally for from "
    "global if import in is lambda nonlocal not or pass raise return try while with yield".split()
)
"""Names that a variable may not have."""
_KEPT = (Var, Axis, Const)
"""What is written wherever it is used."""


def function_text(
    name: str,
    buffers: Sequence[Buffer],
    sizes: Sequence[str],
    body: Stmt,
    attrs: Mapping[str, Any],
    version: str = VERSIONS[0],
    exact: bool = False,
    regions: Mapping[int, Regions] | None = None,
) -> str:
    """Return the text of a function of statements.

    exact: keep the compiler of TVM from joining products with sums. regions: what blocks access, by their ids.
    sizes: the names of its sizes in the order of a call. Raises ScheduleError for another version, and for an op
    without a spelling, with its location.
    """
    if version not in VERSIONS:
        fail(f"script: expected a version among {', '.join(VERSIONS)}, got {version!r}")
    return Printer(version, exact, regions).function(name, buffers, sizes, body, attrs)


def class_text(functions: Sequence[str]) -> str:
    """Return the text of a module of functions, which are texts of one version."""
    heads = {text.partition("\n")[0] for text in functions}
    bodies = [indent(text.partition("\n")[2], "    ") for text in functions]
    lines = ["# from tvm.script import ir as I", *sorted(heads), "@I.ir_module", "class Module:"]
    return "\n".join([*lines, "\n\n".join(bodies)])


def statement_text(stmt: Stmt) -> str:
    """Return the text of a statement, whose free variables have their names."""
    printer = Printer(VERSIONS[0])
    printer.statement(stmt)
    return "\n".join(printer.lines)


class Printer:
    """The lines so far, and the names of what they name."""

    def __init__(self, version: str, exact: bool = False, regions: Mapping[int, Regions] | None = None):
        self.version = version
        self.exact = exact
        self.regions = regions or {}
        self.lines: list[str] = []
        self.depth = 0
        self.vectorized = 0
        """The number of vectorized loops around the statement that is written."""
        self.names: dict[int, str] = {}
        self.used = set[str](_TAKEN)
        self.flat: dict[int, str] = {}
        """The names of views of buffers as rows of elements."""
        self.named: dict[int, str] = {}
        """Values of the statement that is written that have a name."""
        self.sizes: list[str] = []
        self.numbers: dict[str, tuple[str, str]] = {}
        """The parameters that are whole numbers, by the names of their sizes, and their dtypes."""
        self.strides: dict[int, list[Any]] = {}
        """The strides of views, by the ids of their buffers."""
        self.loops: dict[int, Expr] = {}
        """The extents of loops from 0 on, by the ids of their variables."""
        self._held: list[object] = []
        self._buffers: dict[int, Buffer] = {}

    # Names

    def name(self, node: Any, hint: str) -> str:
        """The name of a variable or buffer, which others do not have."""
        if id(node) not in self.names:
            self.names[id(node)] = self.fresh(hint)
            self._held.append(node)
        return self.names[id(node)]

    def fresh(self, hint: str, used: set[str] | None = None) -> str:
        base = re.sub(r"\W", "_", hint)
        base = base if re.match(r"[A-Za-z_]", base) else f"v_{base}"
        name, number, taken = base, 0, self.used if used is None else used
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        return name

    def buffer(self, buffer: Buffer) -> str:
        self._buffers[id(buffer.data)] = buffer
        return self.name(buffer, buffer.name)

    def source(self, source: Source) -> str:
        """The name of a buffer by its elements, or of a tensor."""
        return self.name(source, source.name) if source.buffer is None else self.buffer(source.buffer)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # The function

    def function(
        self, name: str, buffers: Sequence[Buffer], sizes: Sequence[str], body: Stmt, attrs: Mapping[str, Any]
    ) -> str:
        module, decorator = _HEADS[self.version]
        variables = _sizes(buffers)
        parameters = [size for size in sizes if size not in variables]
        plain = not variables and not parameters
        names = [self.buffer(buffer) for buffer in buffers]
        for var in variables.values():
            self.name(var, var.name)
        self.line(f"# from tvm.script import {module} as T")
        self.line(decorator)
        handles: list[str] = []
        if plain:
            heads = [f"{each}: {self.declared(buffer)}" for each, buffer in zip(names, buffers, strict=True)]
        else:
            handles = [self.fresh(f"{each}_handle") for each in names]
            self.numbers = {size: (self.fresh(size), "int64") for size in parameters}
            heads = [f"{each}: T.handle" for each in handles]
            self.sizes = [
                self.numbers[size][0] if size in self.numbers else self.name(variables[size], size) for size in sizes
            ]
        # A parameter may have the name of its function.
        signature, own = len(self.lines), self.fresh(name, set())
        self.depth += 1
        notes = ", ".join(f"{key!r}: {_note(value)}" for key, value in {"global_symbol": name, **attrs}.items())
        self.line(f"T.func_attr({{{notes}}})")
        if not plain:
            for var in variables.values():
                self.line(f"{self.name(var, var.name)} = T.{var.dtype}()")
            for handle, each, buffer in zip(handles, names, buffers, strict=True):
                self.line(f"{each} = T.match_buffer({handle}, {self.shape(buffer)}, {buffer.dtype!r})")
        before = len(self.lines)
        self.statement(body)
        self.views_at(before, buffers)
        heads += [f"{number}: T.{dtype}" for number, dtype in self.numbers.values()]
        self.lines.insert(signature, f"def {own}({', '.join(heads)}):")
        return "\n".join(self.lines)

    def declared(self, buffer: Buffer) -> str:
        return f"T.Buffer({self.shape(buffer)}, {buffer.dtype!r})"

    def shape(self, buffer: Buffer) -> str:
        extents = [str(extent) if isinstance(extent, int) else self.expr(extent) for extent in buffer.shape]
        return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"

    def view(self, buffer: Buffer) -> str:
        """The line that declares the flat view of a buffer."""
        count = " * ".join(
            str(extent) if isinstance(extent, int) else f"({self.expr(extent)})" for extent in buffer.shape
        )
        scope = "" if buffer.scope() == "global" else f", scope={buffer.scope()!r}"
        name = self.flat[id(buffer)]
        return f"{name} = T.decl_buffer(({count or 1},), {buffer.dtype!r}, data={self.buffer(buffer)}.data{scope})"

    # Statements

    def statement(self, stmt: Stmt) -> None:
        """Write a statement; those behind one that names something are on its level."""
        following: Stmt | None = stmt
        while following is not None:
            self.named = {}
            following = self._next(following)

    def _next(self, stmt: Stmt) -> Stmt | None:
        match stmt:
            case LetStmt():
                value = self.expr(stmt.value)
                self.line(f"{self.name(stmt.var, stmt.var.name)}{self._annotation(stmt.value.dtype)} = {value}")
                return stmt.body
            case Allocate():
                self._allocated(stmt.buffer)
                return self._with_view(stmt.buffer, stmt.body)
            case AllocateConst():
                self._allocated(stmt.buffer)
                name, shape = self.buffer(stmt.buffer), [range(cast(int, extent)) for extent in stmt.buffer.shape]
                for point, number in zip(product(*shape), elements_of(stmt.data), strict=True):
                    text = self.expr(Const(number, stmt.buffer.dtype))
                    self.line(f"{name}[{', '.join(map(str, point)) or '()'}] = {text}")
                return self._with_view(stmt.buffer, stmt.body)
            case AssertStmt():
                self.line(f"assert {self.expr(stmt.condition)}, {str(stmt.message)!r}")
                return stmt.body
            case DeclBuffer():
                self._declared_view(stmt)
                return stmt.body
            case _:
                self._whole(stmt)
                return None

    def _whole(self, stmt: Stmt) -> None:
        match stmt:
            case SeqStmt():
                for inner in stmt.seq:
                    self.statement(inner)
            case BufferStore():
                indices = [self.expr(index) for index in stmt.indices]
                value = self.expr(stmt.value.astype(stmt.dtype))
                self.line(f"{self.source(stmt.producer)}[{', '.join(indices) or '()'}] = {value}")
            case For():
                self._loop(stmt)
            case IfThenElse():
                condition = stmt.condition
                if isinstance(condition, Call) and condition.name == "likely":
                    condition = condition.a
                self._indented(f"if {self.expr(condition)}:", stmt.then_case)
                if stmt.else_case is not None:
                    self._indented("else:", stmt.else_case)
            case While():
                before = len(self.lines)
                condition = self.expr(stmt.condition)
                if len(self.lines) != before:
                    fail("script: expected a while loop whose condition uses each value once, which TVMScript can say")
                self._indented(f"while {condition}:", stmt.body)
            case BlockRealize():
                self._block(stmt.block, stmt.iter_values, None if stmt.is_always else stmt.predicate)
            case Block():
                self._block(stmt, [], None)
            case Evaluate(value=Joint() as value) if not isinstance(value.op, str):
                for text in stored(value.op, [self._part(part) for part in value.parts], self):
                    self.line(text)
            case Evaluate():
                self.line(f"T.evaluate({self.expr(stmt.value)})")
            case _:
                fail(f"script: expected a statement of tir, got {type(stmt).__name__}")

    def _loop(self, stmt: For) -> None:
        nest = grid(stmt)
        names = ", ".join(self.name(loop.loop_var, loop.loop_var.name) for loop in nest)
        head = f"T.grid({', '.join(self.expr(loop.extent) for loop in nest)})" if nest[1:] else head_of(stmt, self)
        self.loops |= {id(loop.loop_var): loop.extent for loop in nest if starts_at_zero(loop)}
        lanes = ForKind(stmt.kind) is ForKind.VECTORIZED
        self.vectorized += lanes
        self._indented(f"for {names} in {head}:", nest[-1].body)
        self.vectorized -= lanes

    def _block(self, block: Block, values: Sequence[Expr], predicate: Expr | None) -> None:
        word = _BLOCKS[self.version]
        self.line(f"with T.{word}({block.name_hint!r}):")
        self.depth += 1
        for text in axes(block, values, self.loops, self):
            self.line(text)
        if predicate is not None:
            self.line(f"T.where({self.expr(predicate)})")
        for text in regions(block, self.regions.get(id(block)), self):
            self.line(text)
        if block.annotations:
            self.line(f"T.{word}_attr({notes(block)!r})")
        for buffer in block.alloc_buffers:
            self._allocated(buffer)
        for view in block.match_buffers:
            self.line(matched(view, self))
        at = len(self.lines)
        if block.init is not None:
            self._indented("with T.init():", block.init)
        self.statement(block.body)
        self.views_at(at, [*block.alloc_buffers, *(view.buffer for view in block.match_buffers)])
        self.depth -= 1

    def views_at(self, at: int, buffers: Iterable[Buffer]) -> None:
        """Write the flat views of buffers into a line that is written already, of those that have one."""
        views = [self.view(buffer) for buffer in buffers if id(buffer) in self.flat]
        self.lines[at:at] = ["    " * self.depth + view for view in views]

    def _indented(self, head: str, body: Stmt) -> None:
        self.line(head)
        self.depth += 1
        self.statement(body)
        self.depth -= 1

    def _allocated(self, buffer: Buffer) -> None:
        scope = "" if buffer.scope() == "global" else f", scope={buffer.scope()!r}"
        made = "sblock_alloc_buffer" if self.version == VERSIONS[0] else "alloc_buffer"
        self.line(f"{self.buffer(buffer)} = T.{made}({self.shape(buffer)}, {buffer.dtype!r}{scope})")

    def _with_view(self, buffer: Buffer, body: Stmt) -> Stmt | None:
        """Write what follows an allocation, and its flat view before that, if anything needs one."""
        at = len(self.lines)
        self.statement(body)
        self.views_at(at, [buffer])
        return None

    def _declared_view(self, stmt: DeclBuffer) -> None:
        buffer, source = stmt.buffer, stmt.source
        outer = self.strides.get(id(source)) or packed(source.shape)
        rank = len(buffer.shape)
        strides = outer[len(outer) - rank :] if stmt.strides is None else list(stmt.strides)
        self.strides[id(buffer)] = strides
        offset: Any = 0
        for index, stride in zip(stmt.indices, outer, strict=True):
            offset = offset + index * stride
        words = [self.shape(buffer), repr(buffer.dtype), f"data={self.buffer(source)}.data"]
        texts, plain = ([self.expr(convert(step)) for step in steps] for steps in (strides, packed(buffer.shape)))
        if texts != plain:
            words.append(f"strides=({', '.join(texts)}{',' if rank == 1 else ''})")
        if (start := self.expr(convert(offset))) != "0":
            words.append(f"elem_offset={start}")
        scope = [] if buffer.scope() == "global" else [f"scope={buffer.scope()!r}"]
        self.line(f"{self.buffer(buffer)} = T.decl_buffer({', '.join([*words, *scope])})")

    def _annotation(self, dtype: str) -> str:
        """The type of a name, where TVM reads its own text of it."""
        is_read = dtype not in ("handle", BOOL) and not re.fullmatch(r"boolx\d+|\w+x2", dtype)
        return f": T.{dtype}" if is_read else ""

    # Expressions

    def expr(self, root: Expr | SizeExpr | int) -> str:
        """The text of an expression; what it uses twice gets a name, in a line before.

        In a vectorized loop it is written twice: TVM 0.27 takes a name there for the value in the last iteration.
        """
        if isinstance(root, int | SizeExpr):
            return str(root)
        shared = set[int]() if self.vectorized else self._shared(root)
        texts: dict[int, Spelling] = {}
        for node in operands_first([root], texts, self._operands):
            texts[id(node)] = self._spelled(node, texts)
            if self.exact and _is_product(node):
                texts[id(node)] = exactly("arithmetic.fence", node.dtype, [texts[id(node)]])
            if id(node) in shared and node is not root:
                name = self.named[id(node)] = self.named_value(node.dtype, texts[id(node)][0])
                texts[id(node)] = (name, ATOM)
        return texts[id(root)][0]

    def named_value(self, dtype: str, text: str) -> str:
        """The name of a value, in a line before."""
        name = self.fresh("v")
        self.line(f"{name}{self._annotation(dtype)} = {text}")
        return name

    def _operands(self, node: Expr) -> Sequence[Expr]:
        return () if id(node) in self.named else children(node)

    def _shared(self, root: Expr) -> set[int]:
        """Values that are used more than once, and computed whatever a condition says."""
        uses: Counter[int] = Counter()
        guarded: set[int] = set()
        stack: list[tuple[Expr, bool]] = [(root, False)]
        seen: set[tuple[int, bool]] = set()
        places: Progressions = {}
        while stack:
            node, is_guarded = stack.pop()
            if is_guarded:
                guarded.add(id(node))
            if (id(node), is_guarded) in seen:
                continue
            seen.add((id(node), is_guarded))
            inner = is_guarded or (isinstance(node, Select) and node.guarded)
            for number, child in enumerate(children(node)):
                uses[id(child)] += 1
                stack.append((child, inner and not (isinstance(node, Select) and number == 0)))
            if isinstance(node, _KEPT) or progression(node, places) is not None:
                guarded.add(id(node))
        return {node for node, count in uses.items() if count > 1 and node not in guarded}

    def _spelled(self, node: Expr, texts: Mapping[int, Spelling]) -> Spelling:
        if id(node) in self.named:
            return self.named[id(node)], ATOM
        match node:
            case Var() if id(node) in self._buffers:
                return f"{self.buffer(self._buffers[id(node)])}.data", ATOM
            case Var() if id(node) not in self.names and node.name in self.numbers:
                text, _ = self.numbers[node.name]
                self.numbers[node.name] = (text, node.dtype)
                return text, ATOM
            case Var() | Axis():
                return self.name(node, node.name), ATOM
            case Read():
                indices = ", ".join(texts[id(index)][0] for index in node.indices)
                return f"{self.source(node.tensor)}[{indices or '()'}]", ATOM
            case Cast(dtype="index"):
                return texts[id(node.a)]
            case Joint(op=op) if not isinstance(op, str):
                return spelled(op, node.dtype, [self._placed(part, texts) for part in node.parts], self)
            case Joint(op="fma"):
                return exactly("fma", node.dtype, [texts[id(part)] for part in node.parts])
            case Binary(op="max" | "min" as op) if is_float(node.dtype):
                return exactly(f"{op}imum", node.dtype, [texts[id(node.a)], texts[id(node.b)]])
            case CallExtern():
                words = [texts[id(part)][0] for part in node.arguments]
                return f"T.call_pure_extern({', '.join([repr(node.dtype), repr(node.callee), *words])})", ATOM
            case _:
                return spell(node, [texts[id(child)] for child in children(node)])

    def _part(self, part: Expr) -> Operand:
        """An operand of an op that is a statement."""
        if isinstance(part, Var) and id(part) in self._buffers:
            return self._placed(part, {})
        value = part.a if isinstance(part, Cast) and part.dtype == "index" else part
        return self._placed(part, {id(part): (f"({self.expr(value)})" if children(value) else self.expr(value), ATOM)})

    def _placed(self, part: Expr, texts: Mapping[int, Spelling]) -> Operand:
        if isinstance(part, Var) and id(part) in self._buffers:
            buffer = self._buffers[id(part)]
            return Operand((self.buffer(buffer), ATOM), buffer.dtype, buffer)
        return Operand(texts[id(part)], part.dtype)

    def flat_name(self, buffer: Buffer) -> str:
        """The name of the flat view of a buffer."""
        if id(buffer) not in self.flat:
            self.flat[id(buffer)] = self.fresh(f"{self.buffer(buffer)}_flat")
        return self.flat[id(buffer)]


def _is_product(node: Expr) -> bool:
    """Return whether a value is a product of floats, which TVM's compiler joins with a sum."""
    match node:
        case Binary(op="mul"):
            return is_float(node.dtype)
        case Joint(op=arith.MulfOp()):
            return True
        case _:
            return False


def _sizes(buffers: Iterable[Buffer]) -> dict[str, Var]:
    """The variables that are alone the extent of a dimension, by name."""
    return {extent.name: extent for buffer in buffers for extent in buffer.shape if isinstance(extent, Var)}


def packed(shape: Sequence[Any]) -> list[Any]:
    """Return the strides of elements that lie close together."""
    strides: list[Any] = []
    step: Any = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step = step * extent
    return strides


def _note(value: object) -> str:
    return f"T.bool({value})" if isinstance(value, bool) else repr(value)
