"""Exported models whose kernels multiply tiles: the permission is asked for before them, and refused clearly.

Kernels of vectors are said to have tiles, so that a model runs where the answer of the system is another.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import whence
from whence import relay
from whence.lowering.kernel.record import Kernel
from whence.planning.c_interface import HEADER
from whence.runtime import load_module
from whence.runtime.program import cpus
from whence.support.errors import PipelineError

LINUX = platform.system() == "Linux" and platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(not LINUX, reason="Linux on x86-64")

CALLER = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "whence.h"

static int asked;

long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long request = va_arg(rest, long), part = va_arg(rest, long);
  va_end(rest);
  ++asked;
  if (number != 158 || request != 0x1023 || part != 18) abort();
  return getenv("PERMIT") ? 0 : -1;
}

int main(int count, char **words) {
  (void)words;
  static _Alignas(64) float x[4] = {-1, 2, -3, 4}, y[4];
  const void *inputs[] = {x};
  void *outputs[] = {y};
  void *arena = aligned_alloc(64, (size_t)whence_arena_bytes / 64 * 64 + 64);
  if (count > 1 && !whence_tiles_allowed()) return 3;
  for (int run = 0; run < 3; ++run) whence_run(inputs, outputs, arena, NULL);
  printf("%d %d %g %g %g %g", whence_uses_tiles, asked, y[0], y[1], y[2], y[3]);
  return 0;
}
"""


def relu(target: str = "llvm") -> Any:
    x = relay.var("x", shape=(4,), dtype="float32")
    with whence.PassContext(opt_level=0):
        return relay.build(relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target)


@pytest.fixture
def tiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "tiles", True)


def called(path: Path, *words: str, permit: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a program in C with the model in an object file, whose system answers as said."""
    (path.parent / "main.c").write_text(CALLER)
    program = path.with_suffix("")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}"]
    subprocess.run(["cc", *flags, path.parent / "main.c", path, "-lm", "-pthread", "-o", program], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PERMIT"}
    environment |= {"PERMIT": "1"} if permit else {}
    return subprocess.run([program, *words], capture_output=True, text=True, env=environment, check=False, timeout=60)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C")
@pytest.mark.usefixtures("tiled")
def test_c_code_asks_once_and_ends_where_it_is_refused(tmp_path: Path) -> None:
    path = Path(relu().export_library(tmp_path / "net.o"))
    assert called(path, permit=True).stdout == "1 1 0 2 0 4"
    refused = called(path)
    assert refused.returncode == -signal.SIGABRT
    assert refused.stderr == "whence: expected permission to use tiles (AMX) from Linux 5.16 or later, got none\n"
    assert refused.stdout == ""
    # Who asks before can do something else.
    assert called(path, "ask").returncode == 3


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler of C")
def test_c_code_without_tiles_asks_nothing(tmp_path: Path) -> None:
    assert called(Path(relu().export_library(tmp_path / "net.o"))).stdout == "0 0 0 2 0 4"


@pytest.mark.usefixtures("tiled")
@pytest.mark.parametrize("suffix", ["tar", "o", "so"])
def test_a_file_with_tiles_is_loaded_where_they_are_permitted(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = relu().export_library(tmp_path / f"net.{suffix}")
    monkeypatch.setattr(cpus, "tiles_allowed", lambda: False)
    with pytest.raises(PipelineError, match=r"without tiles, as Linux does not let .*, got some with tiles \(AMX\)"):
        load_module(path)
    monkeypatch.setattr(cpus, "tiles_allowed", lambda: True)
    assert load_module(path).program.tiles


def test_a_file_needs_the_instructions_of_tiles_for_tiles_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = "pni avx avx2 fma avx512f avx512_vnni avx512_fp16"
    monkeypatch.setattr(cpus, "cpu_features", lambda: frozenset(flags.split()))
    target = "llvm -mcpu=sapphirerapids -mattr=+amx-tile"
    assert not load_module(relu(target).export_library(tmp_path / "vectors.tar")).program.tiles
    monkeypatch.setattr(Kernel, "tiles", True)
    path = relu(target).export_library(tmp_path / "tiles.tar")
    with pytest.raises(PipelineError, match=r"got some that needs amx-tile, amx-bf16, amx-int8$"):
        load_module(path)


@pytest.mark.usefixtures("tiled")
def test_a_function_with_tiles_asks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whence import te

    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    path = whence.build(te.create_schedule(b.op), [a, b], name="one").export_library(tmp_path / "one.tar")
    monkeypatch.setattr(cpus, "tiles_allowed", lambda: False)
    with pytest.raises(PipelineError, match="got some with tiles"):
        load_module(path)
