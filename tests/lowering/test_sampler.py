"""The sampler of the program counter."""

from __future__ import annotations

import ctypes
import signal
import time
from collections import deque
from typing import Any

import numpy as np
import pytest

from whence.lowering.llvm_to_native import sampler as module
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.line_table import code_range, line_table
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.sampler import Sampler, can_sample
from whence.lowering.llvm_to_native.target import Target
from whence.runtime.values.tensors import address
from whence.support.errors import PipelineError

pytestmark = pytest.mark.skipif(not can_sample(), reason="no sampler for this system")

_SPIN = """
define void @spin(i64 %n) !dbg !4 {
entry:
  br label %loop, !dbg !5
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
  call void asm sideeffect "nop", ""(), !dbg !6
  %next = add i64 %k, 1, !dbg !6
  %more = icmp slt i64 %next, %n, !dbg !6
  br i1 %more, label %loop, label %done, !dbg !6
done:
  ret void, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "f.tir", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "spin", file: !1, line: 1, unit: !0, type: !8)
!5 = !DILocation(line: 2, column: 1, scope: !4)
!6 = !DILocation(line: 3, column: 1, scope: !4)
!7 = !DILocation(line: 4, column: 1, scope: !4)
!8 = !DISubroutineType(types: !{null})
"""


def spent(sampler: Sampler, work: Any, samples: int) -> None:
    """Work until there are so many samples; give up after a while."""
    end = time.monotonic() + 20
    while len(sampler.samples) < samples and time.monotonic() < end:
        work()


def test_samples_are_where_the_time_goes():
    data = compile_text(_SPIN, Target.native()).object
    code = link([data], ["spin"])
    spin = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code["spin"])
    begin, end, section = code_range(data, "spin", code["spin"])

    def work() -> None:
        sampler.tag[0] = 7
        spin(300_000)
        sampler.tag[0] = -1

    with Sampler(1e-4) as sampler:
        spent(sampler, work, 40)
    tags, counters = sampler.samples.T.tolist()
    inside = [counter for tag, counter in zip(tags, counters, strict=True) if tag == 7 and begin <= counter < end]
    assert len(inside) > 0.5 * len(tags)
    table = line_table(data)
    lines = [table.lines[table.run(section, counter - begin)] for counter in inside]
    assert lines.count(3) > 0.9 * len(lines)


def test_what_was_there_before_is_there_after():
    called: list[int] = []
    before = signal.signal(signal.SIGPROF, lambda number, frame: called.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    try:
        with Sampler(1e-4) as sampler:
            spent(sampler, lambda: np.ones(100), 3)
            signal.raise_signal(signal.SIGPROF)
        assert set(sampler.samples[:, 0].tolist()) == {-1}
        count = len(sampler.samples)
        signal.raise_signal(signal.SIGPROF)
        assert called == [signal.SIGPROF]
        assert len(sampler.samples) == count
        assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == mask
    finally:
        signal.signal(signal.SIGPROF, before)


def test_one_at_a_time_with_a_sensible_period():
    with Sampler(1e-2), pytest.raises(PipelineError, match="expected one at a time"), Sampler():
        pass
    with Sampler(1e-2):
        pass
    with pytest.raises(PipelineError, match="expected a period from 2e-5 to 10 seconds, got 0"):
        Sampler(0)


def test_memory_rests_before_another_sampler_has_it(monkeypatch: pytest.MonkeyPatch):
    """A thread may still be in the handler, and write: it must find a tag there at any time."""
    with Sampler(1e-3):
        pass
    _, used = module._free[-1]  # pyright: ignore[reportPrivateUsage]
    with Sampler(1e-3) as sampler:
        assert not np.shares_memory(used, sampler._own.memory)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(module, "_free", deque([(0.0, used)]))
    before = used[module._TAG]  # pyright: ignore[reportPrivateUsage]
    with Sampler(1e-3) as sampler:
        assert np.shares_memory(used, sampler._own.memory)  # pyright: ignore[reportPrivateUsage]
        assert used[module._TAG] == before == address(sampler.tag)  # pyright: ignore[reportPrivateUsage]


def test_other_systems_have_none():
    assert not can_sample("darwin", "arm64")
    assert not can_sample("linux", "riscv64")
    assert can_sample("linux", "x86_64")
