"""The base class of the parts of programs, where TVM has it."""

from whence.syntax.relay.node import Node as Node
