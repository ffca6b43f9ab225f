"""The origins of an artifact as bytes, so that a file can answer the same questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)

from ..lowering.cache import decode, encode
from ..lowering.kernel.record import Kernel
from ..lowering.kernel.tuned import Applied
from ..provenance.ledger import Ledger
from ..provenance.numbers import OpNumber, fresh_numbers, number_of
from ..provenance.span import Position, fuse, layer_location, leaves, positions
from ..provenance.walk import walk
from ..support.codec import JSON, Codec, Leaf
from .artifact import Artifact
from .lifetimes import Plan

PROVENANCE = "provenance"
T = TypeVar("T")


@dataclass(frozen=True)
class CallOrigin:
    """The locations of a call, as `artifact.Call` has them."""

    location: LocationAttr
    layers: tuple[LocationAttr, ...]


@dataclass(frozen=True)
class History:
    """The parts of an artifact that contain locations and ops."""

    calls: tuple[CallOrigin, ...]
    returned: LocationAttr
    ledger: Ledger
    ops: tuple[tuple[OpNumber, ...], ...]
    """Per snapshot the numbers of its ops, in the order of a walk."""


@dataclass(frozen=True)
class Rest:
    """The facts of an artifact that need no tables."""

    plan: Plan
    """Without offsets."""
    host: bool
    """True if its target is the machine that compiled it."""
    tuned: dict[str, Applied]


@dataclass(frozen=True)
class _Leaf:
    """A location of one layer or place."""

    name: str | None
    """None of a place alone."""
    positions: tuple[Position, ...]
    """Its position, if known, and then the calls that led there."""

    @staticmethod
    def of(location: NameLoc | FileLineColLoc) -> _Leaf:
        return _Leaf(location.desc.data if isinstance(location, NameLoc) else None, positions(location))

    @property
    def location(self) -> LocationAttr:
        if self.name is None:
            (at,) = self.positions
            return FileLineColLoc(StringAttr(at.file), IntAttr(at.line), IntAttr(at.column))
        if not self.positions:
            return NameLoc(StringAttr(self.name), NoneAttr())
        at, *callers = self.positions
        return layer_location(self.name, *at, tuple((caller.file, caller.line) for caller in callers))


@dataclass(frozen=True)
class LayerFate:
    """A layer of a program in which values decide, and what runs it."""

    name: str
    leaf: LocationAttr
    type: str
    """The source's name of its operator."""
    module: str = ""
    """The path of the module it is of, where the source says so."""
    step: str = ""
    """The operator that the interpreter runs for it; "" for a layer that is only in compiled code."""
    reached: bool = True
    """False if it is in code that was not compiled, as no call came to it."""


@dataclass(frozen=True)
class Fates:
    """The layers of a program in which values decide, in order."""

    interpreter: str
    """The name of what runs its steps."""
    kind: Literal["interpreted", "virtual machine"]
    reason: str
    """The kind of program, and the reason for it."""
    layers: tuple[LayerFate, ...]


@dataclass(frozen=True)
class _Tables:
    """A history, and the locations and ops that it names by number."""

    locations: tuple[_Leaf | tuple[int, ...], ...]
    """Each once; of a fused location the numbers of its leaves."""
    ops: int
    """The number of ops, which count from 1."""
    history: Any


def archived(artifact: Artifact) -> dict[str, bytes]:
    """The parts of a package that `restored_artifact` reads: modules, kernels, layers of calls, the ledger."""
    history = History(
        calls=tuple(CallOrigin(call.location, call.layers) for call in artifact.calls),
        returned=artifact.returned,
        ledger=artifact.ledger,
        ops=tuple(tuple(number_of(op) for op in walk(snapshot.module)) for snapshot in artifact.snapshots),
    )
    rest = Rest(replace(artifact.plan, offsets={}), artifact.target.host, dict(artifact.tuned))
    record: dict[str, object] = {
        "history": JSON.text(_numbered(history)),
        "rest": JSON.text(rest),
        "main_assembly": artifact.main_assembly,
        "main": artifact.main,
        "kernels": tuple(encode(vars(cast(Kernel, kernel))) for kernel in artifact.kernels),
        "stages": tuple(snapshot.stage for snapshot in artifact.snapshots),
    }
    record |= {f"module {snapshot.stage}": snapshot.text for snapshot in artifact.snapshots}
    return {PROVENANCE: encode(record)}


@dataclass(frozen=True)
class Archive:
    """An archive that was read."""

    history: History
    rest: Rest
    kernels: tuple[Kernel, ...]
    main: bytes
    main_assembly: str
    modules: dict[str, str]
    """Stage -> the text of the module after it, in order."""

    @staticmethod
    def of(data: bytes, title: str) -> Archive:
        """Read what `archived` wrote; its ops get numbers that are free in this process.

        Raises ValueError, KeyError, TypeError or FrontendError, which begins with `title`, for anything else.
        """
        record = cast("dict[str, Any]", decode(data))
        return Archive(
            history=_resolved(JSON.decode(_Tables, json.loads(record["history"]), title), title),
            rest=JSON.decode(Rest, json.loads(record["rest"]), title),
            kernels=tuple(Kernel(**cast("dict[str, Any]", decode(kernel))) for kernel in record["kernels"]),
            main=record["main"],
            main_assembly=record["main_assembly"],
            modules={stage: record[f"module {stage}"] for stage in record["stages"]},
        )


FATES = Codec(
    {
        LocationAttr: Leaf(
            *("location", frozenset([dict])),
            reader=lambda row: JSON.decode(_Leaf, row, "location").location,
            writer=lambda leaf: JSON.encode(_Leaf.of(leaf)),
            type=LocationAttr,
        )
    }
)
"""The codec of `Fates`."""


def _codec(
    location: Callable[[Any], Any] | None = None,
    op: Callable[[Any], Any] | None = None,
    *,
    to_location: Callable[[Any], Any] | None = None,
    to_op: Callable[[Any], Any] | None = None,
) -> Codec:
    """Return a codec of locations and ops by number."""
    numbers = frozenset([int])
    return Codec(
        {
            LocationAttr: Leaf("number of a location", numbers, reader=to_location, writer=location, type=LocationAttr),
            OpNumber: Leaf("number of an op", numbers, reader=to_op, writer=op, type=int),
        }
    )


def _numbered(history: History) -> _Tables:
    """Number ops from 1 in the order in which they are met: those of a process depend on what it did before."""
    ops: dict[int, int] = {}
    rows: list[_Leaf | tuple[int, ...]] = []
    numbers: dict[LocationAttr, int] = {}

    def location(value: LocationAttr) -> int:
        """-1 for an unknown one."""
        if isinstance(value, UnknownLoc):
            return -1
        if (number := numbers.get(value)) is None:
            is_leaf = isinstance(value, NameLoc | FileLineColLoc)
            row = _Leaf.of(value) if is_leaf else tuple(location(leaf) for leaf in leaves(value))
            number = numbers[value] = len(rows)
            rows.append(row)
        return number

    codec = _codec(location, lambda number: ops.setdefault(number, len(ops) + 1))
    data = codec.encode(history)
    return _Tables(tuple(rows), len(ops), data)


def _resolved(tables: _Tables, title: str) -> History:
    locations: dict[int, LocationAttr] = {-1: UNKNOWN_LOC}
    for number, row in enumerate(tables.locations):
        # The leaves of a fused location come before it.
        locations[number] = row.location if isinstance(row, _Leaf) else fuse([locations[leaf] for leaf in row])
    numbers = (0, *fresh_numbers(tables.ops))
    codec = _codec(to_location=locations.__getitem__, to_op=numbers.__getitem__)
    return codec.decode(History, tables.history, title)
