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

MODELS: dict[str, Callable[[], Any]] = {
    "twins": twins,
    "transformer": lambda: bert(layers=2, tokens=16, width=64, heads=4),
    "int8": lambda: mobilenet(32, 0.25, integers=True, stages=((1, 64), (2, 128)), classes=10),
}
"""A convolutional one with batch norms, one whose layers share kernels, and one of integers out of TFLite."""


def recorded(name: str) -> Session:
    """Return the session of a model of `MODELS`."""
    return read(session_file(name))


def session_file(name: str) -> Path:
    """Return the file of the session of a model of `MODELS`."""
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

    model = MODELS[name]()
    data, suffix = (model, "tflite") if isinstance(model, bytes) else (model.SerializeToString(), "onnx")
    path = kept(f"{name}.{suffix}", lambda file: _write(file, data))
    session = record(path, wishes=Wishes(seconds=0.1, tensors=True))
    # As if it were called in the folder of the model, so that pictures are alike.
    session.made_by.command = f"whence explore {path.name}"
    return session


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)
