"""A server whose jobs are stand-ins, and a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from explorer_client import Client, serving


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client of a server with one session."""
    with serving(tmp_path) as client:
        yield client
