"""Whence: an ML compiler for the CPU in which every instruction remembers the layers it came from.

>>> import whence
>>> exe = whence.compile("model.onnx")
>>> outputs = exe.run({"input": array})
>>> exe.why("fused_nn_conv2d_nn_relu")
"""

import sys
from typing import Any

from whence.support.rooms import add_names, homes_in, name_in

# What rooms further up have of TVM's names, as no folder imports one further down.
add_names("whence.support", {"FrontendTestModule": "whence.runtime.library:FrontendTestModule"})
add_names("whence.te", {"create_prim_func": "whence.kernels:create_prim_func"})
add_names(
    "whence.runtime",
    {
        "Module": "whence.function_module:FunctionModule",
        "Object": "whence.frontends.relay.node:Node",
        "const": "whence.te:const",
        "convert": "whence.objects:convert",
    },
)
add_names(
    "whence.runtime.vm",
    {
        "Executable": "whence.relay.vm:Executable",
        "VMCompiler": "whence.relay.vm:VMCompiler",
        "VMExecutable": "whence.relay.vm:VMExecutable",
        "VirtualMachine": "whence.relay.vm:VirtualMachine",
        "compile": "whence.relay.vm:compile",
        "optimize": "whence.relay.vm:optimize",
    },
)
add_names(
    "whence.runtime.profiler_vm",
    {
        "VirtualMachineProfiler": "whence.relay.profiler_vm:VirtualMachineProfiler",
        "enabled": "whence.relay.profiler_vm:enabled",
    },
)


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
