"""Pieces of custom assembly that the dialects share."""

from __future__ import annotations

from xdsl.parser import Parser


def parse_argument(parser: Parser) -> Parser.Argument:
    """`%x : type`, and its location if one follows."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument
