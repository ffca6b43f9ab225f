"""Products of tiles: small matrices in registers of their own, of up to 16 rows of 16 words of 32 bits.

```mlir
tir.tile_config rows [16, 0, 0, 0, 16, 0, 16, 0] words [16, 0, 0, 0, 16, 0, 16, 0]
tir.tile_zero 0 as [16, 16]
tir.tile_load 4, %a[%i * 16, %k * 32] step 256 as [16, 16] : !tir.buffer<64x256xbf16>
tir.tile_load 6, %b[0, %k * 16, 0] step 32 as [16, 16] : !tir.buffer<2x128x32xi32>
tir.tile_dot "bf16" 0, 4, 6 as [16, 16, 16]
tir.tile_store 0, %c[0, 0] step 32 as [16, 16] : !tir.buffer<32x32xf32>
```

Registers have numbers, as machines have them. A register keeps what it was filled with until the next configuration,
which comes before all other ops, in every thread. Each op says the rows and words that the configuration gives its
registers, so that it can be understood alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...provenance.diagnostics import fail
from ...support.machine import TILE_ROW
from ..checks import check_map
from ..format import parse_attributes
from ..int_lists import numbers_of
from .buffer import BufferType, buffer_of, element_bytes
from .effects import ActsBesideMemory, ReadsBuffer, WritesBuffer
from .text import parse_end, parse_point, print_end, print_point

TILES = 8
"""The number of registers."""
ROWS = 16
"""The most rows of a register."""
WORD = 4
"""The bytes of a word."""
WORDS = TILE_ROW // WORD
"""The most words in a row."""
SUMS: dict[str, Attribute] = {"bf16": f32, "u8s8": i32}
"""The kind of a product -> the type of its sums. Words hold two bfloat16, or four bytes, of which the first operand's
are unsigned and the second's signed."""


def _list(numbers: Iterable[int]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, list(numbers))


def _numbers(list_: DenseArrayBase) -> tuple[int, ...]:
    return numbers_of(cast("DenseArrayBase[IntegerType]", list_))


def _parse_list(parser: Parser) -> list[int]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)


@irdl_op_definition
class TileConfigOp(IRDLOperation):
    """Says the rows of each register, and the words of each row, and forgets what registers held; 0 of one not used."""

    name = "tir.tile_config"
    rows = prop_def(DenseArrayBase)
    words = prop_def(DenseArrayBase)
    traits = traits_def(ActsBesideMemory())

    @staticmethod
    def make(shapes: Sequence[tuple[int, int]]) -> TileConfigOp:
        """shapes: rows and words of the registers, of the first on."""
        padded = [*shapes, *[(0, 0)] * (TILES - len(shapes))]
        return TileConfigOp.create(
            properties={"rows": _list(rows for rows, _ in padded), "words": _list(words for _, words in padded)}
        )

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and words of each register."""
        return tuple(zip(_numbers(self.rows), _numbers(self.words), strict=True))

    def verify_(self) -> None:
        for what, numbers, most in (("rows", self.rows, ROWS), ("words", self.words, WORDS)):
            found = _numbers(numbers)
            if len(found) != TILES or not all(0 <= number <= most for number in found):
                fail(self, f"{TILES} numbers of {what}, each up to {most}", str(list(found)))

    def print(self, printer: Printer) -> None:
        for what, numbers in (("rows", self.rows), ("words", self.words)):
            printer.print_string(f" {what} {list(_numbers(numbers))}")
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        for what in ("rows", "words"):
            parser.parse_keyword(what)
            properties[what] = _list(_parse_list(parser))
        return cls.create(properties=properties, attributes=parse_attributes(parser))


class TileOp(IRDLOperation):
    """An op on registers."""

    registers = prop_def(DenseArrayBase)
    shape = prop_def(DenseArrayBase)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The registers' numbers."""
        return _numbers(self.registers)

    @property
    def extents(self) -> tuple[int, ...]:
        """Rows and words of the register; of a product rows, words and columns."""
        return _numbers(self.shape)

    def check(self, registers: int) -> None:
        """Fail unless there are so many registers, and extents that fit them."""
        numbers, extents = self.numbers, self.extents
        if len(set(numbers)) != registers or not all(0 <= number < TILES for number in numbers):
            fail(self, f"{registers} different registers below {TILES}", str(list(numbers)))
        count = max(2, registers)
        if len(extents) != count or not all(1 <= extent <= ROWS for extent in extents):
            fail(self, f"{count} extents from 1 to {ROWS}", str(list(extents)))

    def print_shape(self, printer: Printer) -> None:
        printer.print_string(f" as {list(self.extents)}")

    @staticmethod
    def parse_shape(parser: Parser) -> DenseArrayBase[IntegerType]:
        parser.parse_keyword("as")
        return _list(_parse_list(parser))


@irdl_op_definition
class TileZeroOp(TileOp):
    """Fills a register with zeros."""

    name = "tir.tile_zero"
    traits = traits_def(ActsBesideMemory())

    @staticmethod
    def make(register: int, shape: Sequence[int]) -> TileZeroOp:
        return TileZeroOp.create(properties={"registers": _list([register]), "shape": _list(shape)})

    def verify_(self) -> None:
        self.check(1)

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.numbers[0]}")
        self.print_shape(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        registers = _list([parser.parse_integer()])
        properties: dict[str, Attribute] = {"registers": registers, "shape": cls.parse_shape(parser)}
        return cls.create(properties=properties, attributes=parse_attributes(parser))


@irdl_op_definition
class TileDotOp(TileOp):
    """Adds to each word of the first register the dot product of a row of the second and a column of the third.

    A column of the third has one word in each of its rows. Sums of bytes wrap around. How often, and in which order,
    those of bfloat16 are rounded, and if subnormal numbers count as 0, the machine decides.
    """

    name = "tir.tile_dot"
    kind = prop_def(StringAttr)
    traits = traits_def(ActsBesideMemory())

    @staticmethod
    def make(kind: str, registers: Sequence[int], shape: Sequence[int]) -> TileDotOp:
        """shape: rows, words and columns."""
        return TileDotOp.create(
            properties={"kind": StringAttr(kind), "registers": _list(registers), "shape": _list(shape)}
        )

    def verify_(self) -> None:
        self.check(3)
        if self.kind.data not in SUMS:
            fail(self, f"a product of {' or '.join(SUMS)}", self.kind.data)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.kind)
        printer.print_string(f" {', '.join(map(str, self.numbers))}")
        self.print_shape(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        kind = StringAttr(parser.parse_str_literal())
        registers = _list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_integer))
        properties: dict[str, Attribute] = {"kind": kind, "registers": registers, "shape": cls.parse_shape(parser)}
        return cls.create(properties=properties, attributes=parse_attributes(parser))


class TileAccess(TileOp):
    """Moves a register from or to a buffer: the rows begin `step` elements apart, their words follow one another."""

    buffer = operand_def(BufferType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    distance = prop_def(IntegerAttr)

    @classmethod
    def make(
        cls,
        register: int,
        buffer: SSAValue,
        map: AffineMap,
        indices: Sequence[SSAValue],
        distance: int,
        shape: Sequence[int],
    ) -> Self:
        """distance: of rows, in elements of the buffer."""
        return cls.create(
            operands=[buffer, *indices],
            properties={
                "registers": _list([register]),
                "map": AffineMapAttr(map),
                "distance": IntegerAttr(distance, i64),
                "shape": _list(shape),
            },
        )

    @property
    def rows_apart(self) -> int:
        """The elements between the beginnings of rows."""
        return self.distance.value.data

    @property
    def step(self) -> int:
        """The distance of lanes, as of a load."""
        return 1

    def verify_(self) -> None:
        self.check(1)
        type_ = buffer_of(self.buffer)
        check_map(self, self.map.data, len(self.indices), len(type_.shape))
        if (size := element_bytes(type_.element_type)) not in (1, 2, 4):
            fail(self, "a buffer of numbers that fill words", f"one of {type_.element_type}, {size} bytes each")

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.numbers[0]}, ")
        print_point(printer, self.buffer, self.map, self.indices)
        printer.print_string(f" step {self.rows_apart}")
        self.print_shape(printer)
        print_end(printer, self, self.buffer.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        registers = _list([parser.parse_integer()])
        parser.parse_punctuation(",")
        buffer, map, indices = parse_point(parser)
        parser.parse_keyword("step")
        distance = IntegerAttr(parser.parse_integer(), i64)
        shape = cls.parse_shape(parser)
        attributes, (type_,) = parse_end(parser, 1)
        return cls.create(
            operands=[parser.resolve_operand(buffer, type_), *indices],
            properties={"registers": registers, "map": map, "distance": distance, "shape": shape},
            attributes=attributes,
        )


@irdl_op_definition
class TileLoadOp(TileAccess):
    """Fills a register from a buffer."""

    name = "tir.tile_load"
    traits = traits_def(ReadsBuffer(), ActsBesideMemory())


@irdl_op_definition
class TileStoreOp(TileAccess):
    """Writes a register to a buffer."""

    name = "tir.tile_store"
    traits = traits_def(WritesBuffer(), ActsBesideMemory())
