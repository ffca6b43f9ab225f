"""The work of a separate process: build two schedules of one function, and say how they compare."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any

from whence.kernels.schedule_text import compare_schedules
from whence.support.errors import WhenceError

try:
    import resource
except ImportError:  # no such system
    resource = None

_BYTES = 8 << 30
"""The most bytes of memory that the process may take."""


def main() -> None:
    """Read the schedules from standard input as JSON, and write their results to standard output."""
    work: dict[str, Any] = json.load(sys.stdin)
    # Other output goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if hasattr(signal, "alarm"):
        # The client may be gone.
        signal.alarm(work["seconds"])
    try:
        compared = compare_schedules(work["before"], work["after"], target=work["target"], threads=work["threads"])
        answer: dict[str, Any] = asdict(compared)
    except WhenceError as error:
        answer = {"failure": str(error)}
    with answers:
        json.dump(answer, answers)


if __name__ == "__main__":
    main()
