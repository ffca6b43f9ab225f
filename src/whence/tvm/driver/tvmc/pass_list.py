"""Names of passes in texts of command lines."""

from __future__ import annotations

import argparse

from whence.passes.registry import find_row
from whence.support.errors import PipelineError, expectation


class PassListError(PipelineError, argparse.ArgumentTypeError):
    """A text has names of no passes."""


def parse_pass_list_str(input_string: str) -> list[str]:
    """The names of passes in a text with commas between them. Raises PassListError with the unknown ones."""
    names = input_string.split(",") if input_string else []
    if unknown := [name for name in names if find_row(name) is None]:
        raise PassListError(expectation("passes", "names of passes", f"{', '.join(unknown)} in {input_string!r}"))
    return names
