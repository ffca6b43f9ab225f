"""The sessions of a server, the oldest dropped when there are too many, and the parts of them that pages load."""

from __future__ import annotations

import gzip
import threading
from collections import OrderedDict
from dataclasses import dataclass

from whence.explorer.session.document import Session
from whence.explorer.session.parts import head, schedule_part, stage_part
from whence.explorer.session.query.part import tables_part
from whence.exploring.request import Request

MOST = 8
"""Sessions that are kept."""
MOST_BYTES = 256 << 20
"""The most bytes of gzipped parts that are kept for repeated requests."""


@dataclass(frozen=True)
class Kept:
    """A session and its model."""

    number: int
    session: Session
    request: Request | None
    """None for a document from a file, which cannot be compiled again."""
    about: str
    """The differences from the previous session."""


class Store:
    """Sessions by number, counting from 1."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, Kept] = {}
        self._count = 0
        self._parts: OrderedDict[tuple[int, str, int], bytes] = OrderedDict()

    def add(self, session: Session, request: Request | None, about: str) -> int:
        """Keep a session; return its number."""
        with self._lock:
            self._count += 1
            self._kept[self._count] = Kept(self._count, session, request, about)
            while len(self._kept) > MOST:
                del self._kept[min(self._kept)]
            for key in [key for key in self._parts if key[0] not in self._kept]:
                del self._parts[key]
            return self._count

    def get(self, number: int) -> Kept:
        """Return a session, the last one for 0; raises KeyError where it is not there."""
        with self._lock:
            return self._kept[number or self._count]

    def all(self) -> list[Kept]:
        """Return the sessions, the oldest first."""
        with self._lock:
            return list(self._kept.values())

    def part(self, number: int, kind: str, index: int) -> bytes:
        """Return a part of a session as JSON in gzip; raises LookupError for a missing part."""
        kept = self.get(number)
        key = kept.number, kind, index
        with self._lock:
            if (packed := self._parts.pop(key, None)) is not None:
                self._parts[key] = packed
                return packed
        packed = self._packed(kept.session, kind, index)
        with self._lock:
            if kept.number in self._kept:
                self._parts[key] = packed
            while sum(map(len, self._parts.values())) > MOST_BYTES:
                self._parts.popitem(last=False)
        return packed

    def _packed(self, session: Session, kind: str, index: int) -> bytes:
        match kind:
            case "stage":
                text = stage_part(session.stages[index])
            case "schedule":
                text = schedule_part(session.schedules[index])
            case "tables":
                text = tables_part(session)
            case _:
                text = head(session)
        return gzip.compress(text.encode(), 5, mtime=0)
