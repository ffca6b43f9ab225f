"""Plain `xdsl-opt`, which knows nothing of Whence but that it is installed, reads and transforms our dialects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from xdsl.xdsl_opt_main import xDSLOptMain

XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")

RELAY = """
relay.func @main(%x: tensor<1x64xf32>, %w: tensor<32x64xf32>) -> (tensor<1x32xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<1x64xf32>, tensor<32x64xf32>) -> tensor<1x32xf32>
  %1 = relay.nn.relu %0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %2 = relay.nn.relu %1 : (tensor<1x32xf32>) -> tensor<1x32xf32>
  relay.return %2 : tensor<1x32xf32>
}
"""


class Opt:
    """`xdsl-opt` in this process, which starts no Python anew."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]):
        self.file, self.capture = folder / "input.mlir", capture

    def __call__(self, text: str, *arguments: str) -> Done:
        self.file.write_text(text)
        try:
            xDSLOptMain(args=[str(self.file), *arguments]).run()
        except Exception as error:
            return Done(1, self.capture.readouterr().out, str(error))
        out, err = self.capture.readouterr()
        return Done(0, out, err)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def xdsl_opt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Opt:
    return Opt(tmp_path, capsys)


TO_LLVM = (
    "relay-fuse-ops,convert-relay-to-te,convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,"
    "tir-remove-no-op,convert-tir-to-llvm"
)


@pytest.mark.parametrize(
    ("pipeline", "wanted"),
    [
        ("relay-fuse-ops", ["relay.func primitive @fused_nn_dense_nn_relu_nn_relu", "relay.call @fused_nn_dense"]),
        ("relay-fuse-ops,convert-relay-to-te", ['te.compute "dense"', "schedule.sequence @fused_nn_dense_nn_relu"]),
        ("relay-fuse-ops,convert-relay-to-te,convert-te-to-tir", ["tir.prim_func @fused_nn_dense_nn_relu_nn_relu"]),
        (TO_LLVM, ["llvm.func @fused_nn_dense_nn_relu_nn_relu"]),
    ],
)
def test_a_pipeline(xdsl_opt: Opt, pipeline: str, wanted: list[str]):
    done = xdsl_opt(RELAY, "-p", pipeline)
    assert done.returncode == 0, done.stderr
    assert [text for text in wanted if text not in done.stdout] == []


def test_the_program_itself_knows_us(xdsl_opt: Opt):
    inside = xdsl_opt(RELAY, "-p", TO_LLVM)
    command = [str(XDSL_OPT), str(xdsl_opt.file), "-p", TO_LLVM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, inside.stdout), done.stderr


def test_what_it_prints_it_reads_again(xdsl_opt: Opt):
    first = xdsl_opt(RELAY, "-p", TO_LLVM)
    generic = xdsl_opt(first.stdout, "--print-op-generic")
    again = xdsl_opt(generic.stdout)
    assert (again.returncode, again.stdout) == (0, first.stdout)


def test_it_verifies(xdsl_opt: Opt):
    wrong = RELAY.replace("%1 : (tensor<1x32xf32>) -> tensor<1x32xf32>", "%1 : (tensor<1x32xf32>) -> tensor<1x33xf32>")
    wrong = wrong.replace("-> (tensor<1x32xf32>) {", "-> (tensor<1x33xf32>) {").replace(
        "%2 : tensor<1x32", "%2 : tensor<1x33"
    )
    done = xdsl_opt(wrong)
    assert done.returncode != 0
    assert "relay.nn.relu: expected result tensor<1x32xf32>, got tensor<1x33xf32>" in done.stderr


def test_its_own_passes_run_on_ours(xdsl_opt: Opt):
    """Two equal relus of one value become one."""
    text = RELAY.replace("relay.nn.relu %1 : (tensor<1x32xf32>)", "relay.nn.relu %0 : (tensor<1x32xf32>)")
    done = xdsl_opt(text, "-p", "cse,dce")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("relay.nn.relu") == 1
