"""The attributes of StableHLO: words of fixed sets, numbers that have names, and the axes of a convolution.

```mlir
#stablehlo<comparison_direction LT>
#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>
#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
```
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntAttr, StringAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

Numbers: TypeAlias = "int | tuple[int, ...] | Attribute"


class Word(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """One of `WORDS`, printed as `#dialect<name WORD>`."""

    WORDS: ClassVar[tuple[str, ...]] = ()

    value: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        position = parser.pos
        # `#dialect.name<WORD>` is the other spelling.
        bracketed = parser.parse_optional_punctuation("<") is not None
        word = parser.parse_identifier(f" of {cls.name}")
        if bracketed:
            parser.parse_punctuation(">")
        if word not in cls.WORDS:
            parser.raise_error(f"expected one of {', '.join(cls.WORDS)} as {cls.name}, got {word}", position)
        return [StringAttr(word)]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.value.data)


def _word(attribute: str, words: str) -> type[Word]:
    """Return the class of an attribute that is one of some words."""

    @irdl_attr_definition
    class Row(Word):
        name = attribute
        WORDS: ClassVar[tuple[str, ...]] = tuple(words.split())

    return Row


class Record(ParametrizedAttribute):
    """Numbers, lists of numbers and attributes by name; those that are not printed are 0, or empty."""

    NAMES: ClassVar[tuple[str, ...]] = ()

    fields: DictionaryAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        fields: dict[str, Attribute] = {}

        def field() -> None:
            position = parser.pos
            key = parser.parse_identifier(f" of {cls.name}")
            if key not in cls.NAMES or key in fields:
                parser.raise_error(f"expected each of {', '.join(cls.NAMES)} once at most, got {key}", position)
            parser.parse_punctuation("=")
            numbers = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
            if numbers is not None:
                fields[key] = DenseArrayBase.from_list(i64, numbers)
            elif (number := parser.parse_optional_integer()) is not None:
                fields[key] = IntAttr(number)
            else:
                fields[key] = parser.parse_attribute()

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        return [DictionaryAttr(fields)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.fields.data.items(), lambda item: self._print(printer, *item))

    def _print(self, printer: Printer, key: str, value: Attribute) -> None:
        printer.print_string(f"{key} = ")
        match value:
            case IntAttr():
                printer.print_string(str(value.data))
            case DenseArrayBase():
                printer.print_string(str(list(_numbers(value))))
            case _:
                printer.print_attribute(value)

    def values(self) -> dict[str, Numbers]:
        """Name -> number, tuple of numbers, or attribute, of what is stated."""
        result: dict[str, Numbers] = {}
        for key, value in self.fields.data.items():
            match value:
                case IntAttr():
                    result[key] = value.data
                case DenseArrayBase():
                    result[key] = _numbers(value)
                case _:
                    result[key] = value
        return result


def _numbers(array: Attribute) -> tuple[int, ...]:
    return tuple(cast("Any", array).get_values())


def _record(attribute: str, names: str) -> type[Record]:
    """Return the class of an attribute that has fields."""

    @irdl_attr_definition
    class Row(Record):
        name = attribute
        NAMES: ClassVar[tuple[str, ...]] = tuple(names.split())

    return Row


def _label(parser: AttrParser) -> StringAttr:
    """An axis: a letter, or the number of a spatial one."""
    number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
    if number is not None:
        return StringAttr(str(number))
    return StringAttr("?" if parser.parse_optional_punctuation("?") else parser.parse_identifier(" of an axis"))


@irdl_attr_definition
class ConvAttr(ParametrizedAttribute):
    """The axes of a convolution's data, kernel and result: batch, feature, input, output, and spatial ones."""

    name = "stablehlo.conv"

    data: ArrayAttr[StringAttr] = param_def()
    kernel: ArrayAttr[StringAttr] = param_def()
    result: ArrayAttr[StringAttr] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_axes(parser)

    @classmethod
    def parse_axes(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `[b, 0, f]x[0, i, o]->[b, 0, f]`."""

        def labels() -> ArrayAttr[StringAttr]:
            return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _label(parser)))

        data = labels()
        parser.parse_keyword("x")
        kernel = labels()
        parser.parse_punctuation("->")
        return [data, kernel, labels()]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.axes()}>")

    def axes(self) -> str:
        """Return `[b, 0, f]x[0, i, o]->[b, 0, f]`."""
        data, kernel, result = (f"[{', '.join(labels)}]" for labels in self.labels())
        return f"{data}x{kernel}->{result}"

    def labels(self) -> tuple[tuple[str, ...], ...]:
        """Return the labels of the data, the kernel and the result."""
        return tuple(tuple(label.data for label in labels) for labels in (self.data, self.kernel, self.result))


@irdl_attr_definition
class BoundsAttr(ParametrizedAttribute):
    """The largest extents of a tensor type whose extents are open; `?` for those that have no bound."""

    name = "stablehlo.bounds"

    extents: ArrayAttr[StringAttr] = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return [ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _label(parser)))]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join(extent.data for extent in self.extents)}>")


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """The order of ops with side effects."""

    name = "stablehlo.token"


_DIRECTIONS = "EQ NE GE GT LE LT"
WORDS = (
    _word("stablehlo.precision", "DEFAULT HIGH HIGHEST"),
    _word("stablehlo.comparison_direction", _DIRECTIONS),
    _word("stablehlo.comparison_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"),
    _word("stablehlo.fft_type", "FFT IFFT RFFT IRFFT"),
    _word("stablehlo.transpose", "TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT"),
    _word("stablehlo.rng_distribution", "UNIFORM NORMAL"),
    _word("stablehlo.rng_algorithm", "DEFAULT THREE_FRY PHILOX"),
    _word("stablehlo.result_accuracy_mode", "DEFAULT HIGHEST TOLERANCE"),
    _word("stablehlo.custom_call_api_version", "API_VERSION_UNSPECIFIED API_VERSION_ORIGINAL"),
    _word("chlo.comparison_direction", _DIRECTIONS),
    _word("chlo.comparison_type", "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"),
    _word("chlo.precision", "DEFAULT HIGH HIGHEST"),
)

_SIDES = ("lhs", "rhs")
_DOT = [f"{side}_{kind}_dimensions" for kind in ("batching", "contracting") for side in _SIDES]
_ALGORITHM = (
    "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count rhs_component_count "
    "num_primitive_operations allow_imprecise_accumulation"
)
RECORDS = (
    _record("stablehlo.dot", " ".join(_DOT)),
    _record("stablehlo.dot_algorithm", _ALGORITHM),
    _record(
        "stablehlo.gather",
        "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map "
        "index_vector_dim",
    ),
    _record(
        "stablehlo.scatter",
        "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
        "scatter_dims_to_operand_dims index_vector_dim",
    ),
    _record("stablehlo.channel_handle", "handle type"),
    _record("stablehlo.output_operand_alias", "output_tuple_indices operand_index operand_tuple_indices"),
    _record("stablehlo.result_accuracy", "atol rtol ulps mode"),
)

ATTRIBUTES: tuple[type[Any], ...] = (*WORDS, *RECORDS, ConvAttr, BoundsAttr, TokenType)

_KINDS = {kind.name: kind for kind in ATTRIBUTES}


def kind_named(name: str) -> type[Any]:
    """Return the class of the attribute of a name, such as `stablehlo.precision`."""
    return _KINDS[name]
