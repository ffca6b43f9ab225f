"""Small networks as today's exporters write them (tests/exports/make.py), against onnxruntime.

One form of each network is compiled. The others, which other exporters and quantisers write, become the same operators:
they are imported, go through all relay passes, and what is left is evaluated with numpy. With `--compile-all` they are
compiled, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.passes.pipelines import relay_pipeline, run_passes

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")
FILES = sorted((Path(__file__).parent.parent / "exports").glob("*.onnx"))
SIZES = ({"default": 2, "seq": 7}, {"default": 1, "seq": 4})
"""Of open extents, by a part of their names; the second time the same program meets others."""
TWICE = ("unet.trace",)
"""Networks that meet two sizes."""
EVALUATED = {
    *(
        "bert",
        "bert.trace",
        "convnext",
        "efficientnet",
        "gpt2",
        "gpt2.trace",
        "rnn",
        "swin",
        "unet",
        "wav2vec2",
        "whisper",
    ),
    *("llama.half", "mobilenet_v3.qdq", "mobilenet_v3.qop", "unet.qdq", "unet.qop", "vit.half", "vit.qdq", "vit.qop"),
    *(f"{name}.trace" for name in ("convnext", "deeplab", "efficientnet", "gru", "llama", "lstm")),
    *(f"{name}.trace" for name in ("mobilenet_v3", "rnn", "shufflenet_v2", "swin", "t5", "vit", "wav2vec2", "whisper")),
}
"""Further forms of networks that are compiled in another one, and quantised ones of which others have the kernels."""


def inputs_of(model: onnx.ModelProto, sizes: dict[str, int], seed: int) -> dict[str, Array]:
    """Random inputs: ids below 64, masks of ones, normally distributed numbers."""
    rng = np.random.default_rng(seed)
    constants = {tensor.name for tensor in model.graph.initializer}
    found: dict[str, Array] = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = [
            dim.dim_value or next((n for part, n in sizes.items() if part in dim.dim_param), sizes["default"])
            for dim in tensor.shape.dim
        ]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind in "iu":
            numbers = np.ones(shape) if "mask" in value.name or value.name == "x1" else rng.integers(0, 64, shape)
        else:
            numbers = rng.standard_normal(shape)
        found[value.name] = numbers.astype(dtype)
    return found


def is_open(model: onnx.ModelProto) -> bool:
    return any(dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim)


def reference(path: Path) -> Any:
    """A session of onnxruntime on one thread."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if is_quantised(path.stem):
        # Where the machine multiplies bytes in pairs without room for the sum, the optimised form saturates.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def agree(path: Path, found: Sequence[Array], wanted: Sequence[Array]) -> None:
    for at, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), at
        span = float(np.ptp(theirs.astype(np.float64))) if theirs.size else 1.0
        error = np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)
        assert error <= tolerance(path.stem, theirs) * max(span, 1e-3), (at, error, span)


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in EVALUATED], ids=lambda path: path.stem)
def test_exported_networks(path: Path):
    compiled(path)


def compiled(path: Path) -> None:
    """Compile a network and compare."""
    model = onnx.ModelProto.FromString(path.read_bytes())
    session = reference(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        executable = whence.compile(path, threads=1, audit=True)
    for seed, sizes in enumerate(SIZES[: 2 if is_open(model) and path.stem in TWICE else 1]):
        inputs = inputs_of(model, sizes, seed)
        agree(path, list(executable.run(inputs).values()), session.run(None, inputs))


@pytest.mark.parametrize("path", [path for path in FILES if path.stem in EVALUATED], ids=lambda path: path.stem)
def test_further_forms(path: Path, request: pytest.FixtureRequest):
    if request.config.getoption("--compile-all"):
        compiled(path)
    model = onnx.ModelProto.FromString(path.read_bytes())
    inputs = inputs_of(model, SIZES[0], 0)
    shapes = {name: x.shape for name, x in inputs.items()} if is_open(model) else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = whence.load(path, shapes)
    run_passes(module, relay_pipeline(3), audit=True)
    module.verify()
    agree(path, evaluate_module(module, list(inputs.values())), reference(path).run(None, inputs))


def test_every_network_is_compiled():
    compiled = {path.stem.partition(".")[0] for path in FILES if path.stem not in EVALUATED}
    # Made of blocks that others have, or compiled for all sizes (test_open_exports.py).
    others = {"convnext", "efficientnet", "rnn", "swin", "wav2vec2", "whisper", "vit", "bert", "gpt2"}
    assert compiled | others == {path.stem.partition(".")[0] for path in FILES}
    assert {path.stem for path in FILES} >= EVALUATED


def is_quantised(name: str) -> bool:
    return name.endswith((".qdq", ".qop"))


def tolerance(name: str, reference: Array) -> float:
    """Of the range of an output: two steps of int8, the rounding of half precision, 1e-4 else."""
    if is_quantised(name):
        return 2 / 127
    return 2e-2 if reference.dtype == np.float16 else 1e-4
