"""The base of what programs are made of, where TVM has it."""

from whence.frontends.relay.node import Node as Node
