"""Temporary attributes of an operator."""

from __future__ import annotations

from typing import Any

from whence.syntax.relay.op_attrs import op_attr, register_op_attr, reset_op_attr


class TempOpAttr:
    """A scope in which an attribute of an operator is replaced."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any):
        self.op_name, self.attr_key, self.attr_value = op_name, attr_key, attr_value
        self.older: Any = None

    def __enter__(self) -> TempOpAttr:
        self.older = op_attr(self.op_name, self.attr_key)
        reset_op_attr(self.op_name, self.attr_key)
        register_op_attr(self.op_name, self.attr_key, self.attr_value)
        return self

    def __exit__(self, *_: object) -> None:
        reset_op_attr(self.op_name, self.attr_key)
        if self.older is not None:
            register_op_attr(self.op_name, self.attr_key, self.older)
