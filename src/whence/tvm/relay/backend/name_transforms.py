"""Names as other languages spell them."""

from __future__ import annotations

import re

from whence.support.errors import FrontendError, expectation


def to_c_function_style(original_name: str) -> str:
    """The name of a C function, each word with a capital: `tvmgen_my_model` -> `TVMGenMyModel`.

    Raises FrontendError for a name without the prefix `tvmgen_`.
    """
    if not original_name.startswith("tvmgen"):
        raise FrontendError(expectation("to_c_function_style", "a name with the prefix tvmgen", repr(original_name)))
    words = [word for word in re.split("[_-]", original_name)[1:] if word]
    return "TVMGen" + "".join(word[0].upper() + word[1:] for word in words)


def to_c_variable_style(original_name: str) -> str:
    """The name of a C variable, in small letters."""
    if not original_name.startswith("tvmgen"):
        raise FrontendError(expectation("to_c_variable_style", "a name with the prefix tvmgen", repr(original_name)))
    return original_name.lower()


def to_c_constant_style(original_name: str) -> str:
    """The name of a C constant, in capitals."""
    if not original_name.startswith("tvmgen"):
        raise FrontendError(expectation("to_c_constant_style", "a name with the prefix tvmgen", repr(original_name)))
    return original_name.upper()


def sanitize_name(original_name: str) -> str:
    """Return the name with `_` for characters that no C name has."""
    return re.sub("[^a-zA-Z0-9]", "_", original_name)
