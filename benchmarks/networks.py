"""Networks of every kind beside other runtimes: time, compile time, memory and numbers.

    python benchmarks/networks.py                              every network, one thread
    python benchmarks/networks.py resnet50 'gpt2*' --threads 1 2
    python benchmarks/networks.py --beside ../old/src          the Whence in that folder, too
    python benchmarks/networks.py --cache ~/networks           keep models and kernels for the next time

Networks are built by script with random weights (tests/support/zoo), or are those that onnx ships (light_*). Peers are
onnxruntime and OpenVINO, and LiteRT for TFLite files. Each candidate is a process of its own; they take turns, and
medians count. `/ best` is the time of the best peer divided by ours, on the wall and of the processors: above 1 we are
faster. `off` is how far outputs are from the first peer's, relative to their range.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, cast

import numpy as np
from beside.candidate import Candidate
from beside.runtimes import peers
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests/support"))

from random_weights import randomize_weights  # noqa: E402
from zoo import NETWORKS  # noqa: E402

LIGHT = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)
TOLERANCE = {"f32": 1e-4, "f16": 3e-2, "int8": 0.1, "tflite": 0.1}
"""Class -> how far outputs may be from the first peer's, relative to their range."""
Row = dict[str, Any]


def _light(name: str, path: Path) -> None:
    import onnx

    from whence.reading.models import model_path

    # The networks have no weights of their own; tests fill them in the same way.
    model = randomize_weights(cast(Any, onnx).load(model_path(name)))
    path.write_bytes(model.SerializeToString())
    (entry,) = model.graph.input
    shape = [dim.dim_value for dim in entry.type.tensor_type.shape.dim]
    inputs: Any = {entry.name: np.random.default_rng(0).standard_normal(shape, np.float32)}
    np.savez(path.with_suffix(".npz"), **inputs)


def model_file(name: str, folder: Path, saturating: bool) -> Path:
    """The file of a network, its inputs beside it, built unless the folder has it of the same scripts."""
    scripts = sorted((ROOT / "tests/support/zoo").glob("*.py"))
    digest = hashlib.sha256(b"".join(script.read_bytes() for script in scripts)).hexdigest()[:8]
    kind = "tflite" if kind_of(name) == "tflite" else "onnx"
    path = folder / f"{name}{'.saturating' * saturating}.{digest}.{kind}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if name.startswith("light_"):
            _light(name, path)
        else:
            model, inputs = NETWORKS[name].make(saturating=saturating)
            np.savez(path.with_suffix(".npz"), **cast(Any, inputs))
            path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def kind_of(name: str) -> str:
    return "f32" if name.startswith("light_") else NETWORKS[name].kind


def off(ours: list[NDArray[Any]], theirs: list[NDArray[Any]]) -> float:
    """The largest difference of any output, relative to its range; infinity where shapes or kinds differ."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        a, b = (np.where(np.isfinite(x), x, 0).astype(np.float64) for x in (a, b))
        worst = max(worst, float(np.abs(a - b).max(initial=0) / (np.ptp(b) or 1.0)))
    return worst


def compare(name: str, sources: dict[str, str], threads: int, args: argparse.Namespace) -> Row:
    kind = kind_of(name)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = Path(args.cache).expanduser() if args.cache else folder
        model = model_file(name, cache / "models", args.saturating)
        candidates: dict[str, Candidate] = {}
        for label in (*sources, *peers(kind)):
            source = sources.get(label, sources["whence"])
            candidates[label] = Candidate(label, source, model, kind, threads, cache, folder)
            stack.callback(candidates[label].end)
        ready = [candidate for candidate in candidates.values() if not candidate.error]
        counts = {candidate.label: candidate.warm() for candidate in ready}
        for _ in range(args.rounds):
            for candidate in ready:
                candidate.turn(counts[candidate.label])
        row: Row = {"network": name, "class": kind, "threads": threads, "saturating": args.saturating, "of": {}}
        expected = next((candidate.results() for candidate in ready if candidate.label in peers(kind)), None)
        for candidate in candidates.values():
            facts = dict(candidate.facts)
            if not candidate.error:
                wall, cpu = (median(column) for column in zip(*candidate.times, strict=True))
                facts |= {"wall": wall, "cpu": cpu}
                if expected is not None:
                    facts["off"] = off(candidate.results(), expected)
                if args.coverage and candidate.label not in peers(kind):
                    facts["coverage"] = candidate.ask("coverage")
            row["of"][candidate.label] = facts
    for clock in ("wall", "cpu"):
        best = min((row["of"][peer][clock] for peer in peers(kind) if clock in row["of"][peer]), default=None)
        if best is not None and clock in row["of"]["whence"]:
            row[clock] = best / row["of"]["whence"][clock]
    row["right"] = row["of"]["whence"].get("off", 0.0) <= TOLERANCE[kind] and "error" not in row["of"]["whence"]
    return row


def show(row: Row) -> None:
    for label, facts in row["of"].items():
        head = f"{row['network']:20}{row['threads']:2}T {label:12}"
        if "error" in facts:
            print(f"{head} {facts['error'].splitlines()[0][:120]}", flush=True)
            continue
        ratios = f"{row['wall']:7.2f}{row['cpu']:7.2f}" if label == "whence" and "wall" in row else ""
        said = facts.get("coverage", {})
        covered = f"{said['native']:8.1%}{said.get('native_inferred', 0.0):8.1%}" if said else ""
        wall, cpu = 1e3 * facts["wall"], 1e3 * facts["cpu"]
        print(
            f"{head}{facts['compile']:7.1f} s{facts['peak']:7.0f} MB{wall:10.2f}{cpu:10.2f}"
            f" ms{facts.get('off', 0):9.1e}{ratios}{covered}{'' if row['right'] or label != 'whence' else '  WRONG'}",
            flush=True,
        )


def means(rows: list[Row]) -> None:
    """The geometric means of each class."""
    groups = sorted({(row["class"], row["threads"]) for row in rows if "wall" in row})
    for kind, threads in groups:
        ratios = [row for row in rows if (row["class"], row["threads"]) == (kind, threads) and "wall" in row]
        wall, cpu = (geometric_mean([row[clock] for row in ratios]) for clock in ("wall", "cpu"))
        worst = min(ratios, key=lambda row: row["wall"])
        print(
            f"{kind:8}{threads} threads, {len(ratios):3} networks: best peer / ours {wall:.2f} wall, {cpu:.2f} cpu;"
            f" least {worst['wall']:.2f} {worst['network']}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], help="names or patterns; every network by default")
    parser.add_argument("--class", dest="kind", help="only networks of a class: f32, f16, int8, tflite")
    parser.add_argument("--beside", metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=11, help="turns of each candidate")
    parser.add_argument("--cache", metavar="FOLDER", help="keep models and kernels there; else all start empty")
    parser.add_argument("--saturating", action="store_true", help="weights and masks that saturate, and denormal ones")
    parser.add_argument("--coverage", action="store_true", help="how much machine code has a line: exact, inferred")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    args = parser.parse_args()
    names = [*NETWORKS, *(f"light_{name}" for name in LIGHT)]
    chosen = [name for name in names if any(fnmatch(name, pattern) for pattern in args.names)]
    source = str(ROOT / "src")
    sources = {"whence": source} | ({"beside": str(Path(args.beside).resolve())} if args.beside else {})
    print(f"{'network':36}{'compile':>8}{'peak':>10}{'wall':>10}{'cpu':>10}{'off':>12}{'/ best':>7}{'cpu':>7}")
    rows: list[Row] = []
    for name in chosen:
        if args.kind in (None, kind_of(name)):
            for threads in args.threads:
                rows.append(compare(name, sources, threads, args))
                show(rows[-1])
    means(rows)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1))
    wrong = [row["network"] for row in rows if not row["right"]]
    print(f"wrong: {', '.join(wrong)}" if wrong else "all numbers are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
