"""Parsing text of our dialects so that an op without a location is located where it stands, as mlir-opt does it."""

from __future__ import annotations

from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser

from whence.support.errors import FrontendError
from whence.support.nesting import DEEPEST, too_deep


class LocatedParser(Parser):
    """xDSL's parser; ops whose text says no location get `loc("file":line:column)` of their first token.

    A `loc(unknown)` that is spelled stays unknown: whoever printed it had lost the location.
    """

    def __init__(self, ctx: Context, text: str, name: str, lines_above: int = 0):
        """lines_above: how many lines of the file come before the text, as before a later chunk of it.

        Raises FrontendError for text that nests too deep.
        """
        if (place := too_deep(text)) is not None:
            at = f"{name}:{lines_above + place[0]}:{place[1]}"
            raise FrontendError(f"{at}: expected at most {DEEPEST} brackets in each other, got more")
        super().__init__(ctx, text, name)
        self._above = lines_above
        self._file = StringAttr(name)
        self._lines = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
        self._spelled = False

    def parse_optional_location(self) -> LocationAttr | None:
        location = super().parse_optional_location()
        self._spelled = location is not None
        return location

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        # The last location that was asked for is the one behind this op; those of its regions came before.
        if not self._spelled and isinstance(op.location, UnknownLoc):
            line = bisect_right(self._lines, start)
            op.location = FileLineColLoc(
                self._file, IntAttr(self._above + line), IntAttr(start - self._lines[line - 1] + 1)
            )
        self._spelled = False
        return op
