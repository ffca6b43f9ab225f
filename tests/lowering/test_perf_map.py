"""The map by which perf names functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.perf_map import functions
from whence.lowering.llvm_to_native.target import Target

TWO = """
define internal i32 @helper(i32 %x) noinline {
  %y = mul i32 %x, 37
  ret i32 %y
}
define i32 @entry_of_test(i32 %x) {
  %y = call i32 @helper(i32 %x)
  %z = add i32 %y, 1
  ret i32 %z
}"""


@pytest.fixture
def path() -> Path:
    return Path(f"/tmp/perf-{os.getpid()}.map")


def test_functions_of_an_object() -> None:
    found = {one.name: one for one in functions(compile_text(TWO, Target.native(), level=0).object)}
    assert set(found) == {"helper", "entry_of_test"}
    helper, entry = found["helper"], found["entry_of_test"]
    assert helper.offset + helper.size <= entry.offset
    assert not list(functions(b"not an object"))


def test_linked_functions_are_in_the_map(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("WHENCE_PERF_MAP", "1")
    data = compile_text(TWO, Target.native(), level=0).object
    library = link([data], ["entry_of_test"])
    rows = {
        name: (int(start, 16), int(size, 16)) for start, size, name in map(str.split, path.read_text().splitlines())
    }
    path.unlink()
    sizes = {one.name: one.size for one in functions(data)}
    assert rows["entry_of_test"] == (library["entry_of_test"], sizes["entry_of_test"])
    assert rows["helper"][1] == sizes["helper"]
    assert rows["helper"][0] < rows["entry_of_test"][0]


def test_without_the_option_there_is_no_map(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("WHENCE_PERF_MAP", "0")
    library = link([compile_text(TWO, Target.native()).object], ["entry_of_test"])
    assert library["entry_of_test"]
    assert not path.exists()


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "pipe"])
def test_what_somebody_put_at_its_name_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, path: Path, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WHENCE_PERF_MAP", "1")
    target = tmp_path / "target"
    target.write_text("kept")
    if kind == "symlink":
        path.symlink_to(target)
    elif kind == "hardlink":
        path.hardlink_to(target)
    else:
        os.mkfifo(path)
    try:
        assert link([compile_text(TWO, Target.native()).object], ["entry_of_test"])["entry_of_test"]
    finally:
        path.unlink()
    assert target.read_text() == "kept"
    assert "is not written" in caplog.text
