"""The shapes of a model's inputs as a user writes them, in the text form of TVM's command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index

from whence.dialects.sizes import Ranges, Size, proves, symbol
from whence.dialects.sizes.intervals import Range
from whence.dialects.sizes.text import parse_size
from whence.runtime.values.open_specs import OpenSpec
from whence.runtime.values.tensors import TensorSpec
from whence.support.errors import PipelineError
from whence.syntax.relay.type_view import Any as AnyExtent

ShapesByName = Mapping[str, Sequence[int | str | AnyExtent | None]]
"""Input name -> shape."""

InputShapes = ShapesByName | str
"""Input name -> shape, or the text of that, such as `data:[1,3,224,224] mask:[1,16]`.

An extent may be a size of symbols, `ids:[batch,past+seq]`, and have bounds, `seq<=512` or `1<=seq<=512`; bounds may
also stand beside the shapes, `ids:[batch,seq] seq<=512`. `-1`, `?`, None and `relay.Any()` are sizes of their own,
whatever a call brings.
"""

_ONE = re.compile(r"\s*([^\s\[\]]+)\s*:\s*\[([^\[\]]*)\]")
_BOUND = re.compile(r"\s*(?:(\d+)\s*<=\s*)?([^\W\d]\w*)\s*(?:(<=|>=)\s*(\d+))?")
_OPEN = ("-1", "?")
_EXAMPLE = '"data:[1,3,224,224] mask:[1,16]"'


@dataclass(frozen=True)
class GivenShapes:
    """The shapes of inputs, as a user writes them."""

    shapes: Mapping[str, tuple[Size, ...]]
    """Shapes by the names of inputs."""
    ranges: Ranges
    """Ranges of the symbols that have bounds."""
    left: frozenset[tuple[str, int]] = frozenset()
    """The axes, by the names of inputs, that the user leaves open: `-1` or `?`."""

    def named(self, inputs: Sequence[TensorSpec]) -> GivenShapes:
        """Return these shapes with the inputs' own names for open sizes, so that equal sizes stay equal."""
        names = {spec.name: spec.names for spec in inputs if isinstance(spec, OpenSpec)}

        def size_of(name: str, axis: int, size: Size) -> Size:
            axis_names = names.get(name, ())
            called = axis_names[axis] if (name, axis) in self.left and axis < len(axis_names) else None
            try:
                return parse_size(called) if called else size
            except ValueError:
                return size

        if not self.left:
            return self
        shapes = {
            name: tuple(size_of(name, axis, size) for axis, size in enumerate(shape))
            for name, shape in self.shapes.items()
        }
        return GivenShapes(shapes, self.ranges, self.left)

    @property
    def numbers(self) -> dict[str, tuple[int, ...]] | None:
        """The shapes; None when they contain symbols."""
        shapes = {name: numbers_in(shape) for name, shape in self.shapes.items()}
        numbers = {name: shape for name, shape in shapes.items() if shape is not None}
        return numbers if len(numbers) == len(shapes) else None


def numbers_in(shape: Sequence[Size]) -> tuple[int, ...] | None:
    """Return a shape as numbers; None when it contains symbols."""
    numbers = tuple(size for size in shape if isinstance(size, int))
    return numbers if len(numbers) == len(shape) else None


def parse_input_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Return the result of `input_shapes_of` for a text."""
    return input_shapes_of(text)


def _parsed(text: str) -> GivenShapes:
    """Parse the shapes and bounds of a text, `name:[extent,..]` and `seq<=512`, separated by blanks.

    Names may hold colons and slashes. Raises PipelineError for another text, and for a repeated name.
    """
    collected, at = _Given(), 0
    while at < len(text.rstrip()) or not (collected.shapes or collected.ranges):
        if (match := _ONE.match(text, at)) is not None:
            parts = match[2].split(",") if match[2].strip() else []
            if match[1] in collected.shapes:
                raise PipelineError(f"input shapes: expected one shape of '{match[1]}', got two")
            around = text[at:].strip()
            collected.shapes[match[1]] = tuple(
                collected.extent(part, around, match[1], axis) for axis, part in enumerate(parts)
            )
        elif (match := _BOUND.match(text, at)) is not None and (match[1] or match[3]):
            collected.bound(match)
        else:
            raise PipelineError(f"input shapes: expected text such as {_EXAMPLE}, got {text[at:].strip()!r}")
        at = match.end()
    return collected.done()


def given_shapes(shapes: InputShapes) -> GivenShapes:
    """Return shapes and bounds; raises PipelineError for other text, and for extents that are no integers or sizes."""
    if isinstance(shapes, str):
        return _parsed(shapes)
    collected = _Given()
    try:
        for name, shape in shapes.items():
            collected.shapes[name] = tuple(
                collected.extent(_text(extent), repr(shapes), name, axis) for axis, extent in enumerate(shape)
            )
    except TypeError as error:
        raise PipelineError(f"input shapes: expected extents by the names of inputs, got {shapes!r}") from error
    return collected.done()


def input_shapes_of(input_shapes: InputShapes) -> dict[str, tuple[int, ...]]:
    """Return input name -> shape, of numbers; raises PipelineError as `given_shapes` does, and for symbols."""
    shapes = given_shapes(input_shapes)
    if (numbers := shapes.numbers) is None:
        raise PipelineError(f"input shapes: expected numbers, got sizes that a call decides in {input_shapes!r}")
    return numbers


def _text(extent: int | str | AnyExtent | None) -> str:
    """Return the text of an extent; raises TypeError for another value."""
    if extent is None or isinstance(extent, AnyExtent):
        return _OPEN[0]
    return extent if isinstance(extent, str) else str(index(extent))


class _Given:
    """Shapes and bounds so far."""

    def __init__(self) -> None:
        self.shapes: dict[str, tuple[Size, ...]] = {}
        self.ranges: dict[str, Range] = {}
        self.left: set[tuple[str, int]] = set()

    def extent(self, text: str, around: str, name: str, axis: int) -> Size:
        """Return the extent of an axis of an input from its text; errors show `around`."""
        if text.strip() in _OPEN:
            self.left.add((name, axis))
            return symbol(f"{re.sub(r'[^0-9a-zA-Z_]', '_', name).lstrip('0123456789') or 'input'}_axis{axis}")
        try:
            if "<=" not in text and ">=" not in text:
                size = parse_size(text)
                if not proves(size, "<", 0):
                    return size
                raise ValueError(f"got {size} elements")
            if (match := _BOUND.fullmatch(text.strip())) is not None:
                self.bound(match)
                return symbol(match[2])
        except ValueError as error:
            raise PipelineError(f"input shapes: expected text such as {_EXAMPLE}, got {around!r}: {error}") from error
        raise PipelineError(f"input shapes: expected text such as {_EXAMPLE}, got {around!r}")

    def bound(self, match: re.Match[str]) -> None:
        low, high = self.ranges.get(match[2], (0, None))
        if match[1]:
            low = max(low or 0, int(match[1]))
        if match[3] == "<=":
            high = int(match[4]) if high is None else min(high, int(match[4]))
        elif match[3] == ">=":
            low = max(low or 0, int(match[4]))
        if high is not None and (low or 0) > high:
            raise PipelineError(f"input shapes: expected bounds of {match[2]} that a number keeps, got {low} to {high}")
        self.ranges[match[2]] = low, high

    def done(self) -> GivenShapes:
        return GivenShapes(self.shapes, self.ranges, frozenset(self.left))
