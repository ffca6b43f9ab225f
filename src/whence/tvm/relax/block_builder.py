"""BlockBuilder: functions of relay from bindings that are emitted one by one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from whence.dialects.element_types import dtype_name
from whence.dialects.sizes import Size, SizeExpr
from whence.dialects.sizes.types import extents_of
from whence.kernels.building import create_prim_func
from whence.provenance.span import Span, layer_location
from whence.relay.builders import TupleWrapper, as_expr
from whence.relay.kernel_calls import call_tir, match_cast
from whence.relay.module import IRModule
from whence.support.errors import FrontendError
from whence.syntax.relax.terms import infer_shallow
from whence.syntax.relay.bind import substituted
from whence.syntax.relay.expr import Call, Expr, Function, GlobalVar, Let, Program, Tuple, Var
from whence.syntax.relay.nodes import children
from whence.te import Tensor, placeholder, size_var
from whence.tir.function import PrimFunc

_ROOM = __name__.rpartition(".")[0]


@dataclass
class _Open:
    """A function that is being built."""

    name: str
    params: list[Var] | None
    attrs: Mapping[str, Any]
    lets: list[tuple[Var, Expr]] = field(default_factory=list[tuple[Var, Expr]])
    values: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    """The expressions that variables of dataflow blocks stand for."""
    hidden: set[Expr] = field(default_factory=set[Expr])
    """Variables of blocks that ended, which are no outputs of these."""
    block: set[Expr] | None = None
    """The variables of the dataflow block so far, outside of one None."""
    result: Expr | None = None


class BlockBuilder:
    """A builder of a module: functions, and in them bindings in the order in which they are emitted.

    A binding of a dataflow block is part of a graph, one outside is a let. A location is the line of Python that emits
    the binding, under the name of its variable.
    """

    _current: ClassVar[list[BlockBuilder]] = []

    def __init__(self, mod: IRModule | None = None):
        self._module = IRModule() if mod is None else mod.shallow_copy()
        self._open: list[_Open] = []
        self._names: dict[str, int] = {}
        self._layer = ""

    @staticmethod
    def current() -> BlockBuilder | None:
        """Return the builder whose function is being built, None outside of one."""
        return BlockBuilder._current[-1] if BlockBuilder._current else None

    @contextmanager
    def function(
        self,
        name: str,
        params: Var | Tuple | Sequence[Var] | None = None,
        attrs: Mapping[str, Any] | None = None,
        private: bool = False,
        pure: bool = True,
    ) -> Generator[None]:
        """A scope that builds a function of the module; `emit_func_output` ends it.

        private, pure: as in TVM; every function here is known by its name, and only computes.
        """
        del private, pure
        if self._open:
            raise FrontendError(f"BlockBuilder: expected no function inside of @{self._open[-1].name}, got @{name}")
        if name in self._module:
            raise FrontendError(f"BlockBuilder: expected another name than that of a function, got @{name}")
        state = _Open(name, None if params is None else _listed(params), dict(attrs or {}))
        self._open.append(state)
        BlockBuilder._current.append(self)
        try:
            for param in state.params or ():
                infer_shallow(param)
                _place(param, self._line(param.name_hint))
            yield
            self._module[name] = self._finished(state)
        finally:
            self._open.pop()
            BlockBuilder._current.pop()

    def _finished(self, state: _Open) -> Function:
        if state.result is None:
            raise FrontendError("emit_func_output must be called in a relax function.")
        if state.params is None:
            raise FrontendError("Relax function must have parameter.")
        body = state.result
        for var, value in reversed(state.lets):
            body = Let(var, value, body, span=value.span if isinstance(value, Call) else None)
        return Function(state.params, self._typed(body), attrs=state.attrs)

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """A scope whose bindings are a graph; only those of `emit_output` are known behind it."""
        state = self._state("dataflow")
        if state.block is not None:
            raise FrontendError("BlockBuilder: expected bindings in a dataflow block, got another block")
        state.block = set()
        try:
            yield
        finally:
            state.hidden |= state.block
            state.block = None

    @property
    def current_block_is_dataflow(self) -> bool:
        """True inside of a dataflow block."""
        return bool(self._open) and self._open[-1].block is not None

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Return a variable for the value of an expression; raises FrontendError where types do not fit."""
        state = self._state("emit")
        var = self._bound(state, expr, name_hint or ("lv" if state.block is not None else "gv"))
        if state.block is not None:
            state.block.add(var)
        return var

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Return a variable that is known behind the dataflow block, as one of the block is that `output` is."""
        state = self._state("emit_output")
        if state.block is None:
            raise FrontendError("emit_output: expected a dataflow block around it, got none")
        if isinstance(output, Var):
            state.block.discard(output)
        return self._bound(state, output, name_hint or "gv")

    def emit_func_output(self, output: Any, params: Var | Tuple | Sequence[Var] | None = None) -> None:
        """End the function with its result. params: the parameters, if `function` got none."""
        if not self._open:
            raise FrontendError("emit_func_output must be called in a relax function.")
        state = self._open[-1]
        if state.result is not None:
            raise FrontendError("emit_func_output must be called exactly once in a relax function.")
        if params is not None:
            state.params = _listed(params)
        state.result = self._typed(self._resolved(state, as_expr(output)))

    def normalize(self, expr: Any) -> Expr:
        """Return an expression with its type."""
        return self._typed(as_expr(expr))

    def match_cast(self, value: Any, struct_info: Any, name_hint: str = "") -> Var:
        """Return a variable at a type whose sizes are bound and checked when the program runs."""
        return self.emit(match_cast(value, struct_info), name_hint)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """Return the call of a kernel that a function of te tensors computes; the kernel is a function of the module.

        Expressions among the arguments, also in lists, are placeholders for `func`. primfunc_name_hint: the kernel's
        name instead of the function's.
        """
        hint = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
        kwargs.pop("primfunc_attrs", None)
        inputs: dict[Expr, Tensor] = {}

        def stand_in(value: Any) -> Any:
            match value:
                case TupleWrapper():
                    return stand_in(value.astuple())
                case Tuple():
                    return [stand_in(part) for part in value.fields]
                case Expr():
                    if value not in inputs:
                        inputs[value] = self._placeholder(value, len(inputs))
                    return inputs[value]
                case list() | tuple():
                    return [stand_in(item) for item in cast("Sequence[Any]", value)]
                case _:
                    return value

        results: Any = func(*map(stand_in, args), **{key: stand_in(value) for key, value in kwargs.items()})
        outputs = list(cast("Sequence[Tensor]", results)) if isinstance(results, list | tuple) else [results]
        name = self.get_unique_name(hint.rpartition(".")[2])
        self._module[name] = PrimFunc.of(create_prim_func([*inputs.values(), *outputs], name))
        call = call_tir(name, list(inputs), [None] * len(outputs) if len(outputs) > 1 else None)
        return call.astuple() if isinstance(call, TupleWrapper) else call

    def emit_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
        """Return a variable for the result of `call_te`. name_hint: its name."""
        name_hint = kwargs.pop("name_hint", "")
        return self.emit(self.call_te(func, *args, **kwargs), name_hint)

    def _placeholder(self, value: Expr, number: int) -> Tensor:
        type_ = self._typed(value).inferred
        if not isinstance(type_, TensorType):
            raise FrontendError(f"call_te: expected tensors as arguments, got {type_}")
        tensor = cast("TensorType[Attribute]", type_)
        name = value.name_hint if isinstance(value, Var) else f"p{number}"
        return placeholder([_extent(size) for size in extents_of(tensor)], dtype_name(tensor.element_type), name=name)

    def get(self) -> IRModule:
        """Return the module so far."""
        return self._module.shallow_copy()

    finalize = get

    def get_unique_name(self, name_prefix: str) -> str:
        """Return a name that no function and no other call got: the prefix, then the prefix with a number."""
        count = self._names.get(name_prefix, 0)
        while (name := f"{name_prefix}{count or ''}") in self._module:
            count += 1
        self._names[name_prefix] = count + 1
        return name

    def add_func(self, func: Function | PrimFunc, func_name: str) -> GlobalVar:
        """Add a function to the module, and return its name, which is another one if that is taken."""
        name = self.get_unique_name(func_name)
        self._module[name] = func
        return GlobalVar(name)

    def update_func(self, gv: GlobalVar | str, updated_func: Function | PrimFunc) -> None:
        """Replace a function of the module."""
        self._module[gv] = updated_func

    def lookup_binding(self, var: Var) -> Expr | None:
        """Return what a variable is bound to; None for a parameter."""
        state = self._state("lookup_binding")
        return state.values.get(var) or next((value for bound, value in state.lets if bound is var), None)

    def _state(self, name: str) -> _Open:
        if not self._open:
            raise FrontendError(f"{name}: expected a function around it, got none")
        return self._open[-1]

    def _bound(self, state: _Open, expr: Any, hint: str) -> Var:
        value = self._resolved(state, as_expr(expr))
        name = self._local_name(hint)
        _place(value, self._line(name))
        var = Var(name, self._typed(value).inferred, span=getattr(value, "span", None))
        var.type = value.inferred
        if state.block is None:
            state.lets.append((var, value))
        else:
            state.values[var] = value
        return var

    def _line(self, name: str) -> Any:
        """Return the line of Python that calls the builder, as that of a layer, or of what `layer` names."""
        frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        while frame is not None and str(frame.f_globals.get("__name__", "")).startswith((_ROOM, "contextlib")):
            frame = frame.f_back
        assert frame is not None, "somebody calls"
        return Span.of(layer_location(self._layer or name, Path(frame.f_code.co_filename).name, frame.f_lineno))

    @contextmanager
    def layer(self, name: str) -> Generator[None]:
        """A scope whose bindings belong to the layer of a name."""
        before, self._layer = self._layer, name
        try:
            yield
        finally:
            self._layer = before

    def _local_name(self, hint: str) -> str:
        count = self._names.get(f"%{hint}", 0)
        self._names[f"%{hint}"] = count + 1
        return f"{hint}{count or ''}"

    def _resolved(self, state: _Open, expr: Expr) -> Expr:
        """Return an expression with the values of dataflow variables; raises FrontendError for one that is unknown."""
        result = substituted(expr, state.values)
        hidden = [node for node in (expr, *_within(expr)) if node in state.hidden]
        if hidden:
            name = cast(Var, hidden[0]).name_hint
            expected = "a variable that emit_output makes"
            raise FrontendError(f"BlockBuilder: expected {expected}, got {name} of a block that ended")
        return result

    def _typed(self, expr: Expr) -> Expr:
        infer_shallow(expr, Program(dict(self._module.program.functions), {}, self._module.kernels))
        return expr


def _listed(params: Var | Tuple | Sequence[Var]) -> list[Var]:
    items: Sequence[Any] = (
        [params] if isinstance(params, Var) else params.fields if isinstance(params, Tuple) else params
    )
    for item in items:
        if not isinstance(item, Var):
            raise FrontendError(f"BlockBuilder: expected variables as parameters, got {item!r}")
    return list(items)


def _extent(size: Size) -> Any:
    """Return an extent for te: a number, or a variable of the name of a size."""
    if isinstance(size, SizeExpr):
        if not str(size).isidentifier():
            raise FrontendError(f"call_te: expected sizes that are numbers or names, got {size}")
        return size_var(str(size))
    return size


def _within(expr: Expr) -> Iterator[Expr]:
    """Yield the parts of an expression that no variable stands for."""
    waiting = list(children(expr))
    while waiting:
        part = waiting.pop()
        yield part
        waiting += children(part)


def _place(value: Expr, span: Any) -> None:
    """Give a place to an expression and the parts that have none."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        is_other = part is not value and isinstance(part, Var)
        if getattr(part, "span", True) is None and not is_other:
            cast(Any, part).span = span
            waiting += children(part)
