"""What whence-opt does around every pass: time it, audit it, keep the module as it was after it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from whence.explorer.report import percent, table
from whence.provenance.audit import check_explained, check_located, surviving_leaves, unlocated
from whence.provenance.ledger import Ledger
from whence.support.errors import PipelineError


@dataclass
class Timer:
    """Seconds per pass, in the order they ran."""

    passes: list[tuple[str, float]] = field(default_factory=lambda: list[tuple[str, float]]())

    @contextmanager
    def time(self, one: ModulePass) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.passes.append((one.name, time.perf_counter() - start))

    def text(self) -> str:
        """A table of milliseconds and shares."""
        total = sum(seconds for _, seconds in self.passes)
        rows = [(f"{1e3 * s:.2f}", percent(s / total) if total else "", name) for name, s in self.passes]
        return table([*rows, (f"{1e3 * total:.2f}", "", "in all")], ("ms", "share", "pass"))

    def json(self) -> str:
        """`{"passes": [{"name": .., "seconds": ..}, ..], "seconds": ..}`."""
        rows = [{"name": name, "seconds": seconds} for name, seconds in self.passes]
        return json.dumps({"passes": rows, "seconds": sum(seconds for _, seconds in self.passes)})


@dataclass(frozen=True)
class _Audited:
    name: str
    ops: int
    located: int
    layers: int
    explained: int


@dataclass
class Audit:
    """After each pass: every op has a location, and every layer that vanished is in the ledger."""

    rows: list[_Audited] = field(default_factory=lambda: list[_Audited]())
    before: set[LocationAttr] = field(default_factory=lambda: set[LocationAttr]())

    def look(self, module: ModuleOp, name: str, ledger: Ledger | None) -> None:
        """Take stock of `module` after `name`; without a ledger (the input) nothing can have vanished.

        Raises LocationError when an op has no location or a layer vanished unexplained.
        """
        after = surviving_leaves(module)
        ops = sum(not isinstance(op, ModuleOp) for op in module.walk())
        self.rows.append(_Audited(name, ops, ops - len(unlocated(module)), len(after), len(self.before - after)))
        if ledger is not None:
            check_located(module, name)
            check_explained(self.before, module, name, ledger)
        self.before = after

    def text(self) -> str:
        """A table: ops, how many are located, leaves that they name, leaves that the ledger explains."""
        rows = [
            (row.ops, percent(row.located / row.ops) if row.ops else "100 %", row.layers, row.explained, row.name)
            for row in self.rows
        ]
        return table(rows, ("ops", "located", "leaves", "explained", "after"))


@dataclass
class Snapshots:
    """A folder of `00-input.mlir`, `01-<pass>.mlir`, ..., with locations."""

    folder: Path
    count: int = 0

    def write(self, module: ModuleOp, name: str) -> None:
        """Write the next snapshot; raises PipelineError when that is impossible."""
        path = self.folder / f"{self.count:02}-{name}.mlir"
        self.count += 1
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(path, "w") as stream:
                Printer(stream, print_debuginfo=True).print_op(module)
                stream.write("\n")
        except OSError as error:
            raise PipelineError(f"--snapshot-dir: {path}: {error.strerror}") from error


def complain(texts: Iterable[str]) -> None:
    """Print reports on stderr, where they do not mix with the module."""
    for text in texts:
        print(text, file=sys.stderr)
