"""The debug executor by TVM's names: `contrib.debugger.debug_executor`."""
