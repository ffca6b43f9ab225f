"""The graph executor by TVM's names.

>>> module = graph_executor.GraphModule(lib["default"](whence.cpu()))
>>> module.set_input("x", x)
>>> module.run()
>>> module.get_output(0).numpy()
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from whence.runtime.program.graph_module import GraphModule as GraphModule
from whence.runtime.program.graph_module import create as create_module
from whence.runtime.program.library import HasLibrary
from whence.runtime.values.device import Device

__all__ = ["GraphModule", "create"]


def create(
    graph_json_str: str,
    libmod: HasLibrary,
    device: Device | Sequence[Device] | None = None,
    dump_root: str | PathLike[str] | None = None,
) -> GraphModule:
    """A module of a graph in JSON and a library that has its functions; with a folder for dumps, one for debugging.

    Raises FrontendError for a text that is no graph and a function that the library lacks, PipelineError for another
    device than the CPU.
    """
    if dump_root is None:
        return create_module(graph_json_str, libmod, device)
    from whence.runtime.debugger.module import create as create_debug

    return create_debug(graph_json_str, libmod, device, dump_root)
