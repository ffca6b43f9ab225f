"""`relay.python_call`: tensors that a Python function of the user's computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, prop_def, var_operand_def, var_result_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

PYTHON = "python"
"""The external compiler that runs Python functions."""

Function: TypeAlias = Callable[..., Any]
"""Called with an array per operand; gives the result, or several in order."""


class PythonFunction(NamedTuple):
    """A Python function, and the operator that it computes."""

    operator: str
    function: Function | None
    """The function; None if the op was read from text, which does not contain it."""


@irdl_attr_definition
class PythonFunctionAttr(Data[PythonFunction]):
    """Names the operator that a Python function computes: `#relay.python_function<"aten.igamma.default">`."""

    name = "relay.python_function"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PythonFunction:
        with parser.in_angle_brackets():
            return PythonFunction(parser.parse_str_literal(), None)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.operator)


@irdl_op_definition
class PythonCallOp(IRDLOperation):
    """A call of a Python function; all of a function that is for the external compiler `python`.

    ```mlir
    %1 = relay.python_call #relay.python_function<"mine.Wave"> (%0) : (tensor<2xf32>) -> tensor<2xf32>
    ```
    """

    name = "relay.python_call"
    callee = prop_def(PythonFunctionAttr)
    arguments = var_operand_def()
    outputs = var_result_def()
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(self, callee: PythonFunction, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[list(arguments)],
            result_types=[list(result_types)],
            properties={"callee": PythonFunctionAttr(callee)},
        )
