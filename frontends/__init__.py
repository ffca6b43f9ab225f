"""Readers of models. Each kind of model has a folder; this file sets how Relay expressions, as they stand, print."""

from .relay.texts import ExprPrinter, print_with


def _relay_text() -> ExprPrinter:
    from . import relay_text

    return relay_text


print_with(_relay_text)
