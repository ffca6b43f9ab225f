"""Comparisons of programs that call kernels of tir: the kernel runs as it is written for the reference."""
# pyright: reportUnknownLambdaType=false

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import whence
from whence import relay, te
from whence.cli.main import main
from whence.compiler.bisection import evaluated
from whence.dialects.relay.call_tir import CallTirOp
from whence.explorer.references import of_module
from whence.kernels.kernel_calls import run_kernel
from whence.lowering.relay_to_te import lower

SCALE = """
@T.prim_func
def scale(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    for i, j in T.grid(n, 4):
        B[i, j] = A[i, j] * T.float32(3)
"""
DATA = np.random.default_rng(0).standard_normal((5, 4)).astype("float32")
INPUTS = {"x": DATA}


def module(factor: int = 3) -> Any:
    x = relay.var("x", shape=(5, 4))
    call = relay.set_span(relay.call_tir("scale", [relay.set_span(relay.exp(x), "first")]), "scaled")
    body = relay.set_span(relay.tanh(call), "last")
    kernel = whence.script.from_source(SCALE.replace("(3)", f"({factor})"), file="scale.py")
    return whence.IRModule({"main": relay.Function([x], body), "scale": kernel}).module


def test_the_reference_runs_the_kernel():
    exe = whence.compile(module())
    references = of_module(exe.artifact, INPUTS, run_kernel)
    values: Any = references.tensors
    np.testing.assert_allclose(values["scaled"], 3 * np.exp(DATA), rtol=1e-6)
    np.testing.assert_allclose(values["last"], np.tanh(3 * np.exp(DATA)), rtol=1e-6)
    assert exe.compare(INPUTS, references.tensors).first is None


@pytest.mark.parametrize("engine", [None, "native", "numpy"])
def test_sound_passes_do_not_depart(engine: Any):
    source = module()
    text = str(source)
    bisection = whence.bisect(source, INPUTS, {"output0": np.tanh(3 * np.exp(DATA))}, engine=engine)
    assert not bisection.found, str(bisection)
    assert str(source) == text


def test_a_kernel_that_is_lowered_wrongly_is_told_by_its_layer(monkeypatch: pytest.MonkeyPatch):
    def doubled(op: Operation, x: Any) -> te.Tensor:
        return te.compute(x[0].shape, lambda i, j: x[0][i, j] * 2.0, name="wrong")

    # Kernels that other tests compiled may be taken from the cache.
    source = module(factor=7)
    expected = evaluated(source, INPUTS)
    monkeypatch.setitem(lower.TABLE, CallTirOp, doubled)
    bisection = whence.bisect(source, INPUTS, expected)
    assert (bisection.pass_name, bisection.layer) == ("code generation", "scaled")


@pytest.mark.parametrize("command", [["bisect"], ["debug", "--compare"]])
def test_commands_compare_such_files(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "net.mlir"
    path.write_text(str(module()))
    assert main([command[0], str(path), *command[1:], "--seed", "0"]) == 0
    assert "reference: numpy, of the module as it was imported" in capsys.readouterr().out
