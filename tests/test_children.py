"""No process that a test begins outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from children import children, end_children, shared

SUPPORT = Path(__file__).parent / "support"
_FORKS = """
import os, time
if child := os.fork():
    print(child)
else:
    os.close(1)
    time.sleep(600)
"""
_GUARDED = """
import subprocess, sys, time
from children import guard
guard()
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_a_child_leaves_behind_is_ended():
    before = children()
    done = subprocess.run([sys.executable, "-c", _FORKS], stdout=subprocess.PIPE, text=True, check=True)
    left = int(done.stdout)
    assert _runs(left)
    assert left in children() - before
    assert end_children(before) == {left}
    assert not _runs(left)
    os.waitpid(left, 0)


def test_a_child_and_its_own_child_are_ended_in_turn():
    before = children()
    script = _FORKS.replace("print(child)", "print(child, flush=True); time.sleep(600)")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = int(process.stdout.readline())
        assert end_children(before) == {process.pid, left}
        assert not _runs(left)
        assert process.wait() == -signal.SIGKILL
    os.waitpid(left, 0)


def test_a_shared_process_is_left_alone():
    before = children()
    with shared(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)) as process:
        assert end_children(before) == set()
        assert process.poll() is None


def test_killed_tests_leave_no_process():
    command = [sys.executable, "-c", _GUARDED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=SUPPORT) as tests:
        assert tests.stdout is not None
        left = int(tests.stdout.readline())
        assert _runs(left)
        tests.kill()
    end = time.monotonic() + 60
    while _runs(left) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _runs(left)
