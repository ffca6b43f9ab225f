"""Operators, under TVM's path."""

from whence.syntax.relay.expr import Op as Op
from whence.syntax.relay.op_attrs import register_op_attr as register_op_attr
