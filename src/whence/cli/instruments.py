"""The instruments of whence-opt around every pass: timer, audit, snapshots of the module after it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.printer import Printer

from whence.explorer.report import percent, table
from whence.planning.artifact import Snapshot
from whence.planning.snapshots import PassSnapshots, SnapshotFolder
from whence.provenance.audit import check_explained, check_located, coverage, surviving_leaves, unexplained
from whence.provenance.ledger import Ledger
from whence.support.instrument import PassInfo, PassInstrument


@dataclass
class Timer(PassInstrument):
    """Seconds per pass, in the order they ran."""

    passes: list[tuple[str, float]] = field(default_factory=lambda: list[tuple[str, float]]())

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        self.passes.append((info.name, info.seconds))

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
    located: float
    """The fraction of ops whose layers are known."""
    layers: int
    explained: int
    lost: int


@dataclass
class Audit(PassInstrument):
    """After each pass: every op has a location, and every layer that vanished is in the ledger."""

    ledger: Ledger
    rows: list[_Audited] = field(default_factory=lambda: list[_Audited]())
    before: set[LocationAttr] = field(default_factory=lambda: set[LocationAttr]())

    def look(self, module: ModuleOp, name: str) -> None:
        """Record the locations of `module` after the pass `name`."""
        after = surviving_leaves(module)
        ops = sum(not isinstance(op, ModuleOp) for op in module.walk())
        lost = len(unexplained(self.before, after, self.ledger))
        explained = len(self.before - after) - lost
        self.rows.append(_Audited(name, ops, coverage([module]), len(after), explained, lost))
        self.before = after

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        """Raises LocationError when an op has no location or a layer vanished unexplained."""
        assert isinstance(mod, ModuleOp)
        before = self.before
        self.look(mod, info.name)
        check_located(mod, info.name)
        check_explained(before, mod, info.name, self.ledger)

    def text(self) -> str:
        """A table: ops, how many are located, leaves that they name, leaves that the ledger explains, or nobody."""
        rows = [(row.ops, percent(row.located), row.layers, row.explained, row.lost, row.name) for row in self.rows]
        return table(rows, ("ops", "located", "leaves", "explained", "lost", "after"))


@dataclass
class WrittenSnapshots(PassSnapshots):
    """Snapshots that are written into a folder at once instead of kept."""

    folder: SnapshotFolder = field(kw_only=True)

    def kernel(self, mod: Operation) -> str:
        """Return "": the input is one module, of kernels or not."""
        return ""

    def keep(self, snapshot: Snapshot) -> None:
        self.folder.write(snapshot)


class Verifier(PassInstrument):
    """Verifies the module after each pass."""

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        mod.verify()


@dataclass
class BetweenPasses(PassInstrument):
    """An instrument that prints the module after each of `passes` passes except the last."""

    passes: int
    with_locations: bool

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        self.passes -= 1
        if self.passes:
            print(f"IR after {info.name}:")
            Printer(sys.stdout, print_debuginfo=self.with_locations).print_op(mod)
            print("\n\n\n")


def complain(texts: Iterable[str]) -> None:
    """Print reports on stderr, where they do not mix with the module."""
    for text in texts:
        print(text, file=sys.stderr)
