"""Programs of JAX from files, without JAX: values are those that JAX computed, layers stand at the lines it names."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from shutil import copy
from typing import Any, cast

import numpy as np
import pytest
from xdsl.printer import Printer

import whence
from whence.dialects.relay.size_ranges import main_of
from whence.frontends.stablehlo import from_stablehlo
from whence.provenance.span import layer_names

FOLDER = Path(__file__).parents[2] / "exports" / "jax"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem != "opened")
NETWORKS = "tests/support/flax_networks.py"


@cache
def expected() -> dict[str, Any]:
    with np.load(FOLDER / "expected.npz") as arrays:
        return dict(arrays)


def values(name: str, kind: str) -> list[Any]:
    count = sum(key.startswith(f"{name}/{kind}_") for key in expected())
    return [expected()[f"{name}/{kind}_{at}"] for at in range(count)]


def check(executable: Any, name: str) -> None:
    results: Any = executable(*values(name, "in"))
    listed: list[Any] = list(cast("tuple[Any, ...]", results)) if isinstance(results, tuple) else [results]
    for result, wanted in zip(listed, values(name, "out"), strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)


def text_of(module: Any) -> str:
    stream = io.StringIO()
    Printer(stream, print_debuginfo=True).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("name", [*PROGRAMS, "printed/branches", "printed/loops"])
def test_values_are_those_of_jax(name: str):
    check(whence.compile(FOLDER / f"{name}.mlir", audit=True), name.removeprefix("printed/"))


def test_open_sizes_are_symbols_with_the_names_of_the_program():
    executable = whence.compile(FOLDER / "opened.mlir", audit=True)
    assert "batch, length" in executable.choice.reason
    for name in ("opened_1", "opened_5"):
        check(executable, name)
    with pytest.raises(whence.FrontendError, match="length"):
        executable(np.zeros((2, 17, 4), np.float32), np.zeros((2, 4), np.float32))


def test_shapes_close_open_sizes():
    module = from_stablehlo(FOLDER / "opened.mlir", shapes={"x": [5, 16, 4], "y": [5, 4]})
    check(whence.compile(module), "opened_5")
    with pytest.raises(whence.FrontendError, match=r"input 'x': expected a shape that agrees .*batch, length, 4"):
        from_stablehlo(FOLDER / "opened.mlir", shapes={"x": [5, 16, 3]})


def layers(name: str) -> dict[str, list[tuple[str, ...]]]:
    """Operator -> the layers of each op of it, in a program."""
    result: dict[str, list[tuple[str, ...]]] = {}
    for op in main_of(from_stablehlo(FOLDER / f"{name}.mlir")).block.ops:
        result.setdefault(op.name.removeprefix("relay."), []).append(layer_names(op.location))
    return result


def test_what_jax_takes_apart_is_one_operator_located_at_all_of_it():
    found = layers("cnn")
    assert len(found["nn.batch_norm"]) == len(found["nn.relu"]) == len(found["nn.conv2d"]) == 2
    assert {"nn.max_pool2d", "nn.avg_pool2d", "mean", "nn.dense", "nn.softmax"} <= set(found)
    assert not {"broadcast_to", "exp", "rsqrt", "sum", "divide"} & set(found)
    parts = {"CNN/reduce_max", "CNN/sub", "CNN/exp", "CNN/reduce_sum_1", "CNN/div_2"}
    assert parts <= set(found["nn.softmax"][0])
    assert all(layer.startswith("CNN/") and layer.count("/") == 1 for layer in found["nn.softmax"][0])
    assert {"CNN/bn/sub", "CNN/bn/rsqrt", "CNN/bn/mul", "CNN/bn/add_1"} <= set(found["nn.batch_norm"][0])
    assert all(layer.startswith("CNN/bn/") for layer in found["nn.batch_norm"][0])


def test_a_layer_norm_is_one_operator():
    (norm,) = layers("perceptron")["nn.layer_norm"]
    assert {"sub", "sqrt", "div_1", "_var/square"} <= set(norm)
    assert not {"integer_pow", "tanh", "dot_general", "dot_general_1"} & set(norm)


def test_weights_beside_a_file_are_its_inputs(tmp_path: Path):
    copy(FOLDER / "perceptron.mlir", tmp_path)
    alone = from_stablehlo(tmp_path / "perceptron.mlir")
    names = [name.data for name in alone.body.block.first_op.attributes["input_names"]]  # pyright: ignore
    assert names == ["weights.first.b", "weights.first.w", "weights.second.b", "weights.second.w", "x"]
    with np.load(FOLDER / "perceptron.npz") as arrays:
        weights = dict(arrays)
    check(whence.compile(from_stablehlo(tmp_path / "perceptron.mlir", params=weights)), "perceptron")
    with pytest.raises(whence.FrontendError, match=r"expected names among the inputs .*, got weights.third"):
        from_stablehlo(tmp_path / "perceptron.mlir", params={"weights": {"third": weights["weights.first.w"]}})
    with pytest.raises(whence.FrontendError, match=r"weights.first.b': expected float32\[10\], got float32\[4\]"):
        from_stablehlo(tmp_path / "perceptron.mlir", params={"weights.first.b": weights["weights.second.b"]})
    (tmp_path / "perceptron.npz").write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(whence.FrontendError, match=r"perceptron.npz: expected arrays as numpy.savez writes them"):
        whence.compile(tmp_path / "perceptron.mlir")


def test_layers_are_paths_of_modules_at_lines_of_the_user():
    lines = (Path(__file__).parents[3] / NETWORKS).read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if 'name="bn")' in line)
    text = text_of(from_stablehlo(FOLDER / "cnn.mlir"))
    assert re.search(rf'"CNN/bn/[a-z_0-9]+"\((callsite\()?"{NETWORKS}":{at}:0', text)
    assert "jit(" not in text


def test_machine_code_names_modules():
    executable = whence.compile(FOLDER / "cnn.mlir")
    fate = str(executable.where("CNN/bn/add_1"))
    assert re.search(r"native +[1-9][0-9]* of [0-9]+ instructions", fate)
    assert f"layer CNN/bn/add_1 (add, CNN/bn, {NETWORKS}:" in fate
    reason = str(executable.why("fused_nn_softmax"))
    assert "SoftmaxOfParts" in reason
    assert "CNN/reduce_max" in reason
