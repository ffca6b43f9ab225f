"""The state of a server's jobs, and the listeners that wait for its changes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, Literal

Status = Literal["idle", "running", "finished", "failed", "cancelled"]


class Feed:
    """The last state. A listener gets it at once, and then the changes, as fast as it can receive them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._status: Status = "idle"
        self._state: dict[str, Any] = {}
        self._closed = False

    def tell(self, status: Status, **state: Any) -> None:
        """Replace the state."""
        with self._changed:
            self._status, self._state = status, state
            self._version += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Release all listeners."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def listen(self, heartbeat: float) -> Iterator[bytes]:
        """Give the state, and each change, as server-sent events; after `heartbeat` quiet seconds a comment."""
        version = -1
        while True:
            with self._changed:
                self._changed.wait_for(lambda seen=version: self._closed or self._version != seen, heartbeat)
                if self._closed:
                    return
                text = ": \n\n" if self._version == version else self._event()
                version = self._version
            yield text.encode()

    def _event(self) -> str:
        return f"event: {self._status}\ndata: {json.dumps(self._state)}\n\n"
