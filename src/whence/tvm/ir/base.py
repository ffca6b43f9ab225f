"""The base class of the parts of programs, where TVM has it."""

from whence.frontends.relay.node import Node as Node
