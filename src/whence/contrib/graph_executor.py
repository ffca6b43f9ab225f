"""The graph executor by TVM's names.

>>> module = graph_executor.GraphModule(lib["default"](whence.cpu()))
>>> module.set_input("x", x)
>>> module.run()
>>> module.get_output(0).numpy()
"""

from whence.runtime.graph_module import GraphModule as GraphModule
from whence.runtime.graph_module import create as create

__all__ = ["GraphModule", "create"]
