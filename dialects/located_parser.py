"""Parsing text of our dialects so that an op without a location is located where it stands, as mlir-opt does it."""

from __future__ import annotations

from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.traits import OpTrait

from ..provenance.diagnostics import fail
from ..support.errors import FrontendError
from ..support.nesting import DEEPEST, too_deep
from .location_text import LocationParser


def check_visible(module: ModuleOp) -> None:
    """Raise VerifyException for an op that reads what no block around it makes, or makes only after it.

    xDSL does not ask, and passes walk blocks from their begin. Between blocks of one region nothing is said.
    """
    met = set[Operation]()
    for op in module.walk():
        met.add(op)
        for operand in op.operands:
            home = operand.owner
            block = home.parent if isinstance(home, Operation) else home
            reader: Operation | None = op
            while reader is not None and (
                reader.parent is None or reader.parent.parent is not (block and block.parent)
            ):
                reader = reader.parent_op()
            is_later = isinstance(home, Operation) and (home not in met or home is reader)
            if reader is None or (reader.parent is block and is_later):
                fail(op, "operands that an op before it makes", _named(operand))


def _named(value: SSAValue) -> str:
    maker = value.owner.name if isinstance(value.owner, Operation) else "a block"
    return f"'{value.name_hint}' of {maker}" if value.name_hint else f"a value of {maker}"


class LocatesItsBody(OpTrait):
    """The text of an op may stand for ops of its regions, too: such ops are at the location of the op."""


class LocatedParser(LocationParser):
    """xDSL's parser, which takes all forms of locations.

    Ops whose text says no location get `loc("file":line:column)` of their first token.
    A `loc(unknown)` that is spelled stays unknown: whoever printed it had lost the location.
    """

    def __init__(self, ctx: Context, text: str, name: str, lines_above: int = 0):
        """lines_above: how many lines of the file come before the text, as before a later chunk of it.

        Raises FrontendError for text that nests too deep.
        """
        if (position := too_deep(text)) is not None:
            at = f"{name}:{lines_above + position[0]}:{position[1]}"
            raise FrontendError(f"{at}: expected at most {DEEPEST} brackets in each other, got more")
        super().__init__(ctx, text, name)
        self._above = lines_above
        self._file = StringAttr(name)
        self._lines = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]
        self._spelled = False

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse a module in which every value is defined before its use; raises ParseError for another text."""
        try:
            module = super().parse_module(allow_implicit_module)
        except (ArithmeticError, ValueError) as error:  # a number that its type does not hold
            self.raise_error(str(error))
        check_visible(module)
        return module

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
        if op.has_trait(LocatesItsBody):
            for inner in op.walk():
                if isinstance(inner.location, UnknownLoc):
                    inner.location = op.location
        return op
