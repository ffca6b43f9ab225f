"""How often models are compiled as sizes change: exported networks, and networks in the manner of others, by script.

    python tests/support/compile_counts.py [NAME ...]

Runs each at five sizes, against onnxruntime, and prints a line: how many programs were compiled before the first call,
and for each call. The exit code is 1 where something is compiled after the second size, or a result differs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import onnx
from loop_models import LOOPS
from numpy.typing import NDArray
from size_networks import NETWORKS

import whence
from whence.planning import build as building

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")
FOLDER = Path(__file__).parent.parent / "exports"
LIMIT = 1e-3
"""The largest difference, as a part of the range of an output."""
QUANTISED = 0.05
"""The same of networks of 8 bits, of which single values may be a step off."""


@dataclass(frozen=True)
class Case:
    """A model, and its inputs for sizes that are counted from 0."""

    model: onnx.ModelProto
    inputs: Callable[[int], dict[str, Array]]
    limit: float = LIMIT


Sizes = Mapping[str, Sequence[int]]
"""What the extents of some names are, call by call."""

_IMAGE: Sizes = {"n": (1, 2, 1, 3, 2), "h": (32, 64, 96, 64, 128), "w": (64, 32, 64, 96, 32)}
_BATCH: Sizes = {"n": (1, 2, 3, 1, 5)}
_TEXT: Sizes = {"n": (2, 1, 3, 1, 2), "t": (7, 12, 5, 1, 20)}
_ROWS: Sizes = {"t": (7, 12, 5, 1, 33)}
_CACHE: Sizes = {"n": (1, 2, 1, 1, 2), "t": (7, 1, 1, 3, 2), "p": (0, 7, 8, 5, 1)}

EXPORTS: dict[str, tuple[Sequence[Sequence[str | int]], Sizes]] = {
    "bert.trace.onnx": ([["n", "t"], ["n", "t"]], _TEXT),
    "bert.onnx": ([["n", "t"], ["m", "t"]], {**_TEXT, "m": _TEXT["n"]}),
    **{f"convnext{kind}.onnx": ([["n", 3, 32, 32]], _BATCH) for kind in ("", ".trace")},
    **{f"mobilenet_v3{kind}.onnx": ([["n", 3, "h", "w"]], _IMAGE) for kind in (".trace", ".qdq", ".qop")},
    **{f"{name}.onnx": ([[1, 3, "h", "w"]], _IMAGE) for name in ("mobilenet_v3", "efficientnet")},
    "efficientnet.trace.onnx": ([["n", 3, "h", "w"]], _IMAGE),
    **{f"{name}.trace.onnx": ([[2, "t", 12]], _ROWS) for name in ("gru", "lstm", "rnn")},
    **{f"t5{kind}.onnx": ([["n", "t"]], _TEXT) for kind in ("", ".trace")},
    **{f"unet{kind}.onnx": ([["n", 3, 16, 24]], _BATCH) for kind in ("", ".trace", ".half", ".qdq", ".qop")},
    **{f"vit{kind}.onnx": ([["n", 3, 32, 32]], _BATCH) for kind in (".trace", ".qop")},
    **{f"open/bert{kind}.onnx": ([["n", "t"], ["n", "t"]], _TEXT) for kind in ("", ".dynamo")},
    **{
        f"open/{name}.onnx": ([["n", "t"], *[["n", heads, "p", 8]] * 4], _CACHE)
        for name, heads in (("gpt2", 4), ("llama", 2))
    },
    "open/lstm.onnx": ([["n", "t", 12]], _TEXT),
    "open/detector.onnx": ([["n", 3, "h", "w"]], _IMAGE),
    "open/recogniser.onnx": ([["n", 1, 32, "w"]], {"n": _BATCH["n"], "w": (31, 64, 9, 100, 17)}),
}
"""File -> the extents of its inputs, those of exporters who wrote numbers opened; and their sizes.

Not here are graphs in which exporters wrote numbers for all sizes: of these onnxruntime takes one, too.
"""


def exported(name: str) -> Case:
    dims, sizes = EXPORTS[name]
    model: onnx.ModelProto = cast(Any, onnx).load(FOLDER / name)
    constants = {tensor.name for tensor in model.graph.initializer}
    given = [value for value in model.graph.input if value.name not in constants]
    for value, extents in zip(given, dims, strict=True):
        for dim, extent in zip(value.type.tensor_type.shape.dim, extents, strict=True):
            if isinstance(extent, str):
                dim.dim_param = extent
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]

    def inputs(call: int) -> dict[str, Array]:
        rng = np.random.default_rng(call)
        found: dict[str, Array] = {}
        for number, (value, extents) in enumerate(zip(given, dims, strict=True)):
            shape = [sizes[extent][call] if isinstance(extent, str) else extent for extent in extents]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            if dtype.kind not in "iu":
                found[value.name] = rng.standard_normal(shape).astype(dtype)
            elif number:  # a mask
                found[value.name] = np.ones(shape, dtype)
            else:
                found[value.name] = rng.integers(0, 20, shape).astype(dtype)
        return found

    return Case(model, inputs, QUANTISED if ".q" in name else LIMIT)


def looping(name: str) -> Case:
    loop = LOOPS[name]()
    return Case(loop.model, lambda call: loop.inputs((3, 10, 40, 1, 2)[call]))


def in_the_manner_of(name: str) -> Case:
    network = NETWORKS[name]()
    return Case(network.model, network.inputs)


CASES: dict[str, Callable[[], Case]] = {
    **{name: lambda name=name: exported(name) for name in EXPORTS},
    **{name: lambda name=name: looping(name) for name in LOOPS},
    **{name: lambda name=name: in_the_manner_of(name) for name in NETWORKS},
}


def counts(case: Case) -> list[int]:
    """How many modules were compiled before the first call, and for each; raises AssertionError for other results."""
    real, made = building.compile_kernels, list[int]()

    def counting(*args: Any, **options: Any) -> Any:
        made.append(1)
        return real(*args, **options)

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[int] = []
    with patch.object(building, "compile_kernels", counting):
        executable = whence.compile(case.model, threads=1)
        found.append(len(made))
        for call in range(5):
            made.clear()
            inputs = case.inputs(call)
            results = executable.run(inputs)
            found.append(len(made))
            for (name, mine), theirs in zip(results.items(), session.run(None, inputs), strict=True):
                assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (call, name)
                span = max(float(np.ptp(theirs)) if theirs.size else 0.0, 1e-3)
                error = float(np.abs(mine.astype(np.float64) - theirs).max(initial=0)) / span
                assert error <= case.limit, (call, name, error)
    return found


def main(arguments: Sequence[str]) -> int:
    wrong = 0
    for name in arguments or CASES:
        try:
            before, *calls = counts(CASES[name]())
            late = sum(calls[2:])
            wrong += late > 0
            print(f"{name}: {before} before, {' '.join(map(str, calls))}{' late' if late else ''}", flush=True)
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
