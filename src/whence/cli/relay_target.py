"""The target of whence-opt that prints Relay text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from whence.syntax.relay.view import view
from whence.syntax.text import astext


@dataclass(frozen=True)
class RelayText(Target):
    """A relay module in TVM's text format; without `metadata` tensors are not shown."""

    name = "relay"
    metadata: bool = True

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(astext(view(module), show_meta_data=self.metadata).rstrip("\n") + "\n")
