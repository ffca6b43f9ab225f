"""The connections of a server: a bounded number, with a smaller bound for clients without the token."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

MOST = 128
"""Connections at a time; one thread answers each."""
STRANGERS = 32
"""The bound on connections without the token. A browser opens six before it has it."""


class Connections:
    """The open connections of a server, by age."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._strangers: dict[socket.socket, None] = {}
        self._known: set[socket.socket] = set()

    def add(self, connection: socket.socket) -> bool:
        """Count a new connection, in place of the oldest stranger where there are too many; False: there is no room."""
        with self._lock:
            if len(self._known) + len(self._strangers) >= MOST and not self._strangers:
                return False
            self._strangers[connection] = None
            if len(self._strangers) > STRANGERS or len(self._known) + len(self._strangers) > MOST:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                # Its thread reads the end of the connection, and closes it.
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            return True

    def trust(self, connection: socket.socket) -> None:
        """Mark a connection as authorised by the token."""
        with self._lock:
            if connection in self._strangers:
                del self._strangers[connection]
                self._known.add(connection)

    def remove(self, connection: socket.socket) -> None:
        """Forget a connection that is closed."""
        with self._lock:
            self._strangers.pop(connection, None)
            self._known.discard(connection)

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)
