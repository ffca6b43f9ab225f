"""The result of `relay.build`, where TVM has it."""

from whence.relay.build_module import GraphExecutorFactoryModule as GraphExecutorFactoryModule
