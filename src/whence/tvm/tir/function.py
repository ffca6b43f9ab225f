"""`PrimFunc`: statements on buffers, as a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.support.dtypes import fail
from whence.te.language.expr import Var
from whence.tir.emit import emit
from whence.tir.statements import Buffer, Stmt


class PrimFunc:
    """A function on buffers.

    params: buffers, or variables with buffers in `buffer_map`. Buffers that the body writes are outputs and must come
    last. Raises ScheduleError if they do not, or for an illegal body.
    """

    def __init__(
        self,
        params: Sequence[Buffer | Var],
        body: Stmt,
        ret_type: object = None,
        buffer_map: Mapping[Var, Buffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ):
        del ret_type
        self.params = list(params)
        self.body = body
        self.buffer_map = dict(buffer_map or {})
        self.attrs: dict[str, Any] = dict(attrs or {})
        self._op: PrimFuncOp | None = None

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers of the parameters."""
        buffers = [self.buffer_map.get(param) if isinstance(param, Var) else param for param in self.params]
        missing = [str(param) for param, buffer in zip(self.params, buffers, strict=True) if buffer is None]
        if missing:
            fail(f"tir.PrimFunc: expected a buffer for each parameter, got none for {', '.join(missing)}")
        return [buffer for buffer in buffers if buffer is not None]

    @property
    def op(self) -> PrimFuncOp:
        """The function as an op of tir."""
        if self._op is None:
            self._op = emit(str(self.attrs.get("global_symbol", "main")), self.buffers, self.body)
            self._op.verify()
        return self._op

    @property
    def module(self) -> ModuleOp:
        """A module that holds a copy of the op alone."""
        return ModuleOp([self.op.clone()])

    def holding(self, module: ModuleOp) -> PrimFunc:
        """The function that passes made of it."""
        func = PrimFunc(self.params, self.body, None, self.buffer_map, self.attrs)
        func._op = next(iter(prim_funcs(module))).clone()
        return func

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> PrimFunc:
        """The same function with one attribute more, or several; `global_symbol` is its name."""
        added = {key: value} if isinstance(key, str) else dict(key)
        return PrimFunc(self.params, self.body, None, self.buffer_map, {**self.attrs, **added})

    def without_attr(self, key: str) -> PrimFunc:
        """The same function without an attribute."""
        left = {name: value for name, value in self.attrs.items() if name != key}
        return PrimFunc(self.params, self.body, None, self.buffer_map, left)

    def script(self) -> str:
        """The text of the op."""
        return str(self.op)

    __str__ = script
