"""Packages as the artifacts that they were made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

from whence.lowering.cache import decode
from whence.lowering.kernel.record import Kernel
from whence.lowering.kernel.tuned import Applied
from whence.lowering.llvm_to_native.target import Target
from whence.planning.archive import PROVENANCE
from whence.planning.artifact import Artifact, Call, Snapshot
from whence.planning.lifetimes import Plan, PoolUse
from whence.provenance.ledger import Entry, Ledger
from whence.provenance.numbers import fresh_numbers, set_number
from whence.provenance.span import fuse, layer_location
from whence.provenance.walk import walk
from whence.reading.textio import context
from whence.runtime.moves import read_move
from whence.runtime.package import Package
from whence.runtime.saved_program import restored
from whence.support.errors import FrontendError, expectation


def artifact_of(package: Package, name: str) -> Artifact:
    """The artifact of a package. Its plan has no offsets, and parameters may be missing.

    Raises FrontendError when it is by another version, or has lost where it came from.
    """
    from whence.dialects.located_parser import LocatedParser

    try:
        record = cast("dict[str, Any]", decode(bytes(package.part(PROVENANCE))))
        data = cast("dict[str, Any]", json.loads(record["data"]))
        kernels = tuple(Kernel(**cast("dict[str, Any]", decode(kernel))) for kernel in record["kernels"])
    except (ValueError, KeyError, TypeError) as error:
        expected = "a model that this version exported, with where it came from"
        raise FrontendError(expectation(name, expected, str(error))) from error
    at = _locations(data["locations"])
    program = restored(package.head["program"])
    runs = zip(program.calls, data["calls"], strict=True)
    calls = tuple(Call(run, tuple(at[layer] for layer in layers), at[location]) for run, (location, layers) in runs)
    numbers = dict(enumerate(fresh_numbers(data["numbered"]), 1))
    workspaces, arena, peak, algorithm, pools = data["plan"]
    entries = [
        Entry(
            name,
            pattern,
            reason,
            tuple(removed),
            tuple(created),
            _all(at, before),
            _all(at, after),
            tuple(numbers[op] for op in sources),
            tuple(numbers[op] for op in targets),
            tuple(
                ((numbers[old[0]], old[1]), (numbers[new[0]], new[1]) if new else None, read_move(move))
                for old, new, move in moves
            ),
        )
        for name, pattern, reason, removed, created, before, after, sources, targets, moves in data["ledger"]
    ]
    gives = {(at[leaf], index): (numbers[op], result) for leaf, index, op, result in data["gives"]}
    copies = {numbers[copy]: (numbers[op], when) for copy, op, when in data["copies"]}
    snapshots = tuple(
        Snapshot(stage, LocatedParser(context(), record[f"module {stage}"], f"{name} ({stage})").parse_module())
        for stage in record["stages"]
    )
    for snapshot, rows in zip(snapshots, data["ops"], strict=True):
        for op, number in zip(walk(snapshot.module), rows, strict=True):
            set_number(op, numbers[number])
    head = package.head
    return Artifact(
        program=program,
        params=package.params(),
        calls=calls,
        plan=Plan({}, tuple(workspaces), arena, peak, algorithm, tuple(PoolUse(*pool) for pool in pools)),
        returned=at[data["returned"]],
        formulas=(),
        kernels=kernels,
        main=record["main"],
        target=Target(head["triple"], head["cpu"], head["features"], data["host"]),
        ledger=Ledger(
            entries,
            op_types={at[leaf]: text for leaf, text in data["op_types"]},
            modules={at[leaf]: text for leaf, text in data["modules"]},
            aliases={name: dict.fromkeys(_all(at, numbers)) for name, numbers in data["aliases"]},
            code={(file, line): text for file, line, text in data["code"]},
            gives=gives,
            copies=copies,
        ),
        snapshots=snapshots,
        main_assembly=record["main_assembly"],
        tuned={symbol: Applied(*applied) for symbol, applied in data["tuned"].items()},
    )


def _all(at: dict[int, LocationAttr], numbers: Sequence[int]) -> tuple[LocationAttr, ...]:
    return tuple(at[number] for number in numbers)


def _locations(rows: Sequence[Sequence[Any]]) -> dict[int, LocationAttr]:
    """Locations by number; -1 is the unknown one."""
    locations: dict[int, LocationAttr] = {-1: UNKNOWN_LOC}
    fused: list[int] = []
    for number, row in enumerate(rows):
        if not row or isinstance(row[0], int):
            fused.append(number)
            continue
        name, *position = row
        if name is None:
            locations[number] = FileLineColLoc(StringAttr(position[0]), IntAttr(position[1]), IntAttr(position[2]))
        elif position:
            callers = tuple(zip(position[3::2], position[4::2], strict=True))
            locations[number] = layer_location(name, position[0], position[1], position[2], callers)
        else:
            locations[number] = NameLoc(StringAttr(name), NoneAttr())
    for number in fused:
        locations[number] = fuse([locations[leaf] for leaf in rows[number]])
    return locations
