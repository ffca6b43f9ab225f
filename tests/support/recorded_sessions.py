"""Sessions of small models, each recorded once in a run of the tests, whichever worker asks first."""

from __future__ import annotations

import os
from collections.abc import Callable
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from explored_models import bert, twins
from tflite_networks import mobilenet

from whence.explorer.session.document import Session
from whence.explorer.session.file import read, write

_EXPORTS = Path(__file__).parents[1] / "exports"
_RELAY = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 12, 12), float32], %w: Tensor[(8, 8, 3, 3), float32], %d: Tensor[(10, 8), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3]);
  %3 = nn.batch_flatten(nn.global_avg_pool2d(add(%2, %1)));
  nn.softmax(nn.dense(%3, %d, units=10))
}
"""
MODELS: dict[str, Callable[[], Any]] = {
    "twins": twins,
    "transformer": lambda: bert(layers=2, tokens=16, width=64, heads=4),
    "int8": lambda: mobilenet(32, 0.25, integers=True, stages=((1, 64), (2, 128)), classes=10),
}
"""A convolutional one with batch norms, one whose layers share kernels, and one of integers out of TFLite."""
OTHERS: dict[str, Callable[[], Any]] = {
    "relay": lambda: _RELAY,
    "quantised": lambda: _EXPORTS / "unet.qdq.onnx",
    "trees": lambda: _EXPORTS / "ml" / "r_gbr.onnx",
    "torch": lambda: _EXPORTS / "pytorch" / "cnn.pt2",
    "loops": lambda: _EXPORTS / "pytorch" / "loops.pt2",
    "jax": lambda: _EXPORTS / "jax" / "cnn.mlir",
}
"""A text, and exported ones, some of several programs: with QuantizeLinear, with trees, of PyTorch, with control flow,
and of JAX."""


def recorded(name: str) -> Session:
    """Return the session of a model of `MODELS` or `OTHERS`."""
    return read(session_file(name))


def session_file(name: str) -> Path:
    """Return the file of the session of a model of `MODELS` or `OTHERS`."""
    return kept(f"{name}.json", lambda path: write(path, _record(name)))


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """Return a file of this test run, which the first who asks makes."""
    folder = Path(os.environ["WHENCE_CACHE_DIR"]) / "sessions"
    folder.mkdir(exist_ok=True)
    path = folder / name
    with (folder / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not path.exists():
            unfinished = path.with_name(f"unfinished-{name}")
            make(unfinished)
            unfinished.rename(path)
    return path


def _record(name: str) -> Session:
    from whence.exploring.measuring import Wishes
    from whence.exploring.record import record

    path = _path(name, {**MODELS, **OTHERS}[name]())
    session = record(path, wishes=Wishes(seconds=0.1, tensors=True))
    # As if it were called in the folder of the model, so that pictures are alike.
    session.made_by.command = f"whence explore {path.name}"
    return session


def _path(name: str, model: Any) -> Path:
    if isinstance(model, Path):
        return model
    if isinstance(model, str):
        return kept(f"{name}.relay", lambda file: _write(file, model.encode()))
    data, suffix = (model, "tflite") if isinstance(model, bytes) else (model.SerializeToString(), "onnx")
    return kept(f"{name}.{suffix}", lambda file: _write(file, data))


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)
