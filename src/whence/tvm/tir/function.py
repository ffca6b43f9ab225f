"""`PrimFunc`: a kernel as statements on buffers, and as an op of tir; each is made of the other on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from whence.dialects.sizes import UndecidedSize
from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.provenance.span import SequentialSpan, Span
from whence.support.dtypes import fail
from whence.te.language.expr import Var
from whence.te.language.locations import here, located
from whence.te.language.statement_ops import attributes_of, emit
from whence.te.language.statement_view import notes_of, view
from whence.te.language.statements import Buffer, Stmt
from whence.tir.block_regions import block_regions
from whence.tir.script_text import VERSIONS, function_text

_SYMBOL = "global_symbol"
HELD = (Attribute, bool, int, float, str)
"""What an op holds as an attribute; others are the function's alone."""


class PrimFunc:
    """A function on buffers.

    params: buffers, or variables: with buffers in `buffer_map`, or whole numbers, which are sizes of a call. Buffers
    that the body writes are outputs and must come last. Raises ScheduleError if they do not, or for an illegal body,
    when the op is made.
    """

    def __init__(
        self,
        params: Sequence[Buffer | Var],
        body: Stmt,
        ret_type: object = None,
        buffer_map: Mapping[Var, Buffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ):
        self.ret_type = ret_type
        self.attrs: dict[str, Any] = dict(attrs or {})
        self._parts: tuple[list[Buffer | Var], dict[Var, Buffer], Stmt] | None = (
            list(params),
            dict(buffer_map or {}),
            body,
        )
        self._op: PrimFuncOp | None = None
        self._location = here(str(self.attrs.get(_SYMBOL, "main")), __name__)
        self._like: PrimFuncOp | None = None
        """The op with the outputs and sizes of this function, if it was made of one."""

    @classmethod
    def of(cls, op: PrimFuncOp, attrs: Mapping[str, Any] | None = None) -> PrimFunc:
        """Return the function that an op, which is not copied, is.

        attrs: of which those that no op holds are kept, and the name, as a module may know the op by another one.
        """
        made = cls.__new__(cls)
        made.ret_type = None
        kept = {key: value for key, value in (attrs or {}).items() if key == _SYMBOL or not isinstance(value, HELD)}
        made.attrs = {_SYMBOL: op.sym_name.data, **kept, **notes_of(op)}
        made._parts, made._op, made._like, made._location = None, op, op, op.location
        return made

    def _seen(self) -> tuple[list[Buffer | Var], dict[Var, Buffer], Stmt]:
        if self._parts is None:
            buffers, body = view(self.op)
            self._parts = [buffer.data for buffer in buffers], {buffer.data: buffer for buffer in buffers}, body
        return self._parts

    @property
    def params(self) -> list[Buffer | Var]:
        return self._seen()[0]

    @property
    def buffer_map(self) -> dict[Var, Buffer]:
        return self._seen()[1]

    @property
    def body(self) -> Stmt:
        """The statements. Raises ScheduleError when the function is of ops that no statement stands for."""
        return self._seen()[2]

    @property
    def buffers(self) -> list[Buffer]:
        """The buffers of the parameters."""
        found = {param: self.buffer_map.get(param) if isinstance(param, Var) else param for param in self.params}
        buffers = [buffer for buffer in found.values() if buffer is not None]
        numbers = [param for param, buffer in found.items() if buffer is None]
        if missing := [str(param) for param in numbers if not param.dtype.startswith(("int", "uint"))]:
            fail(f"tir.PrimFunc: expected a buffer for each parameter, got none for {', '.join(missing)}")
        return buffers

    @property
    def op(self) -> PrimFuncOp:
        """The function as an op of tir."""
        if self._op is None:
            name, like = str(self.attrs.get(_SYMBOL, "main")), self._like
            if like is None:
                numbers = [
                    param.name for param in self.params if isinstance(param, Var) and param not in self.buffer_map
                ]
                outputs = self.attrs.get("num_outputs")
                with located(self._location):
                    try:
                        self._op = emit(name, self.buffers, self.body, outputs, sizes=numbers)
                    except UndecidedSize as error:
                        fail(f"tir.PrimFunc: expected sizes that decide what is there, got {error}")
            else:
                self._op = emit(name, self.buffers, self.body, like.outputs.value.data, like.size_names)
                self._op.location = like.location
            self._op.attributes.update(_held(self.attrs))
            try:
                self._op.verify()
            except VerifyException as error:
                fail(f"tir.PrimFunc: expected statements that make legal ops, got {' '.join(str(error).split())}")
        return self._op

    @property
    def span(self) -> Span | SequentialSpan | None:
        """The location as a span."""
        return Span.of(self.op.location)

    @property
    def module(self) -> ModuleOp:
        """A module that holds a copy of the op alone."""
        return ModuleOp([self.op.clone()])

    def holding(self, module: ModuleOp) -> PrimFunc:
        """The function that passes made of it."""
        return PrimFunc.of(next(iter(prim_funcs(module))).clone(), self.attrs)

    @property
    def is_of_ops(self) -> bool:
        """Return whether the statements are those of the op, not the other way round."""
        return self._parts is None or (self._op is not None and self._op is self._like)

    @property
    def of_ops(self) -> PrimFunc:
        """The function with the statements of its op, whose indices are affine. Raises ScheduleError as `op`."""
        return self if self.is_of_ops else PrimFunc.of(self.op, self.attrs)

    def _alike(self, body: Stmt | None, attrs: Mapping[str, Any]) -> PrimFunc:
        """The function with other attributes, and another body if one is given."""
        made = PrimFunc.__new__(PrimFunc)
        made.ret_type, made.attrs, made._like, made._location = self.ret_type, dict(attrs), self._like, self._location
        if body is None and self._parts is None:
            made._parts, made._op = None, self.op.clone()
            made._op.sym_name = StringAttr(str(attrs.get(_SYMBOL, "main")))
            made._op.attributes.clear()
            made._op.attributes.update(_held(attrs))
        else:
            params, buffer_map, old = self._seen()
            made._parts, made._op = (params, buffer_map, old if body is None else body), None
        return made

    def with_body(self, new_body: Stmt, span: object = None) -> PrimFunc:
        """The same function of other statements."""
        del span
        return self._alike(new_body, self.attrs)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> PrimFunc:
        """The same function with one attribute more, or several; `global_symbol` is its name."""
        return self._alike(None, {**self.attrs, **({key: value} if isinstance(key, str) else key)})

    def without_attr(self, key: str) -> PrimFunc:
        """The same function without an attribute."""
        return self._alike(None, {name: value for name, value in self.attrs.items() if name != key})

    def get_attr(self, key: str) -> Any:
        """Return an attribute; None for a missing one."""
        return self.attrs.get(key)

    def script(self, version: str = VERSIONS[0], *, exact: bool = False) -> str:
        """The function as TVMScript, in the spelling of TVM 0.27 or 0.14.

        exact: keep the compiler of TVM from joining products with sums, which rounds once in place of twice.
        Raises ScheduleError for what that cannot say, with its location.
        """
        like = self.op
        attrs = {"tir.noalias": True, "num_outputs": like.outputs.value.data, **self.attrs}
        name = str(attrs.pop(_SYMBOL, "main"))
        shown = {key: value for key, value in attrs.items() if isinstance(value, bool | int | float | str)}
        regions = block_regions(like, self.buffers, self.body)
        return function_text(name, self.buffers, like.size_names, self.body, shown, version, exact, regions)

    def show(self, version: str = VERSIONS[0]) -> None:
        """Print the function as TVMScript."""
        print(self.script(version))

    def __str__(self) -> str:
        """The text of the op."""
        return str(self.op)


def _held(attrs: Mapping[str, Any]) -> dict[str, Attribute]:
    return attributes_of({key: value for key, value in attrs.items() if key != _SYMBOL and isinstance(value, HELD)})
