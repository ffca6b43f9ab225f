"""External code generators: who turns a function that is for another compiler into something to call."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from ...dialects.element_types import numpy_dtype
from ...dialects.relay.core import CallOp, ConstantOp, FuncOp
from ...dialects.relay.operator import element_of, shape_of
from ...passes.functions import COMPILER, COMPOSITE, text_of
from ...passes.relay.fuse_ops import is_scalar_constant
from ...passes.relay.inlining import inline_calls
from ...provenance.diagnostics import describe
from ...runtime.program.external import External, ExternalFunction
from ...support.errors import PipelineError, WhenceError
from ..kernel.slots import anonymous
from ..kernel.work import slots_work, stages_work
from ..relay_to_te.lower import lower_function
from .kernel import ExternalKernel
from .registry import external_codegen


def compile_externals(module: ModuleOp) -> dict[str, ExternalKernel]:
    """Return the kernels for the functions of a module that are for external compilers and that `@main` calls, by name.

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
        tuple((shape_of(type_), numpy_dtype(element_of(type_))) for type_ in types)
        for types in (func.function_type.inputs, func.function_type.outputs)
    )
    return ExternalKernel(
        symbol=symbol,
        workspace=0,
        tir="",
        lines=(),
        places=(),
        te="",
        schedule="",
        decisions={},
        llvm="",
        ops={"te": 0, "tir": 0, "llvm": 0},
        located={"te": 0, "tir": 0, "llvm": 0},
        work=_work(func),
        growth=(),
        typical=0,
        sites=(),
        sizes=0,
        refusal="",
        object=b"",
        assembly="",
        compiler=compiler,
        external=External(symbol, compiler, function, inputs, outputs, describe(func.location)),
    )


def standalone(func: FuncOp, module: ModuleOp) -> ModuleOp:
    """A module of a copy of one function, as `@main`, and of the functions that it calls."""
    named = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    callees: dict[str, FuncOp] = {}
    stack = [func]
    while stack:
        for op in stack.pop().block.ops:
            if isinstance(op, CallOp) and (name := op.callee.string_value()) in named and name not in callees:
                callees[name] = named[name]
                stack.append(named[name])
    main = func.clone()
    main.sym_name = StringAttr("main")
    main.primitive = None
    for name in (COMPILER, "Inline", "global_symbol"):
        main.attributes.pop(name, None)
    copy = ModuleOp([main, *(callee.clone() for callee in callees.values())])
    copy.attributes.update(module.attributes)
    copy.location = module.location
    return copy


def is_composite(func: FuncOp) -> bool:
    """Return whether a function is what an external compiler takes as one operator."""
    return COMPOSITE in func.attributes


def _work(func: FuncOp) -> tuple[tuple[int, int], ...]:
    """The work behind each slot, estimated as of our own kernels; none where that cannot be told."""
    slots = len(list(func.block.ops))
    copy = anonymous(func)
    for op in list(copy.block.ops):
        # Constants that are not scalars are parameters of a kernel.
        if isinstance(op, ConstantOp) and not is_scalar_constant(op):
            op.result.replace_all_uses_with(copy.block.insert_arg(op.result.type, len(copy.block.args)))
            op.detach()
            op.erase()
    copy.update_type()
    try:
        return slots_work(stages_work(lower_function(copy)), slots)
    except VerifyException:
        return ((0, 0),) * slots
