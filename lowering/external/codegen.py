"""External code generators: who turns a function that is for another compiler into something to call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp
from ...dialects.relay.operator import element_of, shape_of
from ...passes.functions import COMPILER, COMPOSITE, text_of
from ...passes.relay.fuse_ops import is_scalar_constant
from ...passes.relay.inlining import inline_calls
from ...passes.relay.pattern_table import Table, register_pattern_table
from ...provenance.diagnostics import describe
from ...runtime.external import External, ExternalFunction
from ...support.errors import PipelineError, WhenceError
from ..kernel.record import Kernel
from ..kernel.slots import anonymous
from ..kernel.work import slots_work, stages_work
from ..relay_to_te.lower import lower_function

Build = Callable[[ModuleOp], ExternalFunction]
"""Makes of a module with a function `@main`, and the composite functions that it calls, what runs it."""

_SHIPPED = {"onnxruntime": "onnxruntime"}
"""Compilers that come with Whence, and the modules that register them when they are first asked for."""
_builders: dict[str, Build] = {}


def register_external_codegen(name: str, build: Build | None = None, *, patterns: Table | None = None) -> Any:
    """Make an external compiler known by its name; without `build`, a decorator.

    build: given a module whose `@main` is the function to compile, returns what computes it: called with a numpy array
    for each parameter, it returns the result, or several in a list. `evaluate_module` is one that does it in numpy.
    patterns: what it takes together, as `register_pattern_table` says.
    """

    def register(given: Build) -> Build:
        _builders[name] = given
        if (table := patterns) is not None:
            register_pattern_table(name, lambda: table)
        return given

    return register if build is None else register(build)


def external_compilers() -> tuple[str, ...]:
    """The names of the external compilers, those that were not asked for yet included."""
    return tuple(sorted({*_builders, *_SHIPPED}))


def external_codegen(name: str) -> Build:
    """The code generator of an external compiler.

    Raises PipelineError for one that there is none of, or that lacks what it runs on.
    """
    if name not in _builders and name in _SHIPPED:
        import_module(f".{_SHIPPED[name]}", __package__)
    if name not in _builders:
        known = ", ".join(external_compilers())
        raise PipelineError(f"external compiler: expected one among {known}, got '{name}'")
    return _builders[name]


def split_target(text: str) -> tuple[tuple[str, ...], str]:
    """The external compilers that a target names before its own part, `native` if that is left out.

    >>> split_target("onnxruntime, llvm -mcpu=skylake -mattr=+avx2,+fma")
    (('onnxruntime',), 'llvm -mcpu=skylake -mattr=+avx2,+fma')
    """
    found: list[str] = []
    rest = text
    while (name := rest.partition(",")[0].strip()) in external_compilers():
        found.append(name)
        rest = rest.partition(",")[2].strip()
    return tuple(dict.fromkeys(found)), rest if (found and rest) or not found else "native"


@dataclass(frozen=True)
class ExternalKernel(Kernel):
    """A function that an external compiler runs; nothing is known of its code."""

    compiler: str
    external: External


def compile_externals(module: ModuleOp) -> dict[str, ExternalKernel]:
    """What runs the functions of a module that are for external compilers and that `@main` calls, by their names.

    Composite functions are part of those that call them afterwards. Raises PipelineError when a compiler cannot take a
    function; the text names its layers.
    """
    named = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    calls = [op for op in named["main"].block.ops if isinstance(op, CallOp)] if "main" in named else []
    called = dict.fromkeys(call.callee.string_value() for call in calls)
    wanted = {name: named[name] for name in called if name in named and text_of(named[name], COMPILER)}
    functions = {name: _built(func, module) for name, func in wanted.items()}
    inline_calls(module, is_composite)
    return {name: _kernel(func, functions[name]) for name, func in wanted.items()}


def _built(func: FuncOp, module: ModuleOp) -> ExternalFunction:
    build = external_codegen(text_of(func, COMPILER))
    try:
        return build(standalone(func, module))
    except (WhenceError, VerifyException) as error:
        where = describe(func.location)
        text = str(error)
        raise PipelineError(text if "(layer" in text or not where else f"{text} ({where})") from error


def _kernel(func: FuncOp, function: ExternalFunction) -> ExternalKernel:
    compiler, symbol = text_of(func, COMPILER), func.sym_name.data
    inputs, outputs = (
        tuple((shape_of(one), numpy_dtype(element_of(one))) for one in types)
        for types in (func.function_type.inputs, func.function_type.outputs)
    )
    return ExternalKernel(
        symbol=symbol,
        workspace=0,
        tir="",
        lines=(),
        te="",
        schedule="",
        llvm="",
        ops={"te": 0, "tir": 0, "llvm": 0},
        located={"te": 0, "tir": 0, "llvm": 0},
        work=_work(func),
        sites=(),
        object=b"",
        assembly="",
        compiler=compiler,
        external=External(symbol, compiler, function, inputs, outputs, describe(func.location)),
    )


def standalone(func: FuncOp, module: ModuleOp) -> ModuleOp:
    """A module of a copy of one function, as `@main`, and of the functions that it calls."""
    named = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    found: dict[str, FuncOp] = {}
    stack = [func]
    while stack:
        for op in stack.pop().block.ops:
            if isinstance(op, CallOp) and (name := op.callee.string_value()) in named and name not in found:
                found[name] = named[name]
                stack.append(named[name])
    main = func.clone()
    main.sym_name = StringAttr("main")
    main.primitive = None
    for name in (COMPILER, "Inline", "global_symbol"):
        main.attributes.pop(name, None)
    copy = ModuleOp([main, *(one.clone() for one in found.values())])
    copy.attributes.update(module.attributes)
    copy.location = module.location
    return copy


def is_composite(func: FuncOp) -> bool:
    """Whether a function is what an external compiler takes as one operator."""
    return COMPOSITE in func.attributes


def _work(func: FuncOp) -> tuple[tuple[int, int], ...]:
    """The work behind each slot, estimated as of our own kernels; none where that cannot be told."""
    slots = len(list(func.block.ops))
    copy = anonymous(func)
    for op in list(copy.block.ops):
        # Of constants that are no numbers, a kernel has parameters.
        if isinstance(op, ConstantOp) and not is_scalar_constant(op):
            op.result.replace_all_uses_with(copy.block.insert_arg(op.result.type, len(copy.block.args)))
            op.detach()
            op.erase()
    copy.update_type()
    try:
        return slots_work(stages_work(lower_function(copy)), slots)
    except VerifyException:
        return ((0, 0),) * slots
