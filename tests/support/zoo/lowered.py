"""Networks in fewer bits: int8 by onnxruntime's own tool, float16 by its converter, and TFLite files of int8."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from tflite_builder import random_inputs

from zoo.builder import Array, Built


class File(NamedTuple):
    """A TFLite file, and inputs for it by name."""

    model: bytes
    inputs: dict[str, Array]


class _Samples:
    """Inputs that ranges are taken of: those of the network, and two more of the same kind."""

    def __init__(self, inputs: dict[str, Array]):
        rng = np.random.default_rng(1)
        self.samples: Iterator[dict[str, Array]] = iter(
            [inputs, *({name: rng.permuted(values) for name, values in inputs.items()} for _ in range(2))]
        )

    def get_next(self) -> dict[str, Array] | None:
        return next(self.samples, None)


def _rewritten(built: Built, tool: str, *arguments: Any, **options: Any) -> Built:
    """What a tool of onnxruntime.quantization writes into a file, of a file; its advice is not shown."""
    tools: Any = import_module("onnxruntime.quantization")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "floats.onnx"), Path(folder, "bytes.onnx")
        source.write_bytes(built.model.SerializeToString())
        logging.disable(logging.WARNING)
        try:
            getattr(tools, tool)(source, target, *arguments, weight_type=tools.QuantType.QInt8, **options)
        finally:
            logging.disable(logging.NOTSET)
        return Built(onnx.ModelProto.FromString(target.read_bytes()), built.inputs)


def quantised(make: Callable[..., Built], saturating: bool = False) -> Built:
    """QDQ: uint8 activations, int8 weights of a scale per channel."""
    tools: Any = import_module("onnxruntime.quantization")
    built = make(saturating=saturating)
    reader: Any = type("Samples", (_Samples, tools.CalibrationDataReader), {})(built.inputs)
    form = {"quant_format": tools.QuantFormat.QDQ, "activation_type": tools.QuantType.QUInt8}
    return _rewritten(built, "quantize_static", reader, per_channel=True, **form)


def dynamic(make: Callable[..., Built], saturating: bool = False) -> Built:
    """Products of int8 weights with activations whose scale a call decides."""
    return _rewritten(make(saturating=saturating), "quantize_dynamic", op_types_to_quantize=["MatMul"])


def half(make: Callable[..., Built], saturating: bool = False) -> Built:
    """All numbers float16, inputs and outputs too."""
    convert: Any = import_module("onnxruntime.transformers.float16").convert_float_to_float16
    built = make(saturating=saturating)
    inputs = {name: v.astype(np.float16) if v.dtype == np.float32 else v for name, v in built.inputs.items()}
    return Built(convert(built.model), inputs)


def tflite(make: Callable[[], bytes], saturating: bool = False) -> File:
    """A TFLite network; a saturating one has inputs of the two ends of their range."""
    data = make()
    inputs = random_inputs(data, np.random.default_rng(0), -1, 1)
    if saturating:
        inputs = {name: np.where(v > 0, 127, -128).astype(v.dtype) for name, v in inputs.items()}
    return File(data, inputs)
