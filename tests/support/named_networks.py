"""Networks that are there offline, by name: those of the onnx package, exported ones, and one by script for TFLite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import onnx
from random_weights import randomize_weights
from tflite_networks import mobilenet

from whence.reading.models import model_path

_EXPORTS = Path(__file__).parent.parent / "exports"


def _light(name: str) -> Callable[[], Any]:
    # The networks that onnx ships have no weights of their own.
    return lambda: randomize_weights(cast(Any, onnx).load(model_path(f"light_{name}")))


def _exported(name: str) -> Callable[[], Any]:
    return lambda: str(_EXPORTS / f"{name}.onnx")


NETWORKS: dict[str, Callable[[], Any]] = {
    **{name: _light(name) for name in ("squeezenet", "resnet50", "shufflenet", "densenet121")},
    **{name: _exported(name) for name in ("bert", "gpt2", "vit.qdq", "lstm", "whisper", "unet", "unet.qop")},
    **{name: _exported(name) for name in ("mobilenet_v3", "mobilenet_v3.qdq", "efficientnet")},
    "tflite mobilenet": lambda: mobilenet(96, 0.5, integers=False),
    "tflite mobilenet int8": lambda: mobilenet(96, 0.5, integers=True),
}
"""Name -> what makes a source that `whence.compile` takes."""
