"""The dialect sdy: meshes of devices, and shardings as they are spelled, which change nothing for one device.

```mlir
sdy.mesh @mesh = <["x"=1]>
%1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<2x3xf32>
```
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface

from .directives import DIRECTIVES


class Spelled(ParametrizedAttribute):
    """An attribute that is kept as the text between its brackets."""

    text: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            body = parser._parse_unregistered_attr_body(None)  # pyright: ignore[reportPrivateUsage]
        return [StringAttr(body)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text.data}>")


@irdl_attr_definition
class MeshAttr(Spelled):
    """The axes of a mesh of devices: `<["x"=1]>`."""

    name = "sdy.mesh"


@irdl_attr_definition
class ShardingAttr(Spelled):
    """The axes of a mesh that split each axis of a tensor: `<@mesh, [{"x"}, {}]>`."""

    name = "sdy.sharding"


@irdl_op_definition
class MeshOp(IRDLOperation):
    """A mesh of devices that has a name."""

    name = "sdy.mesh"
    sym_name = prop_def(SymbolNameConstraint())
    mesh = prop_def(MeshAttr)
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name `=` $mesh attr-dict"


@irdl_op_definition
class ShardingConstraintOp(IRDLOperation):
    """The operand, on the devices of a sharding."""

    name = "sdy.sharding_constraint"
    input = operand_def(Attribute)
    sharding = prop_def(ShardingAttr)
    result = result_def(Attribute)
    custom_directives = DIRECTIVES
    assembly_format = "$input $sharding attr-dict `:` custom<SameOperandsAndResultType>(type(operands), type(results))"


Sdy = Dialect("sdy", [MeshOp, ShardingConstraintOp], [MeshAttr, ShardingAttr])
