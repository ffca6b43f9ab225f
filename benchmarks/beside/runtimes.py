"""The runtimes that networks are measured in: each opens a model file, and returns a function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Feeds = dict[str, NDArray[Any]]


class Opened(NamedTuple):
    run: Callable[[], Sequence[NDArray[Any]]]
    """The outputs, in the model's order."""
    handle: Any
    """The runtime's own object."""


def whence(model: str, feeds: Feeds, kind: str, threads: int) -> Opened:
    module: Any = import_module("whence")
    # A model of halves may be computed in any: OpenVINO's default does as "auto" does.
    chosen = {"precision": "auto"} if kind == "f16" else {}
    compiled = module.compile(model, threads=threads, **chosen)
    return Opened(lambda: list(compiled.run(feeds).values()), compiled)


def onnxruntime(model: str, feeds: Feeds, kind: str, threads: int, profile: str = "") -> Opened:
    """profile: how the file begins that it writes the times of its nodes into."""
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # Between runs another candidate has the processors.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return Opened(lambda: session.run(None, feeds), session)


def openvino(model: str, feeds: Feeds, kind: str, threads: int, *, rounds: bool = False) -> Opened:
    """rounds: in the numbers of its default, bfloat16 on machines that multiply them faster."""
    runtime: Any = import_module("openvino")
    # Networks of floats stay such; where the model itself has other numbers, the default decides.
    hints = {"INFERENCE_PRECISION_HINT": "f32"} if kind == "f32" and not rounds else {}
    numbers = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
    compiled = runtime.Core().compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", **numbers, **hints})
    request = compiled.create_infer_request()
    # LiteRT's files give inputs names in another order of ends.
    given = {compiled.input(name): values for name, values in feeds.items()}

    def run() -> list[NDArray[Any]]:
        results = request.infer(given, share_inputs=True, share_outputs=True)
        return [results[port] for port in compiled.outputs]

    return Opened(run, compiled)


def litert(model: str, feeds: Feeds, kind: str, threads: int, plain: bool = False) -> Opened:
    """plain: with its slow kernels, which define what integers are right; its fast ones round otherwise."""
    runtime: Any = import_module("ai_edge_litert.interpreter")
    kernels = runtime.OpResolverType.BUILTIN_REF if plain else runtime.OpResolverType.AUTO
    interpreter = runtime.Interpreter(model_path=model, num_threads=threads, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    entries = [(entry["index"], feeds[entry["name"]]) for entry in interpreter.get_input_details()]
    exits = [entry["index"] for entry in interpreter.get_output_details()]

    def run() -> list[NDArray[Any]]:
        for index, values in entries:
            interpreter.set_tensor(index, values)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in exits]

    return Opened(run, interpreter)


RUNTIMES: dict[str, Callable[[str, Feeds, str, int], Opened]] = {
    "whence": whence,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "openvino as it is": partial(openvino, rounds=True),
    "litert": litert,
    "reference": partial(litert, plain=True),
}


def peers(kind: str) -> tuple[str, ...]:
    """The runtimes that networks of a class are measured beside; the first says what is right, if nothing else does."""
    return ("litert", "openvino") if kind == "tflite" else ("onnxruntime", "openvino")


def defaults(kind: str) -> tuple[str, ...]:
    """The same with all their defaults: OpenVINO's numbers of float32 networks are its own choice."""
    return ("onnxruntime", "openvino as it is") if kind == "f32" else peers(kind)


def feeds_of(model: Path) -> Feeds:
    """The inputs that lie beside a model."""
    with np.load(model.with_suffix(".npz")) as arrays:
        return {name: arrays[name] for name in arrays.files}
