"""Where an artifact came from, as bytes, so that a file can answer the questions that it can."""

from __future__ import annotations

import json
from typing import Any, cast

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, NameLoc, UnknownLoc

from ..lowering.cache import encode
from ..lowering.kernel.record import Kernel
from ..provenance.numbers import Value, number_of
from ..provenance.span import leaves, positions
from ..provenance.walk import walk
from .artifact import Artifact

PROVENANCE = "provenance"


def archived(artifact: Artifact) -> dict[str, bytes]:
    """The parts of a package that `restored_artifact` reads: modules, kernels, layers of calls, the ledger."""
    table, ops = _Locations(), _Numbers()
    plan, ledger = artifact.plan, artifact.ledger
    data = {
        "calls": [
            [table.number(call.location), [table.number(layer) for layer in call.layers]] for call in artifact.calls
        ],
        "returned": table.number(artifact.returned),
        "ledger": [
            [
                entry.pass_name,
                entry.pattern,
                entry.reason,
                entry.removed,
                entry.created,
                [table.number(location) for location in entry.before],
                [table.number(location) for location in entry.after],
                [ops.dense(number) for number in entry.sources],
                [ops.dense(number) for number in entry.targets],
                [[ops.value(old), ops.value(new) if new else None, move] for old, new, move in entry.moves],
            ]
            for entry in ledger.entries
        ],
        "copies": [[ops.dense(copy), ops.dense(op), when] for copy, (op, when) in ledger.copies.items()],
        "ops": [[ops.dense(number_of(op)) for op in walk(snapshot.module)] for snapshot in artifact.snapshots],
        "gives": [[table.number(leaf), index, *ops.value(value)] for (leaf, index), value in ledger.gives.items()],
        "op_types": [[table.number(leaf), text] for leaf, text in ledger.op_types.items()],
        "modules": [[table.number(leaf), text] for leaf, text in ledger.modules.items()],
        "aliases": [[name, list(map(table.number, tensors))] for name, tensors in ledger.aliases.items()],
        "code": [[*line, text] for line, text in ledger.code.items()],
        "plan": [plan.workspaces, plan.arena_bytes, plan.peak_bytes, plan.algorithm, plan.pools],
        "host": artifact.target.host,
        "tuned": {
            symbol: [dict(applied.decisions), applied.source, applied.ratio]
            for symbol, applied in artifact.tuned.items()
        },
    }
    data["numbered"] = len(ops.numbers)
    record: dict[str, object] = {
        "data": json.dumps(data | {"locations": table.rows}, ensure_ascii=False),
        "main_assembly": artifact.main_assembly,
        "main": artifact.main,
        "kernels": tuple(encode(vars(cast(Kernel, kernel))) for kernel in artifact.kernels),
        "stages": tuple(snapshot.stage for snapshot in artifact.snapshots),
    }
    record |= {f"module {snapshot.stage}": snapshot.text for snapshot in artifact.snapshots}
    return {PROVENANCE: encode(record)}


class _Numbers:
    """Numbers of ops from 1 in the order in which they are met: those of a process depend on what it did before."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def dense(self, number: int) -> int:
        return self.numbers.setdefault(number, len(self.numbers) + 1)

    def value(self, value: Value) -> tuple[int, int]:
        return self.dense(value[0]), value[1]


class _Locations:
    """Locations by number, each written once. Row: what `_leaf` says of a leaf; or numbers of leaves."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self.numbers: dict[LocationAttr, int] = {}

    def number(self, location: LocationAttr) -> int:
        """-1 for an unknown one."""
        if isinstance(location, UnknownLoc):
            return -1
        if (number := self.numbers.get(location)) is None:
            row = _leaf(location) if isinstance(location, NameLoc | FileLineColLoc) else self._fused(location)
            number = self.numbers[location] = len(self.rows)
            self.rows.append(row)
        return number

    def _fused(self, location: LocationAttr) -> list[Any]:
        return [self.number(leaf) for leaf in leaves(location)]


def _leaf(location: NameLoc | FileLineColLoc) -> list[Any]:
    """Name (None for a place alone); of the place, if any, file, line and column; files and lines of its callers."""
    row: list[Any] = [location.desc.data if isinstance(location, NameLoc) else None]
    for number, (file, line, column) in enumerate(positions(location)):
        row += [file, line] if number else [file, line, column]
    return row
