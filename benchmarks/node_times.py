"""Whether the times of nodes and layers add up to those of whole runs, and samples agree with timers.

    python benchmarks/node_times.py [--threads 1] [light_resnet50 lstm ..]

Per network, on random weights: the milliseconds of a whole run, CPU time of all threads; the sum of its graph's nodes
as the debugger's report has them, by turns with whole runs, and that sum as a part of the whole, each the least of all
rounds; how much of the nodes' time the layers account for; and of the kernel calls that take at least 2 % the largest
difference between their parts by samples of the program counter and by the clock, of the same runs, in points of a
percentage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from numpy.typing import NDArray
from onnx import numpy_helper

import whence
from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.executables.executable import Executable
from whence.explorer.layers import snapshot
from whence.lowering.llvm_to_native.sampler import can_sample
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.reading.models import model_path
from whence.relay.build_module import GraphExecutorFactoryModule

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests/support"))

from random_weights import randomize_weights  # noqa: E402

NETWORKS = ("light_resnet50", "light_densenet121", "lstm", "transformer")
ROUNDS = 10
SECONDS = 3
LEAST = 0.02
STEPS, WIDTH, HEADS = 64, 256, 8


def load(name: str) -> onnx.ModelProto:
    if name.startswith("light_"):
        return randomize_weights(onnx.ModelProto.FromString(model_path(name).read_bytes()))
    return lstm() if name == "lstm" else transformer()


def weight(rng: np.random.Generator, name: str, *shape: int) -> onnx.TensorProto:
    values = rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[-2]))
    return numpy_helper.from_array(values, name)


def lstm() -> onnx.ModelProto:
    model = onnx.parser.parse_model(f"""
<ir_version: 8, opset_import: ["" : 17]>
lstm (float[{STEPS},1,{WIDTH}] x) => (float[{STEPS},1,1,{WIDTH}] y)
{{ y = LSTM <hidden_size = {WIDTH}> (x, w, r) }}
""")
    rng = np.random.default_rng(0)
    model.graph.initializer.extend(weight(rng, name, 1, 4 * WIDTH, WIDTH) for name in "wr")
    return model


def transformer() -> onnx.ModelProto:
    """Two blocks of attention and a perceptron."""
    size = WIDTH // HEADS
    lines = [f"split = Constant <value = int64[4] {{1, {STEPS}, {HEADS}, {size}}}> ()"]
    lines.append(f"join = Constant <value = int64[3] {{1, {STEPS}, {WIDTH}}}> ()")
    names: list[tuple[str, int, int]] = []
    value = "x"
    for block in range(2):
        for part in "qkv":
            names.append((f"w{part}{block}", WIDTH, WIDTH))
            axes = "0, 2, 3, 1" if part == "k" else "0, 2, 1, 3"
            lines.append(f"{part}m{block} = MatMul ({value}, w{part}{block})")
            lines.append(f"{part}r{block} = Reshape ({part}m{block}, split)")
            lines.append(f"{part}{block} = Transpose <perm = [{axes}]> ({part}r{block})")
        names += [(f"wo{block}", WIDTH, WIDTH), (f"wa{block}", WIDTH, 4 * WIDTH), (f"wb{block}", 4 * WIDTH, WIDTH)]
        lines += [
            f"s{block} = MatMul (q{block}, k{block})",
            f"p{block} = Softmax <axis = -1> (s{block})",
            f"c{block} = MatMul (p{block}, v{block})",
            f"t{block} = Transpose <perm = [0, 2, 1, 3]> (c{block})",
            f"j{block} = Reshape (t{block}, join)",
            f"o{block} = MatMul (j{block}, wo{block})",
            f"h{block} = Add ({value}, o{block})",
            f"a{block} = MatMul (h{block}, wa{block})",
            f"g{block} = Relu (a{block})",
            f"b{block} = MatMul (g{block}, wb{block})",
            f"y{block} = Add (h{block}, b{block})",
        ]
        value = f"y{block}"
    text = "\n".join(lines)
    shape = f"float[1,{STEPS},{WIDTH}]"
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> transformer ({shape} x) => ({shape} {value}) {{ {text} }}'
    )
    rng = np.random.default_rng(0)
    model.graph.initializer.extend(weight(rng, name, *extents) for name, *extents in names)
    return model


def inputs_of(compiled: Executable) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(0)
    return {
        spec.name: rng.integers(0, 2, spec.shape).astype(spec.dtype)
        if spec.dtype.kind in "iub"
        else rng.standard_normal(spec.shape).astype(spec.dtype)
        for spec in compiled.inputs
    }


def measure(compiled: Executable, inputs: Mapping[str, NDArray[Any]]) -> tuple[object, ...]:
    lib = GraphExecutorFactoryModule(compiled, snapshot(compiled.artifact, "relay"))
    debug = GraphModuleDebug(lib.debug_create("default"))
    wholes: list[float] = []
    nodes: list[list[float]] = []
    accounted = 0.0
    end = time.monotonic() + SECONDS
    while len(wholes) < ROUNDS or time.monotonic() < end:
        # The report warms up, too.
        compiled.run(inputs)
        with thread_pool(compiled.threads).clock() as clock:
            start = clock()
            compiled.run(inputs)
            wholes.append(clock() - start)
        report = debug.profile(**inputs)
        nodes.append([float(call["Duration (us)"]) * 1e-6 for call in report.calls])
        accounted = sum(report.by_layer().values()) * 1e-6 / sum(nodes[-1])
    debug.exit()
    whole, total = min(wholes), min(map(sum, nodes))
    gap = ""
    if can_sample():
        # Both of the same runs: what else the machine does then is in both.
        samples = compiled.sample(inputs, 2.0)
        parts = [taken / sum(samples.timed) for taken in samples.timed]
        sampled = [call.total / max(samples.total, 1) for call in samples.calls]
        gap = f"{100 * max((abs(a - b) for a, b in zip(parts, sampled, strict=True) if a >= LEAST), default=0):.1f}"
    return f"{whole * 1e3:.2f}", f"{total * 1e3:.2f}", f"{total / whole:.1%}", f"{accounted:.1%}", gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    args = parser.parse_args()
    print(f"{'network':20}{'run ms':>10}{'nodes ms':>10}{'nodes/run':>11}{'layers':>9}{'samples':>9}")
    for name in args.networks:
        compiled = whence.compile(load(name), threads=args.threads)
        row = measure(compiled, inputs_of(compiled))
        print(f"{name:20}{row[0]:>10}{row[1]:>10}{row[2]:>11}{row[3]:>9}{row[4]:>9}")


if __name__ == "__main__":
    main()
