"""Plain `xdsl-opt`, which knows nothing of Whence but that it is installed, reads and transforms our dialects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

XDSL_OPT = Path(sys.executable).with_name("xdsl-opt")

RELAY = """
relay.func @main(%x: tensor<1x64xf32>, %w: tensor<32x64xf32>) -> (tensor<1x32xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<1x64xf32>, tensor<32x64xf32>) -> tensor<1x32xf32>
  %1 = relay.nn.relu %0 : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %2 = relay.nn.relu %1 : (tensor<1x32xf32>) -> tensor<1x32xf32>
  relay.return %2 : tensor<1x32xf32>
}
"""


def xdsl_opt(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "input.mlir"
    file.write_text(text)
    command = [str(XDSL_OPT), str(file), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


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
def test_a_pipeline(tmp_path: Path, pipeline: str, wanted: list[str]):
    done = xdsl_opt(tmp_path, RELAY, "-p", pipeline)
    assert done.returncode == 0, done.stderr
    assert [text for text in wanted if text not in done.stdout] == []


def test_what_it_prints_it_reads_again(tmp_path: Path):
    first = xdsl_opt(tmp_path, RELAY, "-p", TO_LLVM)
    generic = xdsl_opt(tmp_path, first.stdout, "--print-op-generic")
    again = xdsl_opt(tmp_path, generic.stdout)
    assert (again.returncode, again.stdout) == (0, first.stdout)


def test_it_verifies(tmp_path: Path):
    wrong = RELAY.replace("%1 : (tensor<1x32xf32>) -> tensor<1x32xf32>", "%1 : (tensor<1x32xf32>) -> tensor<1x33xf32>")
    wrong = wrong.replace("-> (tensor<1x32xf32>) {", "-> (tensor<1x33xf32>) {").replace(
        "%2 : tensor<1x32", "%2 : tensor<1x33"
    )
    done = xdsl_opt(tmp_path, wrong)
    assert done.returncode != 0
    assert "relay.nn.relu: expected result tensor<1x32xf32>, got tensor<1x33xf32>" in done.stderr


def test_its_own_passes_run_on_ours(tmp_path: Path):
    """Two equal relus of one value become one."""
    text = RELAY.replace("relay.nn.relu %1 : (tensor<1x32xf32>)", "relay.nn.relu %0 : (tensor<1x32xf32>)")
    done = xdsl_opt(tmp_path, text, "-p", "cse,dce")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("relay.nn.relu") == 1
