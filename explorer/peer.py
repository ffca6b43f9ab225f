"""The time that onnxruntime takes for the layers of a model, from its own profile of its nodes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

from ..frontends.onnx.program import layer_names
from ..support.dtypes import Array
from ..support.errors import FrontendError
from .reference import layer_tensors
from .references import read_onnx
from .times import Times

_RUNS = 8
_WARM = 3
"""Runs before those that count."""
_ENDS = "_/:"
"""What follows the name of a layer in that of a node that onnxruntime made of it."""


class PeerTimes(NamedTuple):
    """The seconds of another runtime's nodes on one thread, in the order in which they run."""

    runtime: str
    nodes: list[tuple[str, float]]
    tensors: Mapping[str, str]
    """The name of a tensor -> the layer that gives it: nodes that fuse layers may be named by what they give."""


def node_times(profile: Path, chosen: Callable[[Sequence[float]], float] = median) -> list[tuple[str, float]]:
    """Return each node's name and seconds, chosen of those of all runs, from a profile that onnxruntime wrote."""
    events: list[dict[str, Any]] = json.loads(profile.read_text())
    seconds = defaultdict[str, list[float]](list)
    for event in events:
        name, mark, _ = event["name"].partition("_kernel_time")
        if mark and event.get("cat") == "Node":
            seconds[name].append(event["dur"] * 1e-6)
    return [(name, chosen(times[_WARM:] or times)) for name, times in seconds.items()]


def onnxruntime_times(path: Path, inputs: Mapping[str, Array]) -> PeerTimes:
    """Run an .onnx file with onnxruntime on one thread; return the least times of its nodes, named as layers are here.

    Least times by the clock on the wall, the only ones that it tells, are nearly those of a processor of its own.

    Raises FrontendError where onnxruntime is not installed, or does not take the model.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise FrontendError("reference: expected onnxruntime to be installed, got none") from error
    library, model = cast(Any, onnxruntime), read_onnx(path)
    tensors = {name: layer for layer, names in layer_tensors(model).items() for name in names}
    for node, name in zip(model.graph.node, layer_names(model.graph.node), strict=True):
        node.name = name
    options = library.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_profiling = True
    with TemporaryDirectory() as folder:
        options.profile_file_prefix = f"{folder}/profile"
        try:
            session = library.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            wanted = {value.name for value in session.get_inputs()}
            for _ in range(_WARM + _RUNS):
                session.run(None, {name: array for name, array in inputs.items() if name in wanted})
            profile = Path(session.end_profiling())
        except Exception as error:
            raise FrontendError(f"reference: expected a model that onnxruntime runs, got: {error}") from error
        return PeerTimes("onnxruntime", node_times(profile, min), tensors)


def call_of_nodes(owner: Mapping[str, int], nodes: Iterable[tuple[str, float]]) -> list[tuple[int, float]]:
    """Return the kernel call that each node belongs to, and its seconds.

    owner: layer -> the call that most of it is in. A node that fuses layers has the name of one of them, maybe longer;
    one of another name belongs to what runs before.
    """
    at, result = 0, list[tuple[int, float]]()
    for name, seconds in nodes:
        layers = [name[:end] for end in range(len(name), 0, -1) if end == len(name) or name[end] in _ENDS]
        at = next((owner[layer] for layer in layers if layer in owner), at)
        result.append((at, seconds))
    return result


def owners_of_layers(times: Times) -> dict[str, int]:
    """Return the call that most of each layer is in."""
    most: dict[str, tuple[float, int]] = {}
    for number, parts in enumerate(times.layers):
        for layer, share in parts.items():
            if layer is not None:
                most[layer.name] = max(most.get(layer.name, (-1.0, 0)), (share, number))
    return {layer: number for layer, (_, number) in most.items()}


def peers_of_calls(times: Times, peer: PeerTimes) -> Sequence[float]:
    """Return the peer's seconds for each kernel call's layers; -1.0 where none of its nodes belongs to a call."""
    seconds = [-1.0] * len(times.calls)
    if seconds:
        owner = owners_of_layers(times)
        owner |= {
            tensor: owner[layer] for tensor, layer in peer.tensors.items() if layer in owner and tensor not in owner
        }
        for call, spent in call_of_nodes(owner, peer.nodes):
            seconds[call] = max(seconds[call], 0.0) + spent
    return seconds
