"""Marks: where values enter and leave a part of a function that an external compiler is to take, where fusion ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from .attributes import required_string
from .operator import Operator
from .signature import Signature, Tensor
from .traits import OPAQUE, Mark, NonComputational, Stateful


class _Identity(Operator):
    """Its operand, as it is."""

    data = operand_def(TensorType)
    result = result_def(TensorType)
    # Stateful: not evaluated at compile time, as the mark would be lost with it.
    traits = traits_def(Pure(), OPAQUE, Mark(), NonComputational(), Stateful())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        return [sig.types[0]]

    @classmethod
    def evaluate(cls, sig: Signature, x: Any) -> Any:
        return x


@irdl_op_definition
class StopFusionOp(_Identity):
    """No operator that reads it is fused with what makes it."""

    name = "relay.annotation.stop_fusion"


class _Mark(_Identity):
    data = operand_def(TensorType)  # again: a class's own operands come before inherited ones
    result = result_def(TensorType)
    compiler = required_string()


@irdl_op_definition
class CompilerBeginOp(_Mark):
    """A value enters a part of the function that is for `compiler`."""

    name = "relay.annotation.compiler_begin"


@irdl_op_definition
class CompilerEndOp(_Mark):
    """A value leaves a part of the function that is for `compiler`."""

    name = "relay.annotation.compiler_end"
