"""The permission to use tiles: asked for once, by Python and by native code, and never believed to be there."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from whence.lowering.llvm_to_native import target as target_module
from whence.lowering.llvm_to_native.link import link
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import pool_code, pool_object
from whence.lowering.llvm_to_native.thread_pool_text import pool_text
from whence.runtime.program.cpus import cpu_features
from whence.runtime.program.threads import ThreadPool
from whence.runtime.program.tiles import tiles_allowed

LINUX = pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="Linux on x86-64")


class System:
    """The C library of a system that gives an answer."""

    def __init__(self, answer: int):
        self.answer, self.asked = answer, list[tuple[int, ...]]()

    def syscall(self, *numbers: ctypes.c_long) -> int:
        self.asked.append(tuple(number.value for number in numbers))
        return self.answer


@pytest.fixture
def unasked() -> Iterator[None]:
    tiles_allowed.cache_clear()
    yield
    tiles_allowed.cache_clear()


@pytest.mark.usefixtures("unasked")
@pytest.mark.parametrize(("answer", "allowed"), [(0, True), (-1, False)])
def test_the_permission_is_asked_for_once(answer: int, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    system, code = System(answer), pool_code()
    tiles_allowed.cache_clear()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(ctypes, "CDLL", {None: system}.__getitem__)
    # A pool asks, as those who measure kernels have no main program.
    ThreadPool(code, 1)
    assert system.asked == [(158, 0x1023, 18)]
    assert (tiles_allowed(), tiles_allowed()) == (allowed, allowed)
    assert len(system.asked) == 1


@pytest.mark.usefixtures("unasked")
@pytest.mark.parametrize(("system", "machine"), [("darwin", "x86_64"), ("linux", "aarch64")])
def test_other_systems_are_not_asked(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with monkeypatch.context() as patched:
        patched.setattr(ctypes, "CDLL", partial(pytest.fail, "asked"))
        assert not tiles_allowed()
    assert "syscall(i64 158" not in pool_text(system, machine)


@pytest.mark.usefixtures("unasked")
def test_a_processor_without_tiles_has_no_permission() -> None:
    assert not tiles_allowed() or "amx_tile" in cpu_features()


@LINUX
@pytest.mark.parametrize(("answer", "allowed"), [(0, 1), (-1, 0)])
def test_native_code_asks_once(answer: int, allowed: int) -> None:
    asked: list[tuple[int, ...]] = []

    def syscall(*numbers: int) -> int:
        asked.append(numbers)
        return answer

    system = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * 3)(syscall)
    imports = {"syscall": ctypes.cast(system, ctypes.c_void_p).value or 0}
    code = link([pool_object(Target.native())], ["whence_tiles_allowed"], imports)
    ask = ctypes.CFUNCTYPE(ctypes.c_int32)(code["whence_tiles_allowed"])
    assert asked == []
    assert [ask() for _ in range(3)] == [allowed] * 3
    assert asked == [(158, 0x1023, 18)]


class Binding:
    """LLVM's, of a machine with tiles."""

    def __getattr__(self, name: str) -> Any:
        return lambda: {"get_process_triple": "x86_64-linux-gnu", "get_host_cpu_name": "sapphirerapids"}[name]

    def get_host_cpu_features(self) -> Binding:
        return self

    def flatten(self) -> str:
        return "+avx512f,+amx-tile,-amx-fp16,+amx-bf16,+amx-int8"


@pytest.mark.parametrize("allowed", [True, False])
def test_the_machine_has_tiles_if_they_are_permitted(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "binding", Binding)
    monkeypatch.setattr(target_module, "tiles_allowed", lambda: allowed)
    here = Target.detected.__wrapped__()
    assert (here.hardware.amx_bf16, here.hardware.amx_int8, here.hardware.tiles) == (allowed,) * 3
    assert here.hardware.half == ("bfloat16" if allowed else "float16")
    assert here.features == (
        "+avx512f,+amx-tile,-amx-fp16,+amx-bf16,+amx-int8"
        if allowed
        else "+avx512f,-amx-tile,-amx-fp16,-amx-bf16,-amx-int8"
    )
