"""The tir dialect: loops over buffers. Scalars and vectors are computed with arith, math and vector ops.

```mlir
tir.prim_func @relu(%p0: !tir.buffer<4x64xf32>, %out: !tir.buffer<4x64xf32>) outputs 1 {
  tir.for parallel %i in 4 {
    tir.for %j in 4 {
      %0 = tir.load %p0[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32>
      ...
      tir.store %1, %out[%i, %j * 16] : vector<16xf32>, !tir.buffer<4x64xf32>
    }
  }
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Dialect,
    Operation,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..provenance.diagnostics import fail
from .checks import check_bounds, check_else, check_map, check_value
from .format import parse_argument, parse_body, parse_indices, print_indices
from .te import bit_width, is_integer, stored_type
from .tir_lanes import CastOp, CompareOp, SelectOp, lanes, scalar_type

INDEX = IndexType()
SCOPES = ("global", "local")
"""Where a buffer lives: `global` in memory shared by all threads, `local` in the registers or stack of one."""
UNBOUNDED = (-(1 << 62), 1 << 62)
"""The range of an index that no loop bounds."""
KINDS = ("serial", "parallel", "vectorized", "unrolled")
_BYTES: dict[Attribute, int] = {f16: 2, bf16: 2, f32: 4, f64: 8}


def element_bytes(element: Attribute) -> int:
    """The size in memory of an element; bool takes one byte."""
    if is_integer(element):
        return max(1, bit_width(element) // 8)
    if element not in _BYTES:
        raise VerifyException(f"expected an element type with a size, got {element}")
    return _BYTES[element]


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A dense row-major array in memory: `!tir.buffer<4x64xf32>`, `!tir.buffer<14x16xf32, local>`."""

    name = "tir.buffer"
    shape: ArrayAttr[IntAttr] = param_def()
    element_type: Attribute = param_def()
    scope: StringAttr = param_def()

    @staticmethod
    def of(shape: Sequence[int], element: Attribute, scope: str = "global") -> BufferType:
        return BufferType(ArrayAttr([IntAttr(extent) for extent in shape]), element, StringAttr(scope))

    def get_shape(self) -> tuple[int, ...]:
        return tuple(extent.data for extent in self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension."""
        shape = self.get_shape()
        return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))

    @property
    def size(self) -> int:
        """Elements."""
        return prod(self.get_shape())

    @property
    def nbytes(self) -> int:
        return self.size * element_bytes(self.element_type)

    def verify(self) -> None:
        if self.scope.data not in SCOPES:
            raise VerifyException(f"tir.buffer: expected a scope among {', '.join(SCOPES)}, got {self.scope.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.shape:
                printer.print_string(f"{extent.data}x")
            printer.print_attribute(self.element_type)
            if self.scope.data != "global":
                printer.print_string(f", {self.scope.data}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            scope = "global"
            if parser.parse_optional_punctuation(",") is not None:
                scope = parser.parse_identifier()
        return [ArrayAttr([IntAttr(extent) for extent in shape]), element, StringAttr(scope)]


def buffer_of(value: SSAValue) -> BufferType:
    assert isinstance(value.type, BufferType)
    return value.type


@irdl_op_definition
class PrimFuncOp(IRDLOperation):
    """A kernel: buffers in, the last `outputs` of them written."""

    name = "tir.prim_func"
    sym_name = prop_def(SymbolNameConstraint())
    outputs = prop_def(IntegerAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, buffers: Sequence[BufferType], outputs: int):
        super().__init__(
            properties={"sym_name": StringAttr(name), "outputs": IntegerAttr(outputs, i64)},
            regions=[Region(Block(arg_types=buffers))],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        for argument in self.block.args:
            if not isinstance(argument.type, BufferType):
                fail(self, "buffers as arguments", str(argument.type))
            if argument.type.scope.data != "global":
                fail(self, "arguments in scope global", str(argument.type))
        if not 0 <= self.outputs.value.data <= len(self.block.args):
            count = len(self.block.args)
            fail(self, f"outputs that are among its {count} arguments", str(self.outputs.value.data))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.enter_scope()
        printer.print_string("(")
        printer.print_list(self.block.args, printer.print_block_argument)
        printer.print_string(f") outputs {self.outputs.value.data} ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_argument(parser))
        parser.parse_keyword("outputs")
        outputs = IntegerAttr(parser.parse_integer(), i64)
        extra = parser.parse_optional_attr_dict_with_keyword()
        region = parse_body(parser, arguments)
        return cls.create(
            properties={"sym_name": name, "outputs": outputs},
            regions=[region],
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop from 0 to `extent`. An `unrolled` one stays rolled in the IR and is unrolled by LLVM."""

    name = "tir.for"
    extent = prop_def(IntegerAttr)
    kind = prop_def(StringAttr, default_value=StringAttr("serial"))
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    @staticmethod
    def make(extent: int, kind: str = "serial", hint: str | None = None) -> ForOp:
        block = Block(arg_types=[INDEX])
        block.args[0].name_hint = hint
        return ForOp.create(
            properties={"extent": IntegerAttr(extent, i64), "kind": StringAttr(kind)}, regions=[Region(block)]
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def var(self) -> BlockArgument:
        return self.block.args[0]

    @property
    def trip_count(self) -> int:
        return self.extent.value.data

    def verify_(self) -> None:
        if self.kind.data not in KINDS:
            fail(self, f"a kind among {', '.join(KINDS)}", self.kind.data)
        if self.trip_count < 0:
            fail(self, "a non-negative extent", str(self.trip_count))
        if len(self.block.args) != 1 or self.var.type != INDEX:
            fail(self, "one block argument of type index", ", ".join(str(a.type) for a in self.block.args) or "none")

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.kind.data == "serial" else f" {self.kind.data} ")
        printer.print_ssa_value(self.var)
        printer.print_string(f" in {self.trip_count} ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = parser.parse_optional_keyword_in(KINDS) or "serial"
        argument = parser.parse_argument(expect_type=False).resolve(INDEX)
        parser.parse_keyword("in")
        extent = parser.parse_integer()
        extra = parser.parse_optional_attr_dict_with_keyword()
        region = parse_body(parser, [argument])
        return cls.create(
            properties={"extent": IntegerAttr(extent, i64), "kind": StringAttr(kind)},
            regions=[region],
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A buffer that lives in the enclosing block. Global ones stand at the top of a prim_func."""

    name = "tir.alloc"
    result = result_def(BufferType)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: BufferType):
        super().__init__(result_types=[type])

    def verify_(self) -> None:
        if self.result.type.scope.data == "global" and not isinstance(parent := self.parent_op(), PrimFuncOp):
            where = parent.name if parent is not None else "nothing"
            fail(
                self,
                "a global buffer at the top of a tir.prim_func (a local one may stand anywhere)",
                f"one in {where}",
            )


def _is_conditional(op: Operation) -> bool:
    """Whether `op` may never run."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, PrimFuncOp):
        if isinstance(parent, IfOp) or (isinstance(parent, ForOp) and not parent.trip_count):
            return True
        parent = parent.parent_op()
    return False


def _check_access(op: LoadOp | StoreOp, value: Attribute, *, guarded: bool) -> None:
    type_ = buffer_of(op.buffer)
    shape = type_.get_shape()
    check_map(op, op.map.data, len(op.indices), len(shape))
    lanes = check_value(op, value, stored_type(type_.element_type), op.step)
    if not guarded and not _is_conditional(op):
        check_bounds(op, op.map.data, shape, type_.strides, lanes, op.step)


@irdl_op_definition
class LoadOp(IRDLOperation):
    """An element at an affine point, or a vector of elements `stride` apart (in elements) that starts there.

    `if [..] >= 0 else c` guards it: where a guard expression is negative nothing is read and the value is c.
    """

    name = "tir.load"
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    guard = opt_prop_def(AffineMapAttr)
    otherwise = opt_prop_def(Attribute)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    result = result_def(Attribute)

    @staticmethod
    def make(
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        *,
        type: Attribute | None = None,
        guard: AffineMap | None = None,
        otherwise: Attribute | None = None,
        stride: int = 1,
    ) -> LoadOp:
        properties: dict[str, Attribute] = {"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)}
        if guard is not None and otherwise is not None:
            properties |= {"guard": AffineMapAttr(guard), "otherwise": otherwise}
        result = type if type is not None else stored_type(buffer_of(buffer).element_type)
        return LoadOp.create(operands=[buffer, *indices], result_types=[result], properties=properties)

    @property
    def step(self) -> int:
        return self.stride.value.data

    def verify_(self) -> None:
        _check_access(self, self.result.type, guarded=self.guard is not None)
        if self.guard is not None and self.otherwise is not None:
            check_map(self, self.guard.data, len(self.indices), what="guard expression")
            check_else(self, self.otherwise, self.result.type)
        elif self.guard is not None or self.otherwise is not None:
            fail(self, "a guard and its else value together", "a guard" if self.guard is not None else "an else value")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.buffer)
        print_indices(printer, self.map.data, self.indices)
        if self.guard is not None and self.otherwise is not None:
            printer.print_string(" if ")
            print_indices(printer, self.guard.data, self.indices)
            printer.print_string(" >= 0 else ")
            printer.print_attribute(self.otherwise)
        if self.step != 1:
            printer.print_string(f" stride {self.step}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.buffer.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        properties: dict[str, Attribute] = {"map": map}
        if parser.parse_optional_keyword("if") is not None:
            guard, guarded = parse_indices(parser)
            properties["map"], properties["guard"], indices = _join(map, indices, guard, guarded)
            parser.parse_punctuation(">")
            parser.parse_punctuation("=")
            parser.parse_integer()
            parser.parse_keyword("else")
            properties["otherwise"] = parser.parse_attribute()
        stride = parser.parse_integer() if parser.parse_optional_keyword("stride") is not None else 1
        properties["stride"] = IntegerAttr(stride, i64)
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        parser.parse_punctuation("->")
        result = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(buffer, type_), *indices],
            result_types=[result],
            properties=properties,
            attributes=extra.data if extra else {},
        )


def _join(
    map: AffineMapAttr, indices: list[SSAValue], guard: AffineMapAttr, guarded: list[SSAValue]
) -> tuple[AffineMapAttr, AffineMapAttr, list[SSAValue]]:
    """Two maps brought over one list of operands."""
    joined = list(dict.fromkeys([*indices, *guarded]))
    position = {value: i for i, value in enumerate(joined)}
    dims = [AffineExpr.dimension(position[value]) for value in guarded]
    moved = tuple(expr.replace_dims_and_symbols(dims, ()) for expr in guard.data.results)
    return (
        AffineMapAttr(AffineMap(len(joined), 0, map.data.results)),
        AffineMapAttr(AffineMap(len(joined), 0, moved)),
        joined,
    )


@irdl_op_definition
class StoreOp(IRDLOperation):
    """Writes an element, or a vector of elements `stride` apart, to an affine point."""

    name = "tir.store"
    value = operand_def(Attribute)
    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))

    @staticmethod
    def make(
        value: SSAValue, buffer: SSAValue, map: AffineMap, indices: Sequence[SSAValue], *, stride: int = 1
    ) -> StoreOp:
        return StoreOp.create(
            operands=[value, buffer, *indices],
            properties={"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)},
        )

    @property
    def step(self) -> int:
        return self.stride.value.data

    def verify_(self) -> None:
        _check_access(self, self.value.type, guarded=False)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        printer.print_ssa_value(self.buffer)
        print_indices(printer, self.map.data, self.indices)
        if self.step != 1:
            printer.print_string(f" stride {self.step}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_attribute(self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        buffer = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        stride = parser.parse_integer() if parser.parse_optional_keyword("stride") is not None else 1
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        parser.parse_punctuation(",")
        type_ = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(value, value_type), parser.resolve_operand(buffer, type_), *indices],
            properties={"map": map, "stride": IntegerAttr(stride, i64)},
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs its body where every guard expression is at least 0. `likely` marks the guard of an uneven split."""

    name = "tir.if"
    indices = var_operand_def(IndexType)
    guard = prop_def(AffineMapAttr)
    likely = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    orelse = opt_region_def("single_block")
    traits = traits_def(NoTerminator())

    @staticmethod
    def make(guard: AffineMap, indices: Sequence[SSAValue], *, likely: bool = False, orelse: bool = False) -> IfOp:
        properties: dict[str, Attribute] = {"guard": AffineMapAttr(guard)}
        if likely:
            properties["likely"] = UnitAttr()
        regions = [Region(Block()), Region(Block())] if orelse else [Region(Block())]
        return IfOp.create(operands=indices, properties=properties, regions=regions)

    @property
    def block(self) -> Block:
        return self.body.block

    def verify_(self) -> None:
        check_map(self, self.guard.data, len(self.indices), what="guard expression")
        for region in self.regions:
            if region.block.args:
                fail(self, "branches without block arguments", f"{len(region.block.args)}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" likely " if self.likely else " ")
        print_indices(printer, self.guard.data, self.indices)
        printer.print_string(" >= 0 ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_empty_block=False)
        if self.orelse is not None:
            printer.print_string(" else ")
            printer.print_region(self.orelse, print_empty_block=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("likely") is not None:
            properties["likely"] = UnitAttr()
        properties["guard"], indices = parse_indices(parser)
        parser.parse_punctuation(">")
        parser.parse_punctuation("=")
        parser.parse_integer()
        extra = parser.parse_optional_attr_dict_with_keyword()
        regions = [parse_body(parser)]
        if parser.parse_optional_keyword("else") is not None:
            regions.append(parse_body(parser))
        return cls.create(
            operands=indices, properties=properties, regions=regions, attributes=extra.data if extra else {}
        )


@irdl_op_definition
class IndexOp(IRDLOperation):
    """An affine function of loop variables as a number; with a vector result, `stride` is added per lane."""

    name = "tir.index"
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    stride = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    result = result_def(Attribute)
    traits = traits_def(Pure())

    @staticmethod
    def make(map: AffineMap, indices: Sequence[SSAValue], type: Attribute = INDEX, stride: int = 0) -> IndexOp:
        return IndexOp.create(
            operands=indices,
            result_types=[type],
            properties={"map": AffineMapAttr(map), "stride": IntegerAttr(stride, i64)},
        )

    def verify_(self) -> None:
        check_map(self, self.map.data, len(self.indices), 1)
        type_ = self.result.type
        if scalar_type(type_) != INDEX or len(lanes(type_)) > 1:
            fail(self, "a result of type index or a 1-d vector of index", str(type_))
        if (step := self.stride.value.data) and not isinstance(type_, VectorType):
            fail(self, "no stride, as a scalar has one lane", str(step))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_indices(printer, self.map.data, self.indices)
        if self.stride.value.data:
            printer.print_string(f" stride {self.stride.value.data}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        map, indices = parse_indices(parser)
        stride = parser.parse_integer() if parser.parse_optional_keyword("stride") is not None else 0
        extra = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        return cls.create(
            operands=indices,
            result_types=[parser.parse_type()],
            properties={"map": map, "stride": IntegerAttr(stride, i64)},
            attributes=extra.data if extra else {},
        )


@irdl_op_definition
class CallExternOp(IRDLOperation):
    """A call of a C function by name, on scalars (`tir.call_extern "expf"(%x) : (f32) -> f32`)."""

    name = "tir.call_extern"
    callee = prop_def(StringAttr)
    arguments = var_operand_def(Attribute)
    outputs = var_result_def(Attribute)
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[list(arguments)],
            result_types=[list(result_types)],
            properties={"callee": StringAttr(callee)},
        )


def index_ranges(values: Sequence[SSAValue]) -> list[tuple[int, int]]:
    """The range of each index operand: a loop variable's from its loop, anything else unbounded."""
    ranges: list[tuple[int, int]] = []
    for value in values:
        owner = value.owner
        loop = owner.parent_op() if isinstance(owner, Block) else None
        ranges.append((0, max(0, loop.trip_count - 1)) if isinstance(loop, ForOp) else UNBOUNDED)
    return ranges


Tir = Dialect(
    "tir",
    [PrimFuncOp, ForOp, AllocOp, LoadOp, StoreOp, IfOp, IndexOp, CallExternOp, CompareOp, SelectOp, CastOp],
    [BufferType],
)
