"""Operators, where TVM has them."""

from whence.frontends.relay.expr import Op as Op
from whence.frontends.relay.op_attrs import register_op_attr as register_op_attr
