"""What reads models. Each kind has a folder; expressions of Relay get their text here, as it stands on them."""

from .relay.texts import ExprPrinter, print_with


def _relay_text() -> ExprPrinter:
    from . import relay_text

    return relay_text


print_with(_relay_text)
