"""Snapshots per pass: of the model and of every kernel, those from the cache, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from whence import relay
from whence.dialects.relay.elementwise import ReluOp
from whence.explorer.code import kernel_of
from whence.planning import build
from whence.planning.artifact import Snapshot
from whence.planning.snapshots import SnapshotFolder
from whence.provenance.numbers import number_of
from whence.support.context import PassContext
from whence.support.errors import PipelineError
from whence.support.instrument import PassInfo, PassInstrument


def network() -> relay.IRModule:
    x = relay.var("x", shape=(1, 16, 8, 8))
    hidden = relay.nn.relu(relay.nn.conv2d(x, relay.var("w", shape=(16, 16, 3, 3)), padding=(1, 1)))
    return relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(hidden), relay.nn.softmax(hidden)))


class Names(PassInstrument):
    """The passes that ran, with the kernel in hand."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        function = getattr(mod, "sym_name", None)
        self.seen.append((function.data if function is not None else "", info.name))


def stages(snapshots: tuple[Snapshot, ...]) -> list[tuple[str, str]]:
    return [(snapshot.kernel, snapshot.stage) for snapshot in snapshots if snapshot.stage != "input"]


def test_there_is_one_after_every_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path))
    names = Names()
    with PassContext(instruments=[names]):
        first = whence.compile(network(), snapshots=True)
    assert stages(first.snapshots) == names.seen
    kernels = {kernel.symbol for kernel in first.artifact.kernels}
    assert {snapshot.kernel for snapshot in first.snapshots} == {"", *kernels}
    assert [snapshot.kernel for snapshot in first.snapshots if snapshot.stage == "input"] == list(
        dict.fromkeys(snapshot.kernel for snapshot in first.snapshots)
    )
    for symbol, kernel in {kernel.symbol: kernel for kernel in first.artifact.kernels}.items():
        last = [snapshot for snapshot in first.snapshots if snapshot.kernel == symbol][-1]
        (function,) = last.module.ops
        assert str(function) == kernel_of(first.artifact, first.artifact.kernels.index(kernel)).tir
    monkeypatch.setattr(build, "compile_text", None)  # all kernels are in the cache
    cached = whence.compile(network(), snapshots=True)
    assert stages(cached.snapshots) == stages(first.snapshots)
    assert [snapshot.text for snapshot in cached.snapshots] == [snapshot.text for snapshot in first.snapshots]
    assert [kernel.object for kernel in cached.artifact.kernels] == [k.object for k in first.artifact.kernels]
    assert whence.compile(network()).snapshots == ()


def test_an_op_has_its_number_in_every_snapshot():
    executable = whence.compile(network(), snapshots=True)
    relays = [snapshot for snapshot in executable.snapshots if not snapshot.kernel]
    numbers = [{number_of(op) for op in snapshot.module.walk() if isinstance(op, ReluOp)} for snapshot in relays]
    assert len(numbers[0]) == 1
    untouched = [found for found in numbers if found == numbers[0]]
    assert len(untouched) > 3
    assert 'loc("nn.relu_0"' in relays[0].text


def test_sizes_that_a_call_decides_have_them_as_well():
    x = relay.var("x", shape=(relay.Any(), 16))
    executable = whence.compile(relay.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x))), snapshots=True)
    assert executable.snapshots


def test_they_can_be_written(tmp_path: Path):
    executable = whence.compile(network(), snapshots=True)
    folder = SnapshotFolder(tmp_path / "deep")
    for snapshot in executable.snapshots:
        folder.write(snapshot)
    assert [path.read_text() for path in folder.written] == [f"{one.text}\n" for one in executable.snapshots]
    assert folder.written[0] == tmp_path / "deep/00-input.mlir"
    symbol = executable.artifact.kernels[0].symbol
    assert (tmp_path / "deep" / symbol / "00-input.mlir").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match=r"--snapshot-dir: .*00-input.mlir: File exists"):
        SnapshotFolder(tmp_path / "file").write(executable.snapshots[0])
