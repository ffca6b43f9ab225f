"""The language of Relay expressions: relay/ has its nodes and types, text/ reads and prints them, and is set here."""

from .relay.texts import ExprPrinter, print_with


def _text() -> ExprPrinter:
    from . import text

    return text


print_with(_text)
