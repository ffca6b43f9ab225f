"""Shapes of inputs in texts of command lines."""

from __future__ import annotations

import argparse
from typing import Any as Anything

from whence.reading.input_shapes import given_shapes
from whence.support.errors import FrontendError, PipelineError
from whence.syntax.relay.type_view import Any


class ShapeTextError(FrontendError, argparse.ArgumentTypeError):
    """A text is no shapes."""


def parse_shape_string(inputs_string: str) -> dict[str, list[Anything]]:
    """The shape of each input in a text such as `x:[1, 3, 224, 224] y:[-1]`; -1, which a call decides, is `Any()`.

    Raises ShapeTextError for another text.
    """
    try:
        shapes = given_shapes(inputs_string.replace("],", "] ")).shapes
    except PipelineError as error:
        raise ShapeTextError(str(error)) from error
    return {
        name: [extent if isinstance(extent, int) and extent >= 0 else Any() for extent in shape]
        for name, shape in shapes.items()
    }
