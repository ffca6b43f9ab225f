"""Whole models in the cache: what is read is what was compiled, and nothing else is."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import whence
import whence.compiler.load as loading
from whence.lowering.cache import KernelCache
from whence.support.errors import FrontendWarning, PipelineError

MODEL = """<ir_version: 8, opset_import: ["": 13], producer_name: "me">
g (float[1, 4, 8, 8] x) => (float[1, 8, 8, 8] y)
<float[8, 4, 3, 3] w, float[8] b> {
  [first] c = Conv <pads = [1, 1, 1, 1]> (x, w, b)
  [second] r = Relu (c)
  [third] s = Sigmoid (r)
  [fourth] y = Mul (r, s)
}"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WHENCE_CACHE_MB", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "model.onnx", 0)


def write(path: Path, seed: int) -> Path:
    model: Any = onnx.parser.parse_model(MODEL)
    rng = np.random.default_rng(seed)
    for name, shape in (("w", (8, 4, 3, 3)), ("b", (8,))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(rng.standard_normal(shape, np.float32), name))
    path.write_bytes(model.SerializeToString())
    return path


class Opened:
    """Counts the models that are imported."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.count, self.real = 0, loading.open_model
        monkeypatch.setattr(loading, "open_model", self)

    def __call__(self, *arguments: Any) -> Any:
        self.count += 1
        return self.real(*arguments)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


def test_what_is_read_answers_as_what_was_compiled(path: Path, opened: Opened):
    first, again = (whence.compile(path, threads=1, cache="model") for _ in range(2))
    assert opened.count == 1
    x = np.random.default_rng(1).standard_normal((1, 4, 8, 8), np.float32)
    np.testing.assert_array_equal(first(x), again(x))
    assert first.kernels == again.kernels
    assert first.artifact.kernels == again.artifact.kernels
    assert first.artifact.main == again.artifact.main
    assert first.layers == again.layers
    assert first.coverage() == again.coverage()
    assert [str(why) for why in first.whys()] == [str(why) for why in again.whys()]
    for layer in first.layers:
        assert str(first.where(layer)) == str(again.where(layer))
    assert [(snapshot.stage, snapshot.text) for snapshot in first.artifact.snapshots] == [
        (snapshot.stage, snapshot.text) for snapshot in again.artifact.snapshots
    ]
    assert str(first.report()) == str(again.report())
    assert first.choice == again.choice
    assert first.metadata == again.metadata
    assert first.aliases == again.aliases
    assert first.inputs == again.inputs
    assert first.outputs == again.outputs


def test_a_model_that_was_read_can_be_shipped(path: Path, tmp_path: Path):
    first, again = (whence.compile(path, threads=1, cache="model") for _ in range(2))
    files = [tmp_path / "first.tar", tmp_path / "again.tar"]
    for executable, file in zip((first, again), files, strict=True):
        executable.export_library(file)
    x = np.random.default_rng(1).standard_normal((1, 4, 8, 8), np.float32)
    one, two = (whence.runtime.load_module(file, threads=1)(x) for file in files)
    np.testing.assert_array_equal(one, two)


def test_nothing_of_a_model_that_is_not_asked_about_is_parsed(path: Path, monkeypatch: pytest.MonkeyPatch):
    whence.compile(path, threads=1, cache="model")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a module was parsed")

    monkeypatch.setattr("whence.dialects.located_parser.LocatedParser.parse_module", refuse)
    again = whence.compile(path, threads=1, cache="model")
    again(np.zeros((1, 4, 8, 8), np.float32))
    with pytest.raises(AssertionError, match="a module was parsed"):
        _ = again.artifact.snapshots[0].module


def test_other_bytes_options_and_names_are_other_models(path: Path, tmp_path: Path, opened: Opened):
    def count(source: Path, **options: Any) -> int:
        before = opened.count
        whence.compile(source, threads=1, cache="model", **options)
        return opened.count - before

    assert count(path) == 1
    assert count(path, opt_level=1) == 1
    assert count(path, precision="f32") == 1
    assert count(path, target="llvm -mcpu=x86-64") == 1
    assert count(path, input_shapes={"x": (1, 4, 8, 8)}) == 1
    with whence.transform.PassContext(disabled_pass=["relay-simplify-expr"]):
        assert count(path) == 1
    assert count(write(tmp_path / "other.onnx", 0)) == 1
    write(path, 1)
    assert count(path) == 1
    assert count(path) == count(path, opt_level=3) == 0


def test_without_a_word_about_it_no_model_is_kept(path: Path, opened: Opened):
    whence.compile(path, threads=1)
    whence.compile(path, threads=1, cache="model")
    whence.compile(path, threads=1)
    assert opened.count == 3


def test_what_the_key_does_not_see_is_compiled(path: Path, opened: Opened):
    whence.compile(path, threads=1, cache="model")
    unkept: list[dict[str, Any]] = [{"audit": True}, {"snapshots": True}, {"custom_ops": {}}, {"specialize": {}}]
    for options in unkept:
        before = opened.count
        whence.compile(path, threads=1, cache="model", **options)
        assert opened.count == before + 1, options
    before = opened.count
    whence.compile(path.read_bytes(), threads=1, cache="model")
    with whence.transform.PassContext(instruments=[whence.instrument.PassTimingInstrument()]):
        whence.compile(path, threads=1, cache="model")
    assert opened.count == before + 2


def test_weights_in_other_files_are_read_again(path: Path, opened: Opened):
    library: Any = onnx
    library.save(library.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    first = whence.compile(path, threads=1, cache="model")
    x = np.ones((1, 4, 8, 8), np.float32)
    weights = path.parent / "weights.bin"
    weights.write_bytes(bytes(weights.stat().st_size))
    assert not np.array_equal(first(x), whence.compile(path, threads=1, cache="model")(x))
    assert opened.count == 2


def test_a_warning_is_given_each_time(path: Path, monkeypatch: pytest.MonkeyPatch):
    real = loading.open_model

    def warned(*arguments: Any) -> Any:
        warnings.warn("look at this", FrontendWarning, stacklevel=2)
        return real(*arguments)

    monkeypatch.setattr(loading, "open_model", warned)
    for _ in range(2):
        with pytest.warns(FrontendWarning, match="look at this"):
            whence.compile(path, threads=1, cache="model")


def test_large_models_and_damaged_ones_are_compiled(
    path: Path, folder: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
):
    whence.compile(path, threads=1, cache="model")
    largest = max(folder.glob("[0-9a-f]*"), key=lambda file: file.stat().st_mtime_ns)
    cache = KernelCache(folder)
    assert cache.get(largest.name) is not None
    cache.put(largest.name, b"something else")
    whence.compile(path, threads=1, cache="model")
    assert opened.count == 2
    whence.compile(path, threads=1, cache="model")
    assert opened.count == 2
    monkeypatch.setattr("whence.compiler.kept.limit_bytes", lambda: 1 << 10)
    for _ in range(2):
        whence.compile(write(path, 2), threads=1, cache="model")
    assert opened.count == 4


def test_another_word_is_refused(path: Path):
    wrong: Any = "everything"
    with pytest.raises(PipelineError, match='cache: expected "kernels" or "model", got \'everything\''):
        whence.compile(path, cache=wrong)
