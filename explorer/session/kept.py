"""Recorded kernels, kept in the kernel cache: another session takes their rows, and lowers none of them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from ...lowering.cache import KernelCache, decode, encode
from ...lowering.fingerprint import fingerprint, native_key
from ...lowering.kernel.record import Kernel as Compiled
from ...support.errors import FrontendError
from .builder import Builder
from .document import DOCUMENT, Body, Diff, Events, Kernel, Ops, PassRun, Schedule, Stage
from .ranges import Columns

RowsT = TypeVar("RowsT", "KernelRows", Schedule)


@dataclass
class KernelRows:
    """The rows of one kernel, whose indexes are those of a session without other rows."""

    kernel: Kernel
    stages: list[Stage]
    passes: list[PassRun]
    ops: Ops
    events: Events


class KeptKernels:
    """Rows and films of kernels, found by all that the kernel cache has of a kernel, and by the sources of Whence."""

    def __init__(self, cache: KernelCache | None = None) -> None:
        """cache: the folder of the kernel cache by default."""
        self._cache = cache or KernelCache()

    def rows(self, kernel: Compiled) -> KernelRows | None:
        """Return the rows of a kernel, if they are kept."""
        return self._get(_key(kernel, "rows"), KernelRows)

    def keep_rows(self, kernel: Compiled, rows: KernelRows) -> None:
        self._put(_key(kernel, "rows"), rows)

    def film(self, kernel: Compiled, about: str) -> Schedule | None:
        """Return the film of a kernel, if it is kept; about: what shapes it besides, as text."""
        return self._get(_key(kernel, about), Schedule)

    def keep_film(self, kernel: Compiled, about: str, film: Schedule) -> None:
        self._put(_key(kernel, about), film)

    def _get(self, key: str, kind: type[RowsT]) -> RowsT | None:
        if (data := self._cache.get(key)) is None:
            return None
        try:
            return DOCUMENT.decode(kind, json.loads(str(decode(data)["rows"])), "kernel")
        except (FrontendError, ValueError, KeyError):  # bytes that are no record, or no rows
            return None

    def _put(self, key: str, rows: KernelRows | Schedule) -> None:
        self._cache.put(key, encode({"rows": DOCUMENT.text(rows)}))


@cache
def _sources() -> str:
    return fingerprint(Path(__file__).parents[2], ("explorer", "planning"))


def _key(kernel: Compiled, about: str) -> str:
    """Return the cache key of what a session has of a kernel; the symbol has a part of the kernel's own key."""
    texts = kernel.te, kernel.schedule, kernel.tir, kernel.llvm, kernel.assembly, kernel.refusal
    digest = hashlib.sha256("\0".join(texts).encode())
    return native_key(_sources(), about, kernel.symbol, str(kernel.decisions), digest.hexdigest())


def rows_of(builder: Builder) -> KernelRows:
    """Return what a builder has that was made for one kernel."""
    session = builder.session
    return KernelRows(session.kernels[0], session.stages, session.passes, session.ops, session.events)


def add_rows(builder: Builder, rows: KernelRows, program: int) -> Kernel:
    """Append a kernel with its stages, runs of passes, ops and events; return its row."""
    session = builder.session
    kernel, stage, run = len(session.kernels), len(session.stages), len(session.passes)
    op, event = len(session.ops.name), len(session.events.run)
    row = replace(rows.kernel, program=program, stages=_moved(rows.kernel.stages, stage))
    session.kernels.append(row)
    for each in rows.stages:
        diff = None
        if each.diff is not None:
            parts = each.diff.new, each.diff.gone, each.diff.changed, each.diff.moved
            diff = Diff(*(_moved(part, op) for part in parts))
        (before,) = _moved([each.before], stage)
        body = _moved_body(each.body, stage, op)
        session.stages.append(replace(each, program=program, kernel=kernel, before=before, diff=diff, body=body))
    for each in rows.passes:
        session.passes.append(replace(each, program=program, kernel=kernel, stage=each.stage + stage))
    events = replace(
        rows.events,
        run=_moved(rows.events.run, run),
        sources=[_moved(ops, op) for ops in rows.events.sources],
        targets=[_moved(ops, op) for ops in rows.events.targets],
    )
    _extend(session.events, events)
    copied_at = [at + event if of >= 0 else at for of, at in zip(rows.ops.copied_from, rows.ops.copied_at, strict=True)]
    _extend(session.ops, replace(rows.ops, copied_from=_moved(rows.ops.copied_from, op), copied_at=copied_at))
    return row


def _extend(table: Columns, rows: Columns) -> None:
    for column in fields(table):  # pyright: ignore[reportArgumentType]
        getattr(table, column.name).extend(getattr(rows, column.name))


def _moved_body(body: Body, stage: int, op: int) -> Body:
    ops = body.ops.copy()
    ops[::2] = _moved(ops[::2], op)
    (base,) = _moved([body.base], stage)
    return replace(body, base=base, ops=ops)


def _moved(rows: Iterable[int], by: int) -> list[int]:
    """Return indexes behind `by` other rows; -1 for none stays."""
    return [row + by if row >= 0 else row for row in rows]
