"""Modules as text, line by line, and texts as edits of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import StringIO
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...lowering.kernel.printing import PlacePrinter, print_with_lines
from ...provenance.numbers import number_of
from ...provenance.span import fuse
from .document import Edit
from .states import Identity, identity, increasing

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Text:
    """A module as text."""

    lines: list[str]
    ops: list[int]
    """Per line the number of the first op that begins on it; 0 for a line on which none does."""
    locations: list[LocationAttr | None]
    """Per line the location of the ops that begin on it; None for a line of no op."""

    @staticmethod
    def of(text: str, lines: dict[Operation, int]) -> Text:
        """The text of ops that begin on `lines`, which count from 1."""
        texts = text.split("\n")
        ops = [0] * len(texts)
        locations: list[LocationAttr | None] = [None] * len(texts)
        for op, line in lines.items():
            if isinstance(op, ModuleOp):
                continue
            before = locations[line - 1]
            locations[line - 1] = op.location if before is None else fuse((before, op.location))
            ops[line - 1] = ops[line - 1] or number_of(op)
        return Text(texts, ops, locations)

    def keys(self) -> list[tuple[int, int]]:
        """A key for each line that finds it again in another text: its op, or that above it and how far above."""
        keys: list[tuple[int, int]] = []
        number = distance = 0
        for op in self.ops:
            number, distance = (op, 0) if op else (number, distance + 1)
            keys.append((number, distance))
        return keys


EMPTY = Text([], [], [])


@dataclass
class Names:
    """Names of values that stay what they are through all passes, so that a text differs where the program does."""

    names: dict[Identity, str] = field(default_factory=dict[Identity, str])
    used: set[str] = field(default_factory=set[str])
    counted: int = 0

    def of(self, value: SSAValue) -> str:
        """The name of a value, by its hint where no other value has that name."""
        key = identity(value)
        if (name := self.names.get(key)) is None:
            name = self.names[key] = self._fresh(value.name_hint)
            self.used.add(name)
        return name

    def _fresh(self, hint: str | None) -> str:
        if hint is not None and hint not in self.used:
            return hint
        while True:
            self.counted += 1
            name = f"{hint}_{self.counted}" if hint is not None else str(self.counted)
            if name not in self.used:
                return name


class _StagePrinter(PlacePrinter):
    """Prints with names that stay, and prints again only what changed."""

    def __init__(self, stream: StringIO, names: Names, texts: dict[int, tuple[int, str]]):
        super().__init__(stream)
        self.value_names = names
        self.op_texts = texts
        """Number of an op without regions -> its indentation and text, as long as it stays as it is."""

    def print_ssa_value(self, value: SSAValue) -> str:
        name = self.value_names.of(value)
        self.print_string(f"%{name}")
        return name

    def print_op(self, op: Operation) -> None:
        if op.regions:
            super().print_op(op)
            return
        number = number_of(op)
        start = self.text.tell()
        cached = self.op_texts.get(number)
        if cached is not None and cached[0] == self._indent:
            self.places.append((op, start))
            self.text.write(cached[1])
            return
        super().print_op(op)
        self.text.seek(start)
        self.op_texts[number] = self._indent, self.text.read()


@dataclass
class StagePrinter:
    """Prints the stages of one program, one after the other."""

    names: Names = field(default_factory=Names)
    texts: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])

    def __call__(self, root: Operation, stale: Iterable[int]) -> Text:
        """Print a module; of the ops `stale` the text is no longer what it was."""
        for number in stale:
            self.texts.pop(number, None)
        stream = StringIO()
        printer = _StagePrinter(stream, self.names, self.texts)
        printer.print_op(root)
        return Text.of(stream.getvalue(), printer.lines())


def plain_print(root: Operation, stale: Iterable[int]) -> Text:
    """Print a kernel as `why` shows it."""
    return Text.of(*print_with_lines(root))


Print = Callable[[Operation, Iterable[int]], Text]


def edits_of(before: Text, after: Text) -> list[Edit]:
    """Edits that make the lines of one text those of another, in order; in time linear, but for a logarithm."""
    old, new = before.lines, after.lines
    begin = 0
    shortest = min(len(old), len(new))
    while begin < shortest and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < shortest - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    old_end, new_end = len(old) - end, len(new) - end
    places = {key: line for line, key in enumerate(before.keys()[begin:old_end], begin)}
    pairs = [
        (source, line)
        for line, key in enumerate(after.keys()[begin:new_end], begin)
        if (source := places.get(key)) is not None and old[source] == new[line]
    ]
    anchors = [pairs[position] for position in increasing(source for source, _ in pairs)]
    edits: list[Edit] = []
    at, line = begin, begin
    for source, target in (*anchors, (old_end, new_end)):
        if source > at or target > line:
            edits.append((line, source - at, new[line:target]))
        at, line = source + 1, target + 1
    return edits


def pairs_of(column: Iterable[ItemT]) -> list[tuple[ItemT, int]]:
    """A column by run lengths: pairs of a value and how often it comes, one after the other."""
    runs: list[tuple[ItemT, int]] = []
    value: ItemT | None = None
    count = 0
    for item in column:
        if count and item == value:
            count += 1
            continue
        if count:
            runs.append((value, count))  # pyright: ignore[reportArgumentType]
        value, count = item, 1
    if count:
        runs.append((value, count))  # pyright: ignore[reportArgumentType]
    return runs
