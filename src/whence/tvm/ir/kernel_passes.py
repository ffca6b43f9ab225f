"""Passes of Python functions on kernels: `tir.transform.prim_func_pass` and `Apply`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.passes.transform.passes import Pass, Work, decorated
from whence.relay.module import IRModule
from whence.support.context import PassContext
from whence.support.errors import PipelineError
from whence.support.instrument import PassInfo
from whence.te.language.locations import located
from whence.tir.function import PrimFunc

PrimFuncFunction = Callable[[PrimFunc, IRModule, PassContext], PrimFunc]


class PrimFuncPass(Pass):
    """A Python function on the kernels of a module as a pass."""

    on_functions = True

    def __init__(self, pass_func: PrimFuncFunction, info: PassInfo):
        super().__init__(info)
        self._func = pass_func

    def run(self, work: Work) -> Work:
        attrs: dict[str, Mapping[str, Any]] = {}
        result = self._guarded(work.owned(), lambda module: self._all(module, work, attrs), ours=False)
        if result is None:
            return work
        holder = work.holder
        if isinstance(holder, IRModule):
            holder = holder.holding(result, attrs)
        elif isinstance(holder, PrimFunc):
            holder = holder.with_attr(next(iter(attrs.values())))
        return Work(result, False, holder)

    def _all(self, module: ModuleOp, work: Work, attrs: dict[str, Mapping[str, Any]]) -> ModuleOp:
        """Replace the kernels of a module, and keep the attributes of the new ones."""
        holder = work.holder if isinstance(work.holder, IRModule) else IRModule.of(module)
        for op in list(prim_funcs(module)):
            attrs[op.sym_name.data] = self._one(op, holder.holding(module)).attrs
        return module

    def _one(self, op: PrimFuncOp, mod: IRModule) -> PrimFunc:
        name = op.sym_name.data
        func = mod.kernels[name]
        # What it makes stands for this kernel, if nothing says more.
        with located(op.location):
            new = self._func(func, mod, PassContext.current())
        if not isinstance(new, PrimFunc):  # pyright: ignore[reportUnnecessaryIsInstance]
            text = f"expected it to return a PrimFunc for @{name}, got {type(new).__name__}"
            raise PipelineError(f"pass {self.info.name}: {text}")
        if new is not func:
            op.take(new.op.clone())
        return new


def prim_func_pass(
    pass_func: Any = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] | None = None
) -> Any:
    """A decorator: of a function (func, module, context) -> func on `tir.PrimFunc`s a pass, of a class with
    `transform_function` a class of such. The result replaces the kernel, under its name in the module.

    name, required: as for `transform.module_pass`.
    """
    return decorated(prim_func_pass, PrimFuncPass, "transform_function", pass_func, opt_level, name, required)


def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> PrimFuncPass:
    """The pass that replaces each kernel by what a function makes of it."""
    return PrimFuncPass(lambda func, mod, ctx: ftransform(func), PassInfo("tir.Apply"))
