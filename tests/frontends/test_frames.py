"""The calls that led to a layer, of stack traces."""

from __future__ import annotations

from whence.frontends.importing.frames import Frame, user_frames


def test_a_line_that_a_library_calls_back_is_there_once():
    trace = (
        Frame("run.py", 88),
        Frame("net.py", 142, "loss"),
        Frame("/lib/jax/_src/api.py", 400, "grad"),
        Frame("net.py", 142, "<lambda>"),
        Frame("net.py", 20, "block"),
        Frame("net.py", 142, "loss"),
    )
    assert [(frame.file, frame.line) for frame in user_frames(trace)] == [
        ("net.py", 142),
        ("net.py", 20),
        ("net.py", 142),
        ("run.py", 88),
    ]
