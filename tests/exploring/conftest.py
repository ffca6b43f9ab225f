"""A server whose jobs are stand-ins, and a client."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import job_stand_in
import pytest
from explorer_client import Client
from small_session import small_session

from whence.exploring.jobs import Limits
from whence.exploring.request import Request
from whence.exploring.server import Server, running
from whence.exploring.site import new_site


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client of a server with one session, that of the model `fine`."""
    command = [sys.executable, str(Path(job_stand_in.__file__))]
    site = new_site(command, tmp_path, Limits(seconds=20))
    site.store.add(small_session(), Request("light_squeezenet"), "")
    server = Server(site)
    with running(server):
        yield Client(server)
