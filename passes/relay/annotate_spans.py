"""relay-annotate-spans: locations include the position of an op in the module's text."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from ...provenance.span import fuse

SOURCE = StringAttr("GeneratedSource")


class _Text(StringIO):
    """Text that knows where it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.line, self.column = 1, 1

    def write(self, text: str, /) -> int:
        if lines := text.count("\n"):
            self.line += lines
            self.column = 1
        self.column += len(text) - text.rfind("\n") - 1
        return len(text)


class _Places(Printer):
    """A printer that keeps where each op begins; it writes nothing."""

    def __init__(self) -> None:
        self._text = _Text()
        super().__init__(self._text)
        self.found: dict[Operation, tuple[int, int]] = {}

    def print_op(self, op: Operation) -> None:
        self.found[op] = self._text.line, self._text.column
        super().print_op(op)


@dataclass(frozen=True)
class AnnotateSpansPass(ModulePass):
    """Adds the position of ops in the printed module to their locations, as TVM's AnnotateSpans (level 0).

    Line and column, from 1, are those in the text of the module as it is printed without locations; the source has
    TVM's name for it. (TVM forgets what was there.)

    Before: any module.
    After: the same.
    Locations: each op gets its place in the text behind its layers.

    ```mlir
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      relay.return %0 : tensor<4xf32> loc("end")
    } loc("main")
    // becomes
    relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
      %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc(fused["a", "GeneratedSource":3:5])
      relay.return %0 : tensor<4xf32> loc(fused["end", "GeneratedSource":4:5])
    } loc(fused["main", "GeneratedSource":2:3])
    ```
    """

    name = "relay-annotate-spans"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        printer = _Places()
        printer.print_op(op)
        for inner, (line, column) in printer.found.items():
            if inner is not op:
                inner.location = fuse([inner.location, FileLineColLoc(SOURCE, IntAttr(line), IntAttr(column))])
