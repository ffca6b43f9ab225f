"""Programs are copies of one worker: as separate as new processes, and the worker is there again if it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from whence.exploring.warm import Warm


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with closing(Warm(["whence.compiler.compile"])) as warm:
        yield warm


def _output(warm: Warm, program: Path, code: str, *words: str, given: bytes = b"") -> tuple[str, int]:
    program.write_text(code)
    with warm.start([str(program), *words]) as process:
        process.stdin.write(given)
        process.stdin.close()
        return process.stdout.read().decode(), process.wait()


def test_words_files_and_exit_codes_are_those_of_a_process(warm: Warm, tmp_path: Path):
    code = "import sys; print(sys.argv[1:], sys.stdin.read(), __name__); sys.exit(3)"
    assert _output(warm, tmp_path / "a.py", code, "x y", "z", given=b"in") == ("['x y', 'z'] in __main__\n", 3)
    assert _output(warm, tmp_path / "b.py", "raise ValueError") == ("", 1)
    assert _output(warm, tmp_path / "c.py", "import os; os.abort()") == ("", -signal.SIGABRT)


def test_modules_are_there_and_nothing_stays(warm: Warm, tmp_path: Path):
    code = "import sys, os; m = sys.modules['whence.compiler.compile']; print(hasattr(m, 'mark')); m.mark = 1"
    assert [_output(warm, tmp_path / "a.py", code) for _ in range(2)] == [("False\n", 0)] * 2


def test_a_program_has_a_session_of_its_own_which_signals_reach(warm: Warm, tmp_path: Path):
    program = tmp_path / "a.py"
    program.write_text(
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(os.getpid() == os.getsid(0), child.pid, flush=True)\n"
        "time.sleep(60)"
    )
    with warm.start([str(program)]) as process:
        leads, child = process.stdout.readline().split()
        assert leads == b"True"
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert process.stdout.read() == b""
    end = time.monotonic() + 10
    while Path(f"/proc/{int(child)}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    state = Path(f"/proc/{int(child)}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_programs_begin_again_after_the_worker_ended(tmp_path: Path):
    code = "import os; print(os.getppid())"
    with closing(Warm(["whence.compiler.compile"])) as warm:
        with warm.start([str(tmp_path / "missing.py")]) as first:
            first.signal(signal.SIGKILL)  # It has not begun: the worker imports.
            assert first.wait() == -signal.SIGKILL
        assert _output(warm, tmp_path / "a.py", code)[1] == 0
    with closing(warm):
        assert _output(warm, tmp_path / "a.py", code)[1] == 0


def test_two_programs_run_at_the_same_time(warm: Warm, tmp_path: Path):
    (tmp_path / "a.py").write_text("import sys; print(sys.stdin.read())")
    with warm.start([str(tmp_path / "a.py")]) as one, warm.start([str(tmp_path / "a.py")]) as other:
        assert one.pid != other.pid
        assert os.getsid(one.pid) == one.pid
        for process, text in ((other, b"2"), (one, b"1")):
            process.stdin.write(text)
            process.stdin.close()
            assert process.stdout.read() == text + b"\n"
