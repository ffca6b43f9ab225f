"""Whence: an ML compiler for the CPU in which every instruction remembers the layers it came from.

>>> import whence
>>> exe = whence.compile("model.onnx")
>>> outputs = exe.run({"input": array})
>>> exe.why("fused_nn_conv2d_nn_relu")
"""

import sys
from typing import Any

from whence.support.module_names import FurtherNames
from whence.support.rooms import add_names, homes_in, name_in, refuse_names

# What rooms further up have of TVM's names, as no folder imports one further down.
add_names("whence.support", {"FrontendTestModule": "whence.runtime.program.library:FrontendTestModule"})
add_names("whence", {"container": "whence.ir.containers", "tirx": "whence.tir", "s_tir": "whence.tir"})
add_names("whence.relay", {"base": "whence.relay"})
add_names(
    "whence.te",
    {
        "create_prim_func": "whence.driver.build_module:create_prim_func",
        "explain": "whence.kernels.explanation:explain",
        "SpecializedCondition": "whence.lowering.relay_to_te.op_strategy:SpecializedCondition",
    },
)
add_names(
    "whence.te.schedule",
    {
        name: f"whence.driver.build_module:{name}"
        for name in ("InferBound", "ScheduleOps", "SchedulePostProcToPrimFunc")
    },
)
add_names(
    "whence.te.language.hybrid",
    {name: f"whence.driver.hybrid_module:{name}" for name in ("HybridModule", "build")},
)
add_names(
    "whence.tir",
    {
        "Schedule": "whence.ir.block_schedule:Schedule",
        "build": "whence.driver.build_module:build",
        "meta_schedule": "whence.meta_schedule",
    },
)
add_names(
    "whence.tir.schedule",
    {"Schedule": "whence.ir.block_schedule:Schedule", "testing": "whence.ir.schedule_testing"},
)
add_names(
    "whence.tir.transform",
    {name: f"whence.ir.kernel_passes:{name}" for name in ("Apply", "PrimFuncPass", "prim_func_pass")},
)
add_names(
    "whence.runtime",
    {
        "Module": "whence.kernels.function_module:FunctionModule",
        "Tensor": "whence.runtime.values.ndarray:NDArray",
        "tensor": "whence.runtime.values.ndarray:array",
        "Object": "whence.syntax.relay.node:Node",
        "container": "whence.runtime.interpreting.container",
        "const": "whence.te:const",
        "convert": "whence.ir.containers:convert",
        "profiler_vm": "whence.relay.profiler_vm",
        "vm": "whence.relay.vm",
    },
)
refuse_names(
    "whence.relax",
    {
        "distributed": "there is one machine",
        "dpl": "patterns of relay.dataflow_pattern match the same expressions",
        "training": "gradients are relay.transform.gradient's",
        **dict.fromkeys(
            ("SeqExpr", "Binding", "BindingBlock", "DataflowBlock", "MatchCast", "VarBinding"),
            "bindings are graphs and lets of relay",
        ),
        **dict.fromkeys(
            ("ShapeType", "ShapeStructInfo"),
            "a shape is no argument: its sizes are names in the types of tensors",
        ),
        **dict.fromkeys(
            ("AnyType", "ObjectType", "ObjectStructInfo", "PrimType", "PrimStructInfo"),
            "values are tensors, tuples and functions; a number is a tensor without axes",
        ),
        **dict.fromkeys(
            ("ExprFunctor", "ExprVisitor", "ExprMutator", "PyExprVisitor", "PyExprMutator", "expr_functor"),
            "relay.ExprVisitor and relay.ExprMutator walk the same expressions",
        ),
        **dict.fromkeys(("VDevice", "vdevice"), "there is one device"),
        "ExternFunc": "relax.op.call_dps_packed calls functions by the names that they are registered under",
        "ExecBuilder": "functions are compiled, not written as instructions",
        "vm_build": "relax.build compiles modules",
        "StringImm": "texts are attributes of operators",
        "DataTypeImm": "dtypes are attributes of operators",
    },
)
refuse_names("whence.relay", {"TempExpr": "rewriters return expressions, so that none of them is temporary"})
refuse_names(
    "whence.ir",
    {"ExternFunc": "functions from outside are called by te.call_extern and te.call_packed, or lower an operator"},
)

_ROOMS = {
    "compiler": ("bisection", "open_modules"),
    "executables": (
        "apart",
        "dynamic",
        "executable",
        "exporting",
        "interpret",
        "interpreted",
        "origins",
        "restoring",
        "sized",
        "stateful",
        "unpacking",
        "values",
        "virtual_machine",
    ),
    "kernels": ("function_files", "function_module", "functions", "open_functions"),
    "reading": ("input_shapes", "models", "textio"),
}
_FORMER = {
    "whence.building": "whence.planning.build",
    "whence.executors": "whence.relay.executors",
    "whence.sources": "whence.planning.sources",
    "whence.objects": "whence.ir.containers",
    "whence.reading.located_parser": "whence.dialects.located_parser",
    "whence.te.hybrid": "whence.te.language.hybrid",
    "whence.te.hybrid.runtime": "whence.te.language.hybrid_runtime",
    "whence.te.tensor": "whence.te.language.tensor",
    "whence.tir.statements": "whence.te.language.statements",
    "whence.tir.emit": "whence.te.language.statement_ops",
    "whence.runtime.vm": "whence.relay.vm",
    "whence.relay.backend.vm": "whence.relay.vm",
    "whence.runtime.profiler_vm": "whence.relay.profiler_vm",
    "whence.runtime.profiling": "whence.runtime.debugger.report",
    "whence.runtime.container": "whence.runtime.interpreting.container",
    **{
        f"whence.relax.frontend.{name}": "whence.relax.frontend.models"
        for name in ("onnx", "stablehlo", "tflite", "torch")
    },
    **{
        f"whence.runtime.{name}": f"whence.runtime.values.{name}"
        for name in ("ndarray", "params", "registry", "tensors")
    },
    **{f"whence.{name}": f"whence.{room}.{name}" for room, names in _ROOMS.items() for name in names},
}
"""Modules that lay elsewhere before, or that TVM has elsewhere, by those names."""

_NEWER = ("tirx", "s_tir")
"""The names that TVM has for `tir` since 0.25: one for kernels, one for what schedules them."""


def _home(name: str) -> str | None:
    """The module that another name means: one of these, one below `whence.tvm`, or one that TVM calls so by now."""
    if name.startswith("whence.tvm."):
        return "whence." + name.removeprefix("whence.tvm.")
    first, _, rest = name.removeprefix("whence.").partition(".")
    if first in _NEWER:
        return f"whence.{rest}" if rest.startswith("meta_schedule") else f"whence.tir.{rest}".removesuffix(".")
    return _FORMER.get(name)


sys.meta_path.insert(0, FurtherNames(_home))


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name not in homes_in(__name__):
        return name_in(__name__, name)
    # The runtime, which imports this package as well, needs no more of it than is above.
    from whence.support.garbage import fewer_collections, keep_all

    is_new = homes_in(__name__)[name].partition(":")[0] not in sys.modules
    with fewer_collections():
        value = name_in(__name__, name)
        if is_new:
            keep_all()
    return value


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))
