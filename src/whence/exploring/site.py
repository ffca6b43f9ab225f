"""The state that the requests of one server share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whence.exploring.feed import Feed
from whence.exploring.jobs import Jobs, Limits
from whence.exploring.orders import Orders
from whence.exploring.static import StaticPage
from whence.exploring.store import Store
from whence.exploring.uploads import Uploads
from whence.exploring.warm import Warm


@dataclass
class Site:
    """The sessions, jobs and files of a server, and the page."""

    store: Store
    feed: Feed
    jobs: Jobs
    uploads: Uploads
    orders: Orders
    page: StaticPage = field(default_factory=StaticPage)


def new_site(program: Sequence[str], folder: Path, limits: Limits | None = None, modules: Sequence[str] = ()) -> Site:
    """Return a site without sessions.

    program: that of `Jobs`. folder: a private one, for uploads and files of jobs. modules: those of the program, which
    a worker imports before.
    """
    store, feed, uploads = Store(), Feed(), Uploads(folder)
    jobs = Jobs(program, store, feed, folder, limits or Limits(memory=_all_memory()), Warm(modules))
    return Site(store, feed, jobs, uploads, Orders(store, jobs, uploads))


def _all_memory() -> int:
    """Return the bytes of memory of this machine, 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
