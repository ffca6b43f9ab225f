"""IR as text, the line of each op in it, and the slots of each line."""

from __future__ import annotations

from io import StringIO

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from ...provenance.span import fuse
from .slots import own_places, slots_of


class _TextPrinter(Printer):
    """Prints what xDSL's does, in two thirds of the time: most attributes of a kernel occur again and again."""

    def __init__(self, stream: StringIO):
        super().__init__(stream)
        self._texts: dict[int, tuple[Attribute, str]] = {}
        """Per attribute, by identity: hashing one takes as long as printing it."""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
        elif self.stream is not None:
            self._current_column += len(text)
            self.stream.write(text)

    def print_attribute(self, attribute: Attribute) -> None:
        if (cached := self._texts.get(id(attribute))) is not None:
            self.print_string(cached[1])
        elif (stream := self.stream) is not None:
            start = stream.tell()
            super().print_attribute(attribute)
            stream.seek(start)
            if "\n" not in (text := stream.read()):
                self._texts[id(attribute)] = attribute, text


def printed(op: Operation) -> str:
    stream = StringIO()
    _TextPrinter(stream).print_op(op)
    return stream.getvalue()


class PlacePrinter(_TextPrinter):
    """Remembers the character at which each op starts, in order."""

    def __init__(self, stream: StringIO):
        super().__init__(stream)
        self.text = stream
        self.places: list[tuple[Operation, int]] = []

    def print_op(self, op: Operation) -> None:
        self.places.append((op, self.text.tell()))
        super().print_op(op)

    def lines(self) -> dict[Operation, int]:
        """For each op that was printed the line (from 1) on which it starts."""
        text = self.text.getvalue()
        lines: dict[Operation, int] = {}
        line, before = 1, 0
        for op, offset in self.places:
            line += text.count("\n", before, offset)
            lines[op], before = line, offset
        return lines


def print_with_lines(op: Operation) -> tuple[str, dict[Operation, int]]:
    """The text of `op` and, for it and every op in it, the line (from 1) on which it starts."""
    stream = StringIO()
    printer = PlacePrinter(stream)
    printer.print_op(op)
    return stream.getvalue(), printer.lines()


def located_lines(text: str, lines: dict[Operation, int]) -> list[list[LocationAttr]]:
    """Per line of `text` the locations of the ops that start on it."""
    table: list[list[LocationAttr]] = [[] for _ in range(text.count("\n") + 1)]
    for op, line in lines.items():
        table[line - 1].append(op.location)
    return table


def line_table(text: str, lines: dict[Operation, int]) -> tuple[tuple[int, ...], ...]:
    """Per line of `text` the slots of the ops that start on it."""
    return tuple(slots_of(fuse(locations)) for locations in located_lines(text, lines))


def own_lines(text: str, lines: dict[Operation, int]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Lines of `text` and the places of the ops that start on it, where an operator of a user brought them along."""
    places = (own_places(fuse(locations)) for locations in located_lines(text, lines))
    return tuple((line, own) for line, own in enumerate(places, 1) if own)
