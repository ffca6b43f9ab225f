"""Executors by TVM's names: `contrib.graph_executor`, `contrib.debugger.debug_executor`."""
