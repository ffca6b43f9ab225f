"""The debug executor by TVM's names.

>>> module = GraphModuleDebug(lib["debug_create"]("default", dev), [dev], lib.graph_json, dump_root="/tmp/tvmdbg")
>>> module.run(x=x)
"""

from whence.runtime.debugger.module import GraphModuleDebug as GraphModuleDebug
from whence.runtime.debugger.module import create as create

__all__ = ["GraphModuleDebug", "create"]
