"""Shapes of inputs in texts of command lines."""

from __future__ import annotations

import argparse
import re
from typing import Any as Anything

from whence.reading.input_shapes import given_shapes
from whence.support.errors import FrontendError, PipelineError, expectation
from whence.syntax.relay.type_view import Any

_NAMED = re.compile(r"\[[^\]]*[A-Za-z_?][^\]]*\]")
"""A shape with a name in it, which is no number."""


class ShapeTextError(FrontendError, argparse.ArgumentTypeError):
    """A text is no shapes."""


def parse_shape_string(inputs_string: str) -> dict[str, list[Anything]]:
    """The shape of each input in a text such as `x:[1, 3, 224, 224] y:[-1]`; -1, which a call decides, is `Any()`.

    Raises ShapeTextError for another text.
    """
    if (named := _NAMED.search(inputs_string)) is not None:
        raise ShapeTextError(expectation("input shapes", "numbers as extents", repr(named[0])))
    try:
        shapes = given_shapes(inputs_string.replace("],", "] ")).shapes
    except PipelineError as error:
        raise ShapeTextError(str(error)) from error
    return {
        name: [extent if isinstance(extent, int) and extent >= 0 else Any() for extent in shape]
        for name, shape in shapes.items()
    }
