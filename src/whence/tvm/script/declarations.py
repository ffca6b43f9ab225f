"""Declarations of a script: variables, buffers, allocations and views."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np

import whence.script.vectors as vectors
from whence.script.calls import Calls
from whence.script.names import listed
from whence.script.words import ALLOCATIONS
from whence.support.dtypes import INT, NAMES
from whence.te.language.blocks import MatchBufferRegion
from whence.te.language.expr import Const, Expr, Range, SizeVar, Var, convert
from whence.te.language.statements import Allocate, Buffer, BufferStore, DeclBuffer, SeqStmt, Stmt
from whence.tir.script_text import packed

_VARIABLES = ("var", "size_var", "env_thread", "Var", "SizeVar")
_VARIABLES_OF_TE = frozenset(
    f"{room}.{name}"
    for rooms, names in ((("te", "tvm.te"), ("var", "size_var")), (("tir", "tvm.tir"), ("Var", "SizeVar", "var")))
    for room in rooms
    for name in names
)
_SCOPES = {"global": "global", "local": "local", "shared": "shared", "": "global"}
_PARAMETERS = ("shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", "buffer_type")
"""The arguments of a buffer by place, those of `T.Buffer` and, behind its source, of `T.match_buffer`."""
_UNUSED = frozenset(("annotations", "axis_separators", "layout", "span", "condition"))


class Declarations(Calls):
    """Reads declarations. `views` are those of the block, `extents` those of the loops around."""

    views: list[MatchBufferRegion]
    extents: dict[Var, Range]
    handles: dict[Var, Buffer | None]
    """The handles among the parameters, with their buffers as soon as these are known."""

    def is_variable(self, word: str, call: ast.Call) -> bool:
        """Return whether `name = T.word(..)` declares a variable."""
        is_flag = all(keyword.arg in ("is_size_var", "dtype") for keyword in call.keywords)
        is_named = word in _VARIABLES or (not word and ast.unparse(call.func) in _VARIABLES_OF_TE)
        return (word in NAMES and not call.args and is_flag) or is_named

    def variable(self, name: str, node: ast.expr) -> Var:
        """A variable of an annotation or a declaration; one that shapes name already stays."""
        dtype = self.annotated_dtype(node)
        known = self.names.get(name)
        if isinstance(known, Var) and known.dtype in (INT, "int64") and isinstance(node, ast.Call):
            return known
        is_size = isinstance(node, ast.Call) and (
            node_name(node.func) in ("size_var", "SizeVar") or any(word.arg == "is_size_var" for word in node.keywords)
        )
        return (SizeVar if is_size else Var)(name, dtype)

    def annotated_dtype(self, node: ast.expr) -> str:
        """The dtype that `T.int32`, `T.let[T.int32]`, `T.int32()` or `T.var("int32")` says."""
        if isinstance(node, ast.Subscript) and self.word(node.value) == "let":
            return self.annotated_dtype(node.slice)
        call = node if isinstance(node, ast.Call) else None
        word = self.word(node if call is None else call.func)
        if call is not None and (word in _VARIABLES or ast.unparse(call.func) in _VARIABLES_OF_TE):
            args, named = self.arguments(call)
            # Behind the name of a variable, which its declaration gives anew.
            given = named.get("dtype", args[-1] if len(args) == 1 + (word not in ("var", "size_var")) else None)
            return INT if given is None else self.text(given, "a dtype")
        if word == "handle" or (call is not None and word == "Ptr"):
            return "handle"
        if not vectors.is_dtype(word):
            self.source.refuse(node, f"expected a dtype such as T.int32, got {ast.unparse(node)}")
        return word

    # Buffers

    def shape(self, node: ast.expr) -> list[Any]:
        """The extents of a shape; a string is the name of a size, which is defined by that."""
        elements = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        return [extent for element in self.spread(elements) for extent in self._extents(element)]

    def _extents(self, node: ast.expr) -> list[Any]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [self.names.setdefault(node.value, Var(node.value, INT))]
        value = self.value(node)
        if (parts := listed(value)) is not None:
            return [_extent(part) for part in parts]
        if isinstance(value, float):
            self.source.refuse(node, f"expected a whole number as extent, got {value}")
        return [_extent(value if isinstance(value, int) else self.number(value, node))]

    def buffer(
        self,
        name: str,
        node: ast.AST,
        given: Mapping[str, ast.expr],
        shape: list[Any] | None = None,
        like: str = "float32",
    ) -> Buffer:
        """A buffer of the arguments of `T.Buffer`; without a shape among them it has that of `shape`."""
        extents = self.shape(given["shape"]) if "shape" in given else shape
        if extents is None:
            self.source.refuse(node, f"expected the shape of {name}")
        scope = self.text(given["scope"], "a scope") if "scope" in given else "global"
        if scope not in _SCOPES:
            self.source.refuse(given["scope"], f"expected a scope among global, shared and local, got {scope!r}")
        dtype = self.text(given["dtype"], "a dtype") if "dtype" in given else like
        strides = self.shape(given["strides"]) if "strides" in given and not _is_none(given["strides"]) else None
        offset = given.get("elem_offset")
        with self.source.judged(given.get("dtype", node)):
            return Buffer(
                extents,
                dtype,
                name,
                _SCOPES[scope],
                strides=strides or None,
                elem_offset=None if offset is None or _is_none(offset) else self._offset(offset),
            )

    def _offset(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.names.setdefault(node.value, Var(node.value, INT))
        return self.value(node)

    def given(self, call: ast.Call, skipped: int = 0, names: tuple[str, ...] = _PARAMETERS) -> dict[str, ast.expr]:
        """The arguments of a declaration by name, without the first ones."""
        args, named = self.arguments(call)
        if len(args) - skipped > len(names):
            self.source.refuse(call, f"expected at most {len(names) + skipped} arguments, got {len(args)}")
        for name, value in named.items():
            if name not in (*_PARAMETERS, *names, *_UNUSED):
                self.source.refuse(value, f"expected an argument among {', '.join(names)}, got {name}")
        return {**dict(zip(names, args[skipped:], strict=False)), **named}

    def declared(self, target: ast.Name, call: ast.Call, word: str) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """The statements of a declaration, whose name is defined."""
        name = target.id
        args, _ = self.arguments(call)
        if word in ALLOCATIONS:
            buffer = self.names[name] = self.buffer(name, call, self.given(call))
            return [partial(Allocate, buffer)]
        if word == "match_buffer":
            if not args:
                self.source.refuse(call, "expected a buffer to match")
            self.match(target, call, args[0])
            return []
        if word == "allocate":
            given = self.given(call, 0, ("shape", "dtype", "scope", "condition"))
            buffer = self.names[name] = self.buffer(name, call, given)
            return [partial(Allocate, buffer)]
        if word == "allocate_const":
            return self._constants(name, call)
        if word == "Buffer" and not any(word.arg == "data" for word in call.keywords):
            self.source.refuse(call, f"expected the data of {name}; T.alloc_buffer makes memory")
        return self._view(name, call)

    def match(self, target: ast.Name, call: ast.Call, source: ast.expr) -> None:
        """A view of a region in a block."""
        region = self.region(source)
        lengths = [one.extent for one in region.region]
        buffer = self.buffer(target.id, call, self.given(call, 1), lengths, region.buffer.dtype)
        outer = lengths[: len(lengths) - len(buffer.shape)]
        if len(buffer.shape) > len(lengths) or any(isinstance(one, int) and one != 1 for one in outer):
            self.source.refuse(
                call, f"expected a view of the last dimensions of {region.buffer.name}, got {list(buffer.shape)}"
            )
        for extent, length in zip(buffer.shape, lengths[len(outer) :], strict=True):
            if isinstance(extent, int) and isinstance(length, int) and extent != length:
                self.source.refuse(call, f"expected the extents of the region, {lengths}, got {list(buffer.shape)}")
        if buffer.dtype != region.buffer.dtype:
            self.source.refuse(call, f"expected {region.buffer.dtype} as in {region.buffer.name}, got {buffer.dtype}")
        self.names[target.id] = buffer
        self.views.append(MatchBufferRegion(buffer, region))

    def _view(self, name: str, call: ast.Call) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """`T.decl_buffer`: memory of its own, or another shape of a buffer's."""
        given = self.given(call)
        buffer = self.buffer(name, call, given)
        self.names[name] = buffer
        if "data" not in given or _is_none(given["data"]):
            return [partial(Allocate, buffer)]
        source = self.value(given["data"])
        if isinstance(source, Var) and source in self.handles:
            if (known := self.handles[source]) is None:
                return self.matched(buffer, source, call)
            source = known
        if not isinstance(source, Buffer):
            self.source.refuse(given["data"], "expected the data of a buffer")
        if source.dtype != buffer.dtype:
            self.source.refuse(call, f"expected {source.dtype} as in {source.name}, got {buffer.dtype}")
        return self._viewed(name, source, buffer)

    def matched(self, buffer: Buffer, handle: Var, node: ast.AST) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """Let a buffer be what a handle among the parameters points to."""
        with self.source.judged(node):
            buffer.check_packed("T.match_buffer")
        self.names[buffer.name] = self.handles[handle] = buffer
        return []

    def viewed(self, target: ast.Name, source: Buffer, call: ast.Call) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """`source.view(*shape)`: the same elements by another shape."""
        args, named = self.arguments(call)
        shape = [extent for node in args for extent in self.shape(node)]
        if named or not args or any(isinstance(extent, int) and extent < 0 for extent in shape):
            self.source.refuse(call, f"expected the extents of a view of {source.name}")
        counts = [prod(sizes) for sizes in (shape, source.shape) if all(isinstance(size, int) for size in sizes)]
        if len(counts) == 2 and counts[0] != counts[1]:
            self.source.refuse(call, f"expected extents of {counts[1]} elements in all, got {counts[0]}")
        return self._viewed(target.id, source, Buffer(shape, source.dtype, target.id))

    def _viewed(self, name: str, source: Buffer, buffer: Buffer) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """The statement for a buffer that has the data of another one."""
        same = [str(extent) for extent in source.shape] == [str(extent) for extent in buffer.shape]
        if same and not buffer.strides and _is_zero(buffer.elem_offset):
            self.names[name] = source
            return []
        view = Buffer(buffer.shape, buffer.dtype, name, source.scope())
        self.names[name] = view
        start: list[Expr] = [convert(0) for _ in source.shape]
        start[-1:] = [buffer.elem_offset] if source.shape else []
        strides = list(buffer.strides) or packed(buffer.shape)
        return [partial(DeclBuffer, view, source, start, strides)]

    def _constants(self, name: str, call: ast.Call) -> list[Stmt | Callable[[Stmt], Stmt]]:
        """`T.allocate_const`: a buffer with a store for each number."""
        given = self.given(call, 0, ("data", "dtype", "extents"))
        if "extents" in given:
            given["shape"] = given["extents"]
        if "data" not in given:
            self.source.refuse(call, "expected the numbers of a constant buffer")
        buffer = self.buffer(name, call, {key: given[key] for key in ("dtype", "shape") if key in given})
        values = self.value(given["data"])
        shape = [extent for extent in buffer.shape if isinstance(extent, int)]
        flat = np.asarray(values if isinstance(values, list) else [values], dtype=object).ravel()
        if len(shape) != len(buffer.shape) or flat.size != int(np.prod(shape)):
            self.source.refuse(call, f"expected a number for each element of {list(buffer.shape)}, got {flat.size}")
        points = product(*map(range, shape))
        stores = [
            BufferStore(buffer, convert(number, buffer.dtype) if not isinstance(number, Expr) else number, list(point))
            for point, number in zip(points, flat, strict=True)
        ]
        self.names[name] = buffer
        return [lambda body: Allocate(buffer, SeqStmt([*stores, body]))]


def node_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _extent(value: Any) -> Any:
    return int(value.value) if isinstance(value, Const) else value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_zero(value: Any) -> bool:
    return isinstance(value, Const) and value.value == 0
