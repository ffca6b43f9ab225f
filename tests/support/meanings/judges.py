# pyright: basic, reportMissingImports=false
"""The runtimes of the formats, which say whether a table is right, where they are installed."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from special_numbers import Array


def onnx(model: Any, inputs: Sequence[Array]) -> list[Any]:
    from onnx.reference import ReferenceEvaluator
    from reference_runtime import onnxruntime_outputs

    feeds = {value.name: array for value, array in zip(model.graph.input, inputs, strict=True)}
    try:
        return onnxruntime_outputs(model, feeds, quiet=True)
    except Exception:
        evaluator: Any = ReferenceEvaluator(model)
        return evaluator.run(None, feeds)


def tflite(model: bytes, inputs: Sequence[Array]) -> list[Any]:
    from litert_worker import Judge

    judge = Judge()
    try:
        results = judge(model, list(inputs))
    finally:
        judge.close()
    if not isinstance(results, list):
        raise RuntimeError(str(results))
    return results


def torch(model: bytes, inputs: Sequence[Array]) -> list[Any]:
    """Call the operators of a program's nodes one by one."""
    import torch

    from whence.frontends.torch.tensors import DTYPES

    def tensor(array: Array) -> Any:
        return torch.from_numpy(np.array(array))

    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        document = json.loads(archive.read("net/models/model.json"))
        configs = json.loads(archive.read("net/data/constants/model_constants_config.json"))["config"]
        constants = {name: archive.read(f"net/data/constants/{name}") for name in configs}
    graph = document["graph_module"]["graph"]
    values: dict[str, Any] = {}
    for name, config in configs.items():
        meta = config["tensor_meta"]
        flat = np.frombuffer(constants[name], DTYPES[meta["dtype"]])
        values[name] = tensor(flat.reshape([size["as_int"] for size in meta["sizes"]]))
    free = [item["as_tensor"]["name"] for item in graph["inputs"] if item["as_tensor"]["name"] not in configs]
    values |= dict(zip(free, map(tensor, inputs), strict=True))

    def argument(raw: dict[str, Any]) -> Any:
        ((kind, value),) = raw.items()
        match kind:
            case "as_tensor":
                return values[value["name"]]
            case "as_none":
                return None
            case "as_tensors":
                return [values[item["name"]] for item in value]
            case "as_optional_tensors":
                return [argument(item) for item in value]
            case "as_scalar_type":
                return getattr(torch, DTYPES[value].name)
            case "as_float":
                return float(value)
            case _:
                return value

    for node in graph["nodes"]:
        operator: Any = torch.ops
        for part in node["target"].removeprefix("torch.ops.").split("."):
            operator = getattr(operator, part)
        results = operator(**{entry["name"]: argument(entry["arg"]) for entry in node["inputs"]})
        outputs = node["outputs"]
        if "as_tensors" in outputs[0]:
            outputs = [{"as_tensor": item} for item in outputs[0]["as_tensors"]]
        listed = results if isinstance(results, tuple | list) else [results]
        for output, result in zip(outputs, listed, strict=False):
            values[output["as_tensor"]["name"]] = result
    return [values[item["as_tensor"]["name"]].numpy() for item in graph["outputs"]]


def keras(model: bytes, inputs: Sequence[Array]) -> list[Any]:
    os.environ.setdefault("KERAS_BACKEND", "numpy")
    import keras

    ops = import_module("keras.src.ops")
    homes = {name: getattr(kind, "__module__", "") for name, kind in _classes(ops).items()}
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(files["config.json"])
    document["module"] = "keras.src.models.functional"
    for layer in document["config"]["layers"]:
        if layer["module"].startswith("keras.src.ops"):
            layer["module"] = homes[layer["class_name"]]
    files["config.json"] = json.dumps(document).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.keras"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        loaded: Any = keras.saving.load_model(path, compile=False)
    results = loaded(list(inputs) if len(inputs) != 1 else inputs[0])
    return [np.asarray(result) for result in (results if isinstance(results, list | tuple) else [results])]


def _classes(package: Any) -> dict[str, Any]:
    """The classes of operations, by name."""
    classes: dict[str, Any] = {}
    for name in ("numpy", "nn", "math", "core", "image", "linalg"):
        module = import_module(f"{package.__name__}.{name}")
        own = {key: kind for key, kind in vars(module).items() if getattr(kind, "__module__", "") == module.__name__}
        classes = {**own, **classes}
    return classes


def tensorflow(model: bytes, inputs: Sequence[Array]) -> list[Any]:
    import tensorflow as tf

    definition: Any = tf.compat.v1.GraphDef()
    definition.ParseFromString(model)
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
        names = [node.name for node in definition.node if node.op == "Placeholder"]
        outputs = [node.name for node in definition.node if node.name.startswith("z")]
        with tf.compat.v1.Session(graph=graph) as session:
            feeds = {f"{name}:0": array for name, array in zip(names, inputs, strict=True)}
            return session.run([f"{name}:0" for name in outputs], feeds)


def stablehlo(model: bytes, inputs: Sequence[Array]) -> list[Any]:
    import jax
    from jax._src import compiler, xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    jax.config.update("jax_enable_x64", True)
    backend: Any = xla_bridge.get_backend("cpu")
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(model.decode())
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        devices = xla_client.DeviceList(tuple(backend.devices()[:1]))
        executable = backend.compile_and_load(module, devices, options)
    arguments = [jax.device_put(array) for array in inputs]
    return [
        np.asarray(part[0]) for part in executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    ]
