"""Answers about the text of a kernel's schedule: its possible next lines, and its effect on time."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from whence.explorer.session.document import Session
from whence.explorer.session.schedules import frame_loops, frame_next
from whence.exploring.guard import Refusal
from whence.exploring.warm import Warm
from whence.kernels.schedule_text import read_schedule
from whence.lowering.llvm_to_native.target import Target
from whence.support.errors import WhenceError

SECONDS = 60
"""The time that building and measuring two schedules may take."""
_PROGRAM = ("-m", "whence.exploring.measured_schedule")
_busy = threading.Lock()


def schedule_loops(session: Session, number: int, text: str) -> dict[str, Any]:
    """Return the loops of a text of schedule `number`, or why there are none.

    Raises WhenceError for a text that is no schedule of the function.
    """
    schedule = read_schedule(text)
    lines, error = frame_loops(schedule, len(schedule.primitives))
    return {"tir": lines, "error": error}


def schedule_next(session: Session, number: int, text: str) -> dict[str, Any]:
    """Return the primitives that may come after a text of schedule `number`; errors as `schedule_loops`."""
    target = Target.parse(session.made_by.target)
    schedule = read_schedule(text)
    threads = session.made_by.threads or target.hardware.cores
    following = frame_next(schedule, len(schedule.primitives), target.hardware, threads)
    return {"next": [asdict(primitive) for primitive in following]}


def measured_schedule(warm: Warm, session: Session, number: int, text: str) -> dict[str, Any]:
    """Return the comparison of a text of schedule `number` with the session's, measured in a separate process.

    warm: starts the process. Raises WhenceError for a schedule that cannot be applied; refuses with 409 during another
    measurement.
    """
    work = {
        "before": session.schedules[number].text,
        "after": text,
        "target": session.made_by.target,
        "threads": session.made_by.threads or None,
        "seconds": SECONDS,
    }
    if not _busy.acquire(blocking=False):
        raise Refusal(409, "expected no other schedule to be measured")
    try:
        with warm.start(_PROGRAM) as process:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(work).encode())
                process.stdin.close()
            output = process.stdout.read()
    finally:
        _busy.release()
    if process.returncode == -signal.SIGALRM:
        raise WhenceError(f"schedule: expected to be built and measured in {SECONDS} s, took longer")
    if process.returncode or not output:
        raise WhenceError(f"schedule: expected a process that measures it, got exit code {process.returncode}")
    answer = json.loads(output)
    if "failure" in answer:
        raise WhenceError(answer["failure"])
    return answer
