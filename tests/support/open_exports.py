"""Exported networks that take any sizes, each compiled once, against onnxruntime: text, decoders, pictures, lines.

    python tests/support/open_exports.py [NAME ...]

Runs every length of a sentence up to 130 in batches of 1 to 3, 200 steps of decoders whose caches grow, 20 sizes of
pictures, sequences and lines of any length. Prints a line for each network; the exit code is 1 where a result differs
or something was compiled for a call.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import whence
from whence.executables.sized import SizedExecutable
from whence.planning import build as building

Array = NDArray[Any]
Inputs = dict[str, Array]
ort: Any = import_module("onnxruntime")
FOLDER = Path(__file__).parent.parent / "exports" / "open"
LIMIT = 1e-4
"""The largest difference, as a part of the range of an output."""


def floats(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def sentences() -> Iterator[Inputs]:
    for length in range(1, 131):
        for batch in (1, 2, 3):
            rng = np.random.default_rng((length, batch))
            mask = np.ones((batch, length), np.int64)
            # The last sentence of a batch is shorter.
            mask[-1, max(1, length * 2 // 3) :] = 0
            yield {"input_ids": rng.integers(0, 64, (batch, length)), "attention_mask": mask}


def sequences() -> Iterator[Inputs]:
    for length in (*range(1, 34), 64, 65, 200):
        yield {"x": floats(1 + length % 3, length, 12)}


def pictures() -> Iterator[Inputs]:
    sizes = [(8, 8), (9, 16), (15, 17), (16, 24), (33, 31), (40, 64), (64, 40), (65, 65), (96, 70), (128, 96)]
    for batch, more in ((1, 0), (2, 7)):
        for height, width in sizes:
            yield {"image": floats(batch, 3, height + more, width)}


def lines() -> Iterator[Inputs]:
    for width in (*range(4, 24), 31, 32, 33, 100, 129, 320):
        yield {"line": floats(1 + width % 2, 1, 32, width)}


class Network(NamedTuple):
    file: str
    calls: Callable[[], Iterator[Inputs]]
    cache: int = 0
    """How many heads there are in the cache of a decoder, which goes on with what it gave."""


NETWORKS = {
    "bert": Network("bert.onnx", sentences),
    "bert.dynamo": Network("bert.dynamo.onnx", sentences),
    "lstm": Network("lstm.onnx", sequences),
    "detector": Network("detector.onnx", pictures),
    "recogniser": Network("recogniser.onnx", lines),
    "gpt2": Network("gpt2.onnx", lambda: decoding(4), 4),
    "llama": Network("llama.onnx", lambda: decoding(2), 2),
}


def decoding(heads: int, steps: int = 200) -> Iterator[Inputs]:
    """A prompt of seven tokens, then one at a time; the cache is filled in by the one who runs it."""
    rng = np.random.default_rng(3)
    for step in range(steps):
        yield {"input_ids": rng.integers(0, 64, (1, 1 if step else 7))}


class Compiled:
    """A network compiled for all sizes, and how often kernels were compiled since."""

    def __init__(self, path: Path, **options: Any):
        self.made = 0
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = 1
        settings.log_severity_level = 4
        self.session = ort.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        executable, self.made = self.counted(lambda: whence.compile(path, threads=1, tier="symbolic", **options))
        assert isinstance(executable, SizedExecutable)
        self.executable = executable

    def counted(self, act: Callable[[], Any]) -> tuple[Any, int]:
        """What `act` gives, and how often it compiled the kernels of a module."""
        real, made = building.compile_kernels, list[int]()

        def counting(*args: Any, **options: Any) -> Any:
            made.append(1)
            return real(*args, **options)

        with patch.object(building, "compile_kernels", counting):
            return act(), len(made)

    def agree(self, inputs: Inputs) -> list[Array]:
        """The outputs; raises AssertionError where they are not onnxruntime's, or something was compiled."""
        found, made = self.counted(lambda: self.executable.run(inputs))
        assert made == 0, "compiled for a call"
        shapes = {name: array.shape for name, array in inputs.items()}
        wanted = self.session.run(None, inputs)
        for (name, mine), theirs in zip(found.items(), wanted, strict=True):
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (name, shapes)
            span = max(float(np.ptp(theirs)) if theirs.size else 0.0, 1e-3)
            error = float(np.abs(mine - theirs).max(initial=0)) / span
            assert error <= LIMIT, (name, error, shapes)
        return wanted


def run(name: str, only: Callable[[int], bool] = lambda number: True, steps: int = 200) -> int:
    """Run a network at all its sizes, or at those calls that `only` chooses by number; how many calls it were."""
    network = NETWORKS[name]
    compiled = Compiled(FOLDER / network.file)
    assert compiled.made == 1, f"compiled {compiled.made} times"
    if network.cache:
        return _decode(compiled, network, steps)
    chosen = [inputs for number, inputs in enumerate(network.calls()) if only(number)]
    for inputs in chosen:
        compiled.agree(inputs)
    return len(chosen)


def _decode(compiled: Compiled, network: Network, steps: int) -> int:
    names = [spec.name for spec in compiled.executable.inputs][1:]
    past = [np.zeros((1, network.cache, 0, 8), np.float32) for _ in names]
    for inputs in decoding(network.cache, steps):
        _, *past = compiled.agree({**inputs, **dict(zip(names, past, strict=True))})
    return steps


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", choices=[[], *NETWORKS], default=[])
    wrong = 0
    for name in parser.parse_args(arguments).name or NETWORKS:
        start = time.perf_counter()
        try:
            calls = run(name)
            print(f"{name}: {calls} calls like onnxruntime's, compiled once; {time.perf_counter() - start:.0f} s")
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
