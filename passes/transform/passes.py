"""Passes as objects that make of a module another one, under the names and rules of TVM's `tvm.transform`.

A pass is called on a module and leaves it as it is. Whatever it makes is audited: every op of one of our passes has a
location; what a pass of somebody else's lost is marked as lost by it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple, Protocol, Self, TypeVar, cast, overload, runtime_checkable

from xdsl import passes as xdsl
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.relay.core import FuncOp
from ...provenance.ledger import Ledger, current_ledger, recording
from ...provenance.lost import mark_lost
from ...support.context import PassContext, spans_enabled
from ...support.doors import find_with, note_theirs
from ...support.errors import PipelineError
from ...support.instrument import PassInfo
from ..classes import pass_class
from ..functions import is_closed
from ..registry import enabled, find_row, own_name
from ..runner import AuditInstrument, Losses, apply, is_ours, pass_context, run_under_instruments

ModuleFunction = Callable[[ModuleOp, PassContext], ModuleOp]
"""The function of a module pass: it may change the module, which is a copy, or make another. Where the pass is called
on a `relay.IRModule`, the function gets and gives one."""
FunctionFunction = Callable[[FuncOp, ModuleOp, PassContext], FuncOp]
"""The function of a function pass, called with a function and its module."""


@runtime_checkable
class HoldsModule(Protocol):
    """An object that stands for a module of ops, such as `relay.IRModule`."""

    @property
    def module(self) -> ModuleOp:
        """The ops."""
        ...

    def holding(self, module: ModuleOp) -> Self:
        """The like for other ops."""
        ...


_NUMBERS = itertools.count()
HolderT = TypeVar("HolderT", bound=HoldsModule)


class Work(NamedTuple):
    """A module on its way through passes."""

    module: ModuleOp
    own: bool
    """True when nobody else has it, so that it may be changed."""
    holder: HoldsModule | None = None
    """The object that stands for the module, where passes were called on one."""

    def owned(self) -> Work:
        return self if self.own else Work(self.module.clone(), True, self.holder)


class Pass(ABC):
    """A pass. Calling it on a module returns the module after the pass, and does not change the argument.

    As in TVM, a call runs the pass at any opt level: `Sequential` checks levels, and names that a PassContext requires
    or disables. The instruments of the PassContext are called around it.
    """

    on_functions = False
    """True of a pass that is called for each function."""

    def __init__(self, info: PassInfo):
        self.info = info

    @overload
    def __call__(self, mod: ModuleOp) -> ModuleOp: ...
    @overload
    def __call__(self, mod: HolderT) -> HolderT: ...
    def __call__(self, mod: ModuleOp | HoldsModule) -> ModuleOp | HoldsModule:
        match cast(object, mod):
            case ModuleOp() as module:
                return self.run(Work(module, False)).module
            case HoldsModule() as holder:
                done = self.run(Work(holder.module, False, holder))
                return cast("HoldsModule", done.holder).holding(done.module)
            case other:
                raise PipelineError(f"{self.info.name}: expected a module, got {type(other).__name__}")

    @abstractmethod
    def run(self, work: Work) -> Work:
        """The pass under the current PassContext."""

    @functools.cached_property
    def in_place(self) -> xdsl.ModulePass:
        """This as one of xDSL's passes, which changes the kernels of the module that it is given."""
        return InPlace(self, next(_NUMBERS))

    def _guarded(self, work: Work, transform: Callable[[ModuleOp], ModuleOp], *, ours: bool) -> ModuleOp | None:
        """Run the pass under instruments and the audit; None when an instrument says that it should not run."""
        module = work.module
        ledger = current_ledger() or Ledger()
        around: list[AuditInstrument | Losses] = []
        if spans_enabled():
            mark_lost(module, "import")
            around = [AuditInstrument(ledger)] if ours else []
            around.append(Losses(ledger, () if ours else (self.info.name,)))
        with recording(ledger, own_name(self.info.name)):
            try:
                shown = None if work.holder is None else work.holder.holding
                done = run_under_instruments(self.info, module, lambda: transform(module), around, shown)
            except Exception as error:
                note_theirs(error)
                raise
        return cast("ModuleOp | None", done)

    def __repr__(self) -> str:
        kind = "Function" if self.on_functions else "Module"
        return f"Run {kind} pass: {self.info.name} at the optimization level {self.info.opt_level}"


@find_with
def _pass_at(frame: FrameType) -> tuple[str, str]:
    """The pass that a frame runs."""
    owner = frame.f_locals.get("self")
    return (f"pass {owner.info.name}", "") if isinstance(owner, Pass) else ("", "")


@dataclass(frozen=True)
class InPlace(xdsl.ModulePass):
    """A pass of this module among those of `tir.add_lower_pass`.

    Before: kernels. After: the same ops with what the pass makes of them.
    Locations: the pass's audit keeps them.
    """

    name = "in-place"
    foreign: Pass
    number: int
    """The number of the pass in this process: of its source nothing is known."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Modules of relay need nothing of tir.
        from ...dialects.tir import prim_funcs

        made = {func.sym_name.data: func for func in prim_funcs(self.foreign(op))}
        for func in prim_funcs(op):
            if (new := made.get(func.sym_name.data)) is None:
                raise PipelineError(
                    f"pass {self.foreign.info.name}: expected the kernel @{func.sym_name.data}, got none"
                )
            func.take(new)

    def __str__(self) -> str:
        return self.foreign.info.name


class NamedPass(Pass):
    """A pass of the registry, or any of xDSL's, on a copy of the module."""

    def __init__(self, pass_: xdsl.ModulePass, info: PassInfo):
        super().__init__(info)
        self.one = pass_

    @functools.cached_property
    def in_place(self) -> xdsl.ModulePass:
        return self.one

    def run(self, work: Work) -> Work:
        copy = work.owned()

        def transform(module: ModuleOp) -> ModuleOp:
            apply(self.one, pass_context(), module)
            return module

        return copy if self._guarded(copy, transform, ours=is_ours(self.one)) is not None else work


class ModulePass(Pass):
    """A Python function on modules as a pass."""

    def __init__(self, pass_func: ModuleFunction, info: PassInfo):
        super().__init__(info)
        self._func = pass_func

    def run(self, work: Work) -> Work:
        holder = work.holder
        result = self._guarded(work.owned(), lambda module: self._checked(module, holder), ours=False)
        # The function may have kept what it got or gave.
        return work if result is None else Work(result, False, holder)

    def _checked(self, module: ModuleOp, holder: HoldsModule | None) -> ModuleOp:
        """Return the function's result for a module, or for an object like the one that the pass was called on."""
        result: object = self._func(
            cast("ModuleOp", module if holder is None else holder.holding(module)), PassContext.current()
        )
        if holder is not None and isinstance(result, HoldsModule):
            result = cast(object, result.module)
        if not isinstance(result, ModuleOp):
            raise PipelineError(f"pass {self.info.name}: expected it to return a module, got {type(result).__name__}")
        return result


class FunctionPass(Pass):
    """A Python function on the relay functions of a module as a pass.

    Left out are primitive functions, those for an external compiler, and those that say `SkipOptimization`.
    """

    on_functions = True

    def __init__(self, pass_func: FunctionFunction, info: PassInfo):
        super().__init__(info)
        self._func = pass_func

    def run(self, work: Work) -> Work:
        result = self._guarded(work.owned(), self._all, ours=False)
        return work if result is None else Work(result, False, work.holder)

    def _all(self, module: ModuleOp) -> ModuleOp:
        context = PassContext.current()
        functions = [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None and not is_closed(op)]
        for func in functions:
            new = self._func(func, module, context)
            if not isinstance(new, FuncOp):  # pyright: ignore[reportUnnecessaryIsInstance]
                text = f"expected it to return a relay.func for @{func.sym_name.data}, got {type(new).__name__}"
                raise PipelineError(f"pass {self.info.name}: {text}")
            if new is not func:
                new = new.clone() if new.parent is not None else new
                new.sym_name = func.sym_name
                module.body.block.insert_op_before(new, func)
                func.detach()
                func.erase()
        return module


class Sequential(Pass):
    """A sequence of passes: the current PassContext runs the enabled ones, and before each those that it requires.

    A pass runs if its opt level is not above the context's, or its name is among the required ones; not if it is among
    the disabled ones. Raises PipelineError when a pass requires one that there is none of, or itself.
    """

    def __init__(
        self,
        passes: Iterable[Pass | xdsl.ModulePass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
    ):
        super().__init__(PassInfo(name, opt_level=opt_level, required=_names(name, required)))
        self.passes = [item if isinstance(item, Pass) else named(item) for item in passes or ()]

    def run(self, work: Work) -> Work:
        def transform(module: ModuleOp) -> ModuleOp:
            now = Work(module, own, work.holder)
            for step in self.passes:
                if enabled(step.info, PassContext.current()):
                    for needed in _needed(step.info):
                        now = needed.run(now)
                    now = step.run(now)
            result.append(now)
            return now.module

        result: list[Work] = []
        module, own = work.module, work.own
        if run_under_instruments(self.info, module, lambda: transform(module)) is None:
            return work
        return result[0]


def named(pass_: xdsl.ModulePass, name: str = "") -> NamedPass:
    """Return an xDSL pass as one of this module's; `name` is its name for instruments, TVM's by default."""
    row = find_row(pass_.name)
    if row is None:
        return NamedPass(pass_, PassInfo(name or pass_.name))
    return NamedPass(pass_, PassInfo(name or row.tvm or row.name, row.tvm, row.level, required=row.required))


def _needed(info: PassInfo) -> list[Pass]:
    """The passes that one requires, each behind those that it requires itself."""
    needed: dict[str, Pass] = {}
    stack: list[tuple[str, tuple[str, ...]]] = [(name, (own_name(info.name),)) for name in reversed(info.required)]
    while stack:
        name, behind = stack.pop()
        key = own_name(name)
        if key in behind:
            raise PipelineError(f"pass {info.name}: expected passes that do not require each other, got '{name}' twice")
        row = find_row(name)
        if row is None:
            raise PipelineError(f"pass {info.name}: Cannot use {name} to create the pass: there is none of that name")
        pass_ = named(pass_class(row)())
        missing = [other for other in row.required if own_name(other) not in needed]
        if missing:
            stack.append((name, behind))
            stack += [(other, (*behind, key)) for other in reversed(missing)]
        else:
            needed.setdefault(key, pass_)
    return list(needed.values())


def _names(name: str, required: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(required, str):
        raise PipelineError(f"pass {name}: Required is expected to be the type of list/tuple, got {required!r}")
    return tuple(required or ())


def decorated(
    made: Any, kind: type[Any], method: str, given: Any, opt_level: int | None, name: str | None, required: Any
) -> Any:
    """The pass of a function, or the class of passes of a class with `method`."""
    if opt_level is None:
        raise PipelineError("Please provide opt_level for the pass.")
    if given is None:
        return functools.partial(made, opt_level=opt_level, name=name, required=required)
    title = name or given.__name__
    info = PassInfo(title, opt_level=opt_level, required=_names(title, required))
    if not inspect.isclass(given):
        return functools.update_wrapper(kind(given, info), given, updated=())
    if not hasattr(given, method):
        raise PipelineError(f"class {given.__name__}: expected it to have {method}, got none")

    class Made(kind):
        def __init__(self, *arguments: Any, **keywords: Any):
            inner = given(*arguments, **keywords)
            cast(Any, kind).__init__(self, getattr(inner, method), info)
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            if name == "_inner":
                raise AttributeError(name)
            return getattr(self._inner, name)

    return functools.update_wrapper(Made, given, updated=())


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A decorator: of a function (module, context) -> module a ModulePass, of a class with `transform_module` a class
    of such. The module is a copy, which may be changed: of ops, or a `relay.IRModule`, as what the pass is called on.

    name: the function's or class's if left out. required: names of passes that `Sequential` runs before.

    >>> @module_pass(opt_level=2)
    ... def drop_dead_code(mod, ctx):
    ...     return transform.DeadCodeElimination()(mod)
    """
    return decorated(module_pass, ModulePass, "transform_module", pass_func, opt_level, name, required)


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """A decorator: of a function (func, module, context) -> func a FunctionPass, of a class with `transform_function`
    a class of such. The result replaces the function, under its name.

    name, required: as for `module_pass`.
    """
    return decorated(function_pass, FunctionPass, "transform_function", pass_func, opt_level, name, required)


def PrintIR(header: str = "", show_meta_data: bool = False) -> ModulePass:
    """A pass that prints the module on stderr, under a title; weights are never part of the text."""
    del show_meta_data

    def show(mod: ModuleOp, ctx: PassContext) -> ModuleOp:
        print(f"PrintIR({header}):\n{mod}", file=sys.stderr)
        return mod

    return ModulePass(show, PassInfo("PrintIR"))
