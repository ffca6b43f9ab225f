"""Whence: an ML compiler for the CPU in which every instruction remembers the layers it came from.

>>> import whence
>>> exe = whence.compile("model.onnx")
>>> outputs = exe.run({"input": array})
>>> exe.why("fused_nn_conv2d_nn_relu")
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from whence.support.module_names import FurtherNames

if TYPE_CHECKING:
    from whence import arith as arith
    from whence import contrib as contrib
    from whence import driver as driver
    from whence import error as error
    from whence import instrument as instrument
    from whence import ir as ir
    from whence import nd as nd
    from whence import parser as parser
    from whence import target as target
    from whence import tedd as tedd
    from whence import testing as testing
    from whence import tir as tir
    from whence import topi as topi
    from whence import transform as transform
    from whence import tvm as tvm
    from whence.compiler.bisection import bisect as bisect
    from whence.compiler.compile import compile as compile
    from whence.compiler.load import load as load
    from whence.executables.executable import Executable as Executable
    from whence.ir.containers import convert as convert
    from whence.kernels import build as build
    from whence.kernels import build_prim_func as build_prim_func
    from whence.kernels import build_schedule as build_schedule
    from whence.kernels import create_prim_func as create_prim_func
    from whence.kernels import lower as lower
    from whence.lowering.relay_to_te.strategies import Strategy as Strategy
    from whence.lowering.relay_to_te.strategies import register_schedule as register_schedule
    from whence.lowering.relay_to_te.strategies import strategy as strategy
    from whence.lowering.relay_to_te.strategies import unregister_schedule as unregister_schedule
    from whence.planning.usmp import PoolInfo as PoolInfo
    from whence.provenance.set_span import set_span as set_span
    from whence.provenance.si_builder import SIBuilder as SIBuilder
    from whence.provenance.span import SequentialSpan as SequentialSpan
    from whence.provenance.span import SourceName as SourceName
    from whence.provenance.span import Span as Span
    from whence.relay.module import IRModule as IRModule
    from whence.relay.ty import TensorType as TensorType
    from whence.relay.ty import TupleType as TupleType
    from whence.runtime.device import Device as Device
    from whence.runtime.device import cpu as cpu
    from whence.runtime.device import device as device
    from whence.runtime.registry import get_global_func as get_global_func
    from whence.runtime.registry import register_func as register_func
    from whence.support.context import PassContext as PassContext
    from whence.support.errors import FrontendError as FrontendError
    from whence.support.errors import PipelineError as PipelineError
    from whence.support.errors import ScheduleError as ScheduleError
    from whence.support.errors import TVMError as TVMError
    from whence.support.errors import WhenceError as WhenceError

# Names are loaded when first used: the compiler takes half a second to import, and a tool may need none of it.
_HOMES = {
    "convert": "whence.ir.containers",
    "get_global_func": "whence.runtime.registry",
    "register_func": "whence.runtime.registry",
    "bisect": "whence.compiler.bisection",
    "Device": "whence.runtime.device",
    "cpu": "whence.runtime.device",
    "device": "whence.runtime.device",
    "Executable": "whence.executables.executable",
    "compile": "whence.compiler.compile",
    "load": "whence.compiler.load",
    "build_prim_func": "whence.kernels",
    "build_schedule": "whence.kernels",
    "create_prim_func": "whence.kernels",
    "lower": "whence.kernels",
    "Span": "whence.provenance.span",
    "SourceName": "whence.provenance.span",
    "SequentialSpan": "whence.provenance.span",
    "SIBuilder": "whence.provenance.si_builder",
    "IRModule": "whence.relay.module",
    "TensorType": "whence.relay.ty",
    "TupleType": "whence.relay.ty",
    "set_span": "whence.provenance.set_span",
    "build": "whence.kernels",
    "Strategy": "whence.lowering.relay_to_te.strategies",
    "register_schedule": "whence.lowering.relay_to_te.strategies",
    "strategy": "whence.lowering.relay_to_te.strategies",
    "unregister_schedule": "whence.lowering.relay_to_te.strategies",
    "PassContext": "whence.support.context",
    "PoolInfo": "whence.planning.usmp",
    "FrontendError": "whence.support.errors",
    "PipelineError": "whence.support.errors",
    "ScheduleError": "whence.support.errors",
    "TVMError": "whence.support.errors",
    "WhenceError": "whence.support.errors",
}


_MODULES = (
    *(
        "_ffi",
        "arith",
        "contrib",
        "driver",
        "error",
        "instrument",
        "ir",
        "nd",
        "parser",
        "relay",
        "runtime",
        "support",
        "target",
        "te",
        "tedd",
        "testing",
        "tir",
        "topi",
        "tvm",
    ),
    "transform",
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
    "reading": ("input_shapes", "located_parser", "models", "textio"),
}
_FORMER = {
    "whence.building": "whence.planning.build",
    "whence.executors": "whence.relay.executors",
    "whence.sources": "whence.planning.sources",
    "whence.objects": "whence.ir.containers",
    **{f"whence.{name}": f"whence.{room}.{name}" for room, names in _ROOMS.items() for name in names},
}
"""Modules that lay in this folder before, whose names stay."""


def _home(name: str) -> str | None:
    """The module that another name means: one of before, or one below `whence.tvm`."""
    if name.startswith("whence.tvm."):
        return "whence." + name.removeprefix("whence.tvm.")
    return _FORMER.get(name)


sys.meta_path.insert(0, FurtherNames(_home))


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return [*_HOMES, *_MODULES]
    if name in _MODULES or name in _HOMES:
        # The runtime, which imports this package as well, needs no more of it than is above.
        from whence.support.garbage import fewer_collections, keep_all

        home = f"whence.{name}" if name in _MODULES else _HOMES[name]
        is_new = home not in sys.modules
        with fewer_collections():
            module = import_module(home)
            if is_new:
                keep_all()
        return module if name in _MODULES else getattr(module, name)
    raise AttributeError(f"module 'whence' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*_HOMES, *_MODULES])
