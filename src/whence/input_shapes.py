"""The shapes of a model's inputs as a user writes them, in the text form of TVM's command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import index

from whence.support.errors import PipelineError

InputShapes = Mapping[str, Sequence[int]] | str
"""Input name -> shape, or the text of that, such as `data:[1,3,224,224] mask:[1,16]`."""

_ONE = re.compile(r"\s*([^\s\[\]]+)\s*:\s*\[([^\[\]]*)\]")
_EXTENT = re.compile(r"\s*(\d+)\s*")
_EXAMPLE = '"data:[1,3,224,224] mask:[1,16]"'


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Input name -> shape, of `name:[extent,..]` separated by blanks. Names may hold colons and slashes.

    Raises PipelineError for what is not such a text, and for a name that is given twice.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    at = 0
    while at < len(text.rstrip()) or not shapes:
        found = _ONE.match(text, at)
        parts = found[2].split(",") if found is not None and found[2].strip() else []
        if found is None or not all(_EXTENT.fullmatch(part) for part in parts):
            raise PipelineError(f"input shapes: expected text such as {_EXAMPLE}, got {text[at:].strip()!r}")
        if found[1] in shapes:
            raise PipelineError(f"input shapes: expected one shape of '{found[1]}', got two")
        shapes[found[1]] = tuple(map(int, parts))
        at = found.end()
    return shapes


def input_shapes_of(given: InputShapes) -> dict[str, tuple[int, ...]]:
    """Input name -> shape; raises PipelineError for another text and for extents that are no integers."""
    if isinstance(given, str):
        return parse_input_shapes(given)
    try:
        return {name: tuple(map(index, shape)) for name, shape in given.items()}
    except TypeError as error:
        raise PipelineError(f"input shapes: expected extents by the names of inputs, got {given!r}") from error
