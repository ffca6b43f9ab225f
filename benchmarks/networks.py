"""The networks that onnx ships: compile time, memory, coverage and one inference, beside onnxruntime.

    python benchmarks/networks.py                          every light network
    python benchmarks/networks.py --beside ../old/src      the same, and the Whence in that folder in turn with this one
    python benchmarks/networks.py squeezenet --threads 2

Each candidate is a process of its own with an empty kernel cache; inferences take turns, medians count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import IO, Any, cast

import numpy as np

ROOT = Path(__file__).parent.parent
NAMES = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)


def whence_says(model: str, image: np.ndarray[Any, Any], threads: int) -> tuple[dict[str, float], Any]:
    """What is to be known of the compiled network, and a function that runs it."""
    import whence

    start = time.perf_counter()
    exe = cast(Any, whence).compile(model, threads=threads)
    seconds = time.perf_counter() - start
    found = exe.coverage()
    return {"compile": seconds, "native": found["native"], "inferred": found.get("native_inferred", 0.0)}, (
        lambda: exe(image)
    )


def onnxruntime_says(model: str, image: np.ndarray[Any, Any], threads: int) -> tuple[dict[str, float], Any]:
    import onnxruntime

    runtime = cast(Any, onnxruntime)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    start = time.perf_counter()
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - start
    name = session.get_inputs()[0].name
    return {"compile": seconds}, lambda: session.run(None, {name: image})


def serve(kind: str, model: str, threads: int) -> None:
    """The process of one candidate: facts first, then the seconds of an inference for each line it reads."""
    image = np.load(f"{model}.npy")
    facts, run = (whence_says if kind == "whence" else onnxruntime_says)(model, image, threads)
    run()
    with open("/proc/self/status") as status:
        peak = next(line for line in status if line.startswith("VmHWM"))
    print(json.dumps(facts | {"peak": int(peak.split()[1]) / 1024}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        run()
        print(time.perf_counter() - start, flush=True)


class Candidate:
    def __init__(self, kind: str, source: str, model: Path, threads: int, cache: str):
        environment = {**os.environ, "PYTHONPATH": source, "WHENCE_CACHE_DIR": cache}
        words = [sys.executable, __file__, "--serve", kind, "--threads", str(threads), str(model)]
        self.process = subprocess.Popen(
            words, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.out, self.into = cast(IO[str], self.process.stdout), cast(IO[str], self.process.stdin)
        self.facts = cast(dict[str, float], json.loads(self.out.readline()))
        self.seconds: list[float] = []

    def turn(self) -> None:
        self.into.write("\n")
        self.into.flush()
        self.seconds.append(float(self.out.readline()))

    def end(self) -> None:
        self.into.close()
        self.process.wait()


def compare(name: str, sources: dict[str, str], threads: int, rounds: int) -> None:
    import onnx

    from whence.reading.models import model_path

    sys.path.append(str(ROOT / "tests/support"))
    from random_weights import randomize_weights

    with tempfile.TemporaryDirectory() as folder:
        # The networks have no weights of their own; tests fill them in the same way.
        graph = randomize_weights(cast(Any, onnx).load(model_path(f"light_{name}")))
        model = Path(folder) / f"{name}.onnx"
        model.write_bytes(graph.SerializeToString())
        initialized = {one.name for one in graph.graph.initializer}
        (given,) = (one for one in graph.graph.input if one.name not in initialized)
        shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
        np.save(f"{model}.npy", np.random.default_rng(0).standard_normal(shape).astype(np.float32))
        candidates: dict[str, Candidate] = {}
        for label, source in sources.items():
            kind = "onnxruntime" if label == "onnxruntime" else "whence"
            candidates[label] = Candidate(kind, source, model, threads, f"{folder}/{label}")
        for _ in range(rounds):
            for one in candidates.values():
                one.turn()
        ours = median(candidates["whence"].seconds)
        for label, one in candidates.items():
            spent = median(one.seconds)
            known = f"{one.facts['native']:8.1%}{one.facts['inferred']:9.1%}" if "native" in one.facts else " " * 17
            print(
                f"{name:14}{label:14}{one.facts['compile']:8.1f} s{one.facts['peak']:8.0f} MB{known}"
                f"{1e3 * spent:10.2f} ms{spent / ours:8.2f}",
                flush=True,
            )
            one.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--beside", metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve, args.names[0], args.threads)
        return
    source = str(ROOT / "src")
    sources = {"whence": source, "onnxruntime": source}
    if args.beside:
        sources["beside"] = str(Path(args.beside).resolve())
    print(f"{'network':14}{'':14}{'compile':>10}{'peak':>11}{'native':>8}{'inferred':>9}{'inference':>13}{'/ ours':>8}")
    for name in args.names:
        compare(name, sources, args.threads, args.rounds)


if __name__ == "__main__":
    main()
