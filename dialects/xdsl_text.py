"""Text that xDSL 0.74 prints and cannot read back, or reads without end: what `install` changes in it.

- A float in a dense literal that is printed in hexadecimal (an infinity, a NaN, 123456792.0) is read as an integer.
  It is read as the bits of a float, as it is outside of such literals: `dense<0xFF800000> : tensor<f32>` is -inf.
- 0.0 and -0.0 are taken for the same, and NaNs for different ones, when a dense literal is printed as a splat; the bits
  of some NaNs do not get through Python. What is equal is printed as a splat, and what would change as the bytes of all
  elements, `dense<"0x0000008000000000">`, a form that MLIR has, too.
- A string with an escape and a character beyond ASCII is read as bytes, where nothing expects them. It is a string
  whenever it is UTF-8. All characters beyond ASCII are printed as escapes.
- A string that does not end takes time exponential in its length. Its regular expression gets possessive quantifiers.
- An affine expression is not multiplied with, or divided by, one of symbols, though its printed form can be. Now it is.
- In text, a product of two dims, a quotient by one or a division of numbers by 0 escapes as Python's error. Now it is a
  ParseError at the operator.
- Two values are printed with one name where the name of one is that of the other with a number: the second `%a` is
  `%a_1`, as is what was `%a_1_1` once. Now the next number that is free is taken.

All tools of Whence, and a plain `xdsl-opt` that has loaded a dialect or pass of ours, get these on import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr
from xdsl.parser.affine_parser import AffineParser
from xdsl.parser.attribute_parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Position, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_STRING = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

_print_value = Printer.print_ssa_value
_print_dense = DenseIntOrFPElementsAttr.print_without_type
_Element = AttrParser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]
_element_to_type = _Element.to_type
_lex_string = MLIRLexer._lex_string_literal  # pyright: ignore[reportPrivateUsage]
_combine = AffineParser._create_binop_expr  # pyright: ignore[reportPrivateUsage]


def print_dense(self: DenseIntOrFPElementsAttr[Any], printer: Printer) -> None:
    """The elements as xDSL prints them, or as bytes where that would not be read back."""
    kind = self.get_element_type()
    if not isinstance(kind, AnyFloat) or not len(self):
        _print_dense(self, printer)
        return
    data: bytes = self.data.data
    first = data[: kind.compile_time_size]
    is_splat = data == first * len(self)
    data = first if is_splat else data
    values = cast("Sequence[float]", kind.unpack(data, len(data) // len(first)))
    if kind.pack(values) != data or (not is_splat and self.is_splat()):
        printer.print_string(f'dense<"0x{data.hex().upper()}">')
    elif is_splat:
        printer.print_string("dense<")
        printer.print_float(values[0], kind)
        printer.print_string(">")
    else:
        _print_dense(self, printer)


def element_to_type(self: Any, parser: AttrParser, type: Any) -> Any:
    """The value of an element of a dense literal; hexadecimal digits are the bits of a float.

    Raises ParseError for more bits than the float has.
    """
    if not isinstance(type, AnyFloat) or self.span.text[:2] not in ("0x", "0X"):
        return _element_to_type(self, parser, type)
    size = type.compile_time_size
    if self.value >= 1 << 8 * size:
        parser.raise_error(f"expected {8 * size} bits of {type}, got {self.span.text}", at_position=self.span)
    return type.unpack(self.value.to_bytes(size, "little"), 1)[0]


def print_ssa_value(self: Printer, value: SSAValue) -> str:
    """The name of a value, which no other has: its hint, with a number where that is taken."""
    if (hint := value.name_hint) is None or value in self._ssa_values:  # pyright: ignore[reportPrivateUsage]
        return _print_value(self, value)
    names = self.ssa_names
    count = names.get(hint, 0)
    name = f"{hint}_{count}" if count else hint
    while count and name in names:
        count += 1
        name = f"{hint}_{count}"
    names[hint] = count + 1
    names.setdefault(name, 1)
    self._ssa_values[value] = name  # pyright: ignore[reportPrivateUsage]
    self.print_string(f"%{name}")
    return name


def lex_string_literal(self: MLIRLexer, start_pos: Position) -> Token[MLIRTokenKind, str]:
    """A string if its bytes are UTF-8, else bytes."""
    token = _lex_string(self, start_pos)
    if isinstance(token.span, StringLiteral) and token.kind is MLIRTokenKind.BYTES_LIT:
        try:
            token.span.bytes_contents.decode()
        except UnicodeDecodeError:
            return token
        return Token(MLIRTokenKind.STRING_LIT, token.span)
    return token


Operator: TypeAlias = Callable[[AffineExpr, "AffineExpr | int"], AffineExpr]


def semi_affine(kind: AffineBinaryOpKind, affine: Operator) -> Operator:
    """The operator `affine` of affine expressions, for right sides that are made of symbols, too."""

    def operate(self: AffineExpr, other: AffineExpr | int) -> AffineExpr:
        try:
            return affine(self, other)
        except NotImplementedError:
            if not isinstance(other, AffineExpr):
                raise
            if kind is AffineBinaryOpKind.Mul and other.used_dims():
                self, other = other, self
            if other.used_dims():
                raise
            return AffineBinaryOpExpr(kind, self, other)

    return operate


_OPERATORS: dict[str, tuple[AffineBinaryOpKind, Operator]] = {
    "__mul__": (AffineBinaryOpKind.Mul, AffineExpr.__mul__),
    "__floordiv__": (AffineBinaryOpKind.FloorDiv, AffineExpr.__floordiv__),
    "__mod__": (AffineBinaryOpKind.Mod, AffineExpr.__mod__),
    "ceil_div": (AffineBinaryOpKind.CeilDiv, AffineExpr.ceil_div),
}


def combine_affine(self: AffineParser, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
    """The affine expression `lhs binop rhs`. Raises ParseError where it is none."""
    try:
        return _combine(self, lhs, rhs, binop)
    except (NotImplementedError, ZeroDivisionError) as error:
        is_product = binop.text == "*"
        expected = "a number or sizes on one side" if is_product else "a number other than 0, or sizes, on the right"
        raise ParseError(binop.span, f"expected {expected} of '{binop.text}', got '{lhs}' and '{rhs}'") from error


def install() -> None:
    """Have xDSL print and read as above."""
    for name, (kind, affine) in _OPERATORS.items():
        setattr(AffineExpr, name, semi_affine(kind, affine))
    DenseIntOrFPElementsAttr.print_without_type = print_dense
    _Element.to_type = element_to_type
    Printer.print_ssa_value = print_ssa_value
    AffineParser._create_binop_expr = combine_affine  # pyright: ignore[reportPrivateUsage]
    MLIRLexer._lex_string_literal = lex_string_literal  # pyright: ignore[reportPrivateUsage]
    MLIRLexer._unescaped_characters_regex = _STRING  # pyright: ignore[reportPrivateUsage]
