"""The models of the gallery, of builders that tests and benchmarks have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from shutil import copy
from typing import Any

import loop_models
import numpy as np
import onnx
import tflite_networks
from explored_models import bert
from zoo import classifiers, predictors, sequences, transformers
from zoo.builder import Built

from whence.te.schedule.schedule import Schedule

_TESTS = Path(__file__).parents[2]
_BENCHMARKS = str(_TESTS.parent / "benchmarks")
EXPORTS = _TESTS / "exports"
ROWS = 64
"""The rows that the forest is asked about."""
STEPS = 12
"""The steps of the loop."""


def shipped(name: str, folder: Path) -> str:
    """Return the name of a shipped model, which needs no file."""
    return name


def saved(name: str, make: Callable[[], onnx.ModelProto | Built], folder: Path) -> Path:
    """Write an ONNX model."""
    made = make()
    path = folder / f"{name}.onnx"
    path.write_bytes((made.model if isinstance(made, Built) else made).SerializeToString())
    return path


def exported(name: str, folder: Path) -> Path:
    """Copy a checked in file, and the Python whose lines it quotes."""
    if name.endswith(".pt2"):
        copy(EXPORTS / "pytorch" / "networks.py", folder)
    return Path(copy(EXPORTS / name, folder))


def quantised_mobilenet(folder: Path) -> Path:
    """Write a MobileNet of integers as TFLite has it."""
    path = folder / "mobilenet_int8.tflite"
    path.write_bytes(tflite_networks.mobilenet(128, 0.5, integers=True))
    return path


def forest(folder: Path) -> Path:
    """Write a forest of 200 trees."""
    made: Any = _benchmark("trees").forest
    return saved("forest", partial(made, 200, 6, 1), folder)


def products(folder: Path) -> Mapping[str, Schedule]:
    """Return the schedules of docs/schedule.md for a product of matrices of 128 x 128."""
    gemm = _benchmark("gemm_schedule")
    functions, names = gemm.page_functions(), [name for name in gemm.STEPS if name != "packing"]
    return {f"{number} {name}": functions[name](128, 128, 128) for number, name in enumerate(names, 1)}


def _benchmark(name: str) -> Any:
    if _BENCHMARKS not in sys.path:
        sys.path.append(_BENCHMARKS)
    return import_module(name)


def forest_inputs() -> Mapping[str, Any]:
    """Return rows of features."""
    return {"x": np.random.default_rng(0).standard_normal((ROWS, 30), np.float32)}


def loop(folder: Path) -> Path:
    """Write an LSTM as a loop over time, as TensorFlow's converter does."""
    return saved("loop", lambda: loop_models.lstm().model, folder)


def loop_inputs() -> Mapping[str, Any]:
    """Return a sequence for the loop."""
    return loop_models.lstm().inputs(STEPS)


bert_base = partial(saved, "bert", bert)
llama_step = partial(saved, "llama_step", partial(transformers.llama, 1, 128, 4, 512, 8, 2, 1376, 4000))
yolo = partial(saved, "yolov8n", partial(predictors.yolov8n, 320))
speech = partial(saved, "deep_speech", sequences.deep_speech)
mobilenet = partial(saved, "mobilenet_v2", partial(classifiers.mobilenet_v2, 96))
open_bert = partial(exported, "open/bert.onnx")
transformer = partial(exported, "pytorch/transformer.pt2")
