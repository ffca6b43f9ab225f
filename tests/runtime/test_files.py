"""Files that are written whole or not at all, and what killed writers left."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from whence.support import files


def test_the_next_writer_into_a_folder_takes_away_what_killed_ones_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "_ANONYMOUS", 0)
    dead, alive = tmp_path / ".a.txt.x1.unfinished", tmp_path / ".c.txt.x2.unfinished"
    link, kept = tmp_path / ".d.txt.x3.unfinished", tmp_path / "kept"
    for path in (dead, alive, kept):
        path.write_text("half")
    link.symlink_to(kept)
    with open(alive, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        files.write_text(tmp_path / "b.txt", "whole")
    assert (tmp_path / "b.txt").read_text() == "whole"
    assert not dead.exists()
    assert alive.exists()
    assert kept.exists()
