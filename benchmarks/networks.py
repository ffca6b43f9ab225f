"""Networks of every kind beside other runtimes: time, compile time, memory and numbers.

    python benchmarks/networks.py                              every network, one thread
    python benchmarks/networks.py resnet50 'gpt2*' --threads 1 2
    python benchmarks/networks.py --beside ../old/src          the Whence in that folder, too
    python benchmarks/networks.py --cache ~/networks           keep models and kernels for the next time
    python benchmarks/networks.py --svg networks.svg           a chart of the ratios, too
    python benchmarks/networks.py --layers resnet50            where a network loses time, layer by layer
    python benchmarks/networks.py --packages ../peers/lib/python3.11/site-packages    peers of another environment, too

Networks are built by script with random weights (tests/support/zoo), or are those that onnx ships (light_*). Peers are
onnxruntime and OpenVINO, and LiteRT for TFLite files, if they are installed. Each candidate is a process of its own;
they take turns, and medians count. `/ best` is the time of the best peer divided by ours, on the wall and of the
processors: above 1 we are faster. `/ own` is the same on the wall of the best peer by its own defaults: OpenVINO's for
float32 networks is bfloat16 where the machine multiplies those faster. Geometric means follow, and the networks below
0.9. `off` is how far outputs are from the first peer's, relative to their range, or from those of LiteRT's plain
kernels, which define what integers are right; they are wrong if that is more than the tolerance of their class, and
more than half again as far as any peer is off.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, cast

import numpy as np
from beside.candidate import Candidate
from beside.chart import chart
from beside.runtimes import defaults, peers
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests/support"))

from random_weights import randomize_weights  # noqa: E402
from zoo import NETWORKS  # noqa: E402

LIGHT = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)
TOLERANCE = {"f32": 1e-4, "f16": 2e-2, "int8": 0.1, "tflite": 0.1}
"""Class -> how far outputs may be off, relative to their range."""
_LEAST = 0.9
"""The ratio below which a network is listed."""
_SLACK = 1.5
"""How many times as far as another peer outputs may be."""
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


def limit(kind: str, peers_off: list[float]) -> float:
    """How far outputs may be off, for how far those of peers are.

    A network may be such that every rounding counts; then others are as far from the right numbers as we are.
    """
    return max([TOLERANCE[kind], *(_SLACK * distance for distance in peers_off if np.isfinite(distance))])


def compare(name: str, sources: dict[str, str], threads: int, args: argparse.Namespace) -> Row:
    kind = kind_of(name)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cache = Path(args.cache).expanduser() if args.cache else folder
        model = model_file(name, cache / "models", args.saturating)
        candidates: dict[str, Candidate] = {}
        for label in dict.fromkeys((*sources, *peers(kind), *defaults(kind))):
            source = sources.get(label, sources["whence"])
            if args.packages and label not in sources:
                source = os.pathsep.join((source, str(Path(args.packages).resolve())))
            candidates[label] = Candidate(label, source, model, kind, threads, cache, folder)
            stack.callback(candidates[label].end)
        ready = [candidate for candidate in candidates.values() if not candidate.error]
        counts = {candidate.label: candidate.warm() for candidate in ready}
        for _ in range(args.rounds):
            for candidate in ready:
                candidate.turn(counts[candidate.label])
        row: Row = {"network": name, "class": kind, "threads": threads, "saturating": args.saturating, "of": {}}
        expected = next((candidate.results() for candidate in ready if candidate.label in peers(kind)), None)
        if kind == "tflite":
            reference = Candidate("reference", sources["whence"], model, kind, threads, cache, folder)
            stack.callback(reference.end)
            expected = expected if reference.error else reference.results()
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
    for ratio, clock, rivals in (("wall", "wall", peers), ("cpu", "cpu", peers), ("own", "wall", defaults)):
        best = min((row["of"][peer][clock] for peer in rivals(kind) if clock in row["of"][peer]), default=None)
        if best is not None and clock in row["of"]["whence"]:
            row[ratio] = best / row["of"]["whence"][clock]
    row["limit"] = limit(kind, [row["of"][peer]["off"] for peer in peers(kind) if "off" in row["of"][peer]])
    row["right"] = row["of"]["whence"].get("off", 0.0) <= row["limit"] and "error" not in row["of"]["whence"]
    return row


def show(row: Row) -> None:
    for label, facts in row["of"].items():
        head = f"{row['network']:20}{row['threads']:2}T {label:18}"
        if "error" in facts:
            print(f"{head} {facts['error'].splitlines()[0][:120]}", flush=True)
            continue
        ratios = f"{row['wall']:7.2f}{row['cpu']:7.2f}{row['own']:7.2f}" if label == "whence" and "wall" in row else ""
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
        wall, cpu, own = (geometric_mean([row[ratio] for row in ratios]) for ratio in ("wall", "cpu", "own"))
        worst = sorted(ratios, key=lambda row: row["wall"])
        below = [row for row in worst if row["wall"] < _LEAST]
        print(
            f"{kind:8}{threads} threads, {len(ratios):3} networks: best peer / ours {wall:.2f} wall, {cpu:.2f} cpu,"
            f" by their defaults {own:.2f}; {len(below)} below {_LEAST}:"
        )
        for row in below or worst[:1]:
            print(f"    {row['wall']:.2f} {row['network']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], help="names or patterns; every network by default")
    parser.add_argument("--class", dest="kind", help="only networks of a class: f32, f16, int8, tflite")
    parser.add_argument("--beside", metavar="SRC", help="the src folder of another checkout")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=11, help="turns of each candidate")
    parser.add_argument("--cache", metavar="FOLDER", help="keep models and kernels there; else all start empty")
    parser.add_argument("--packages", metavar="FOLDER", default="", help="where else peers may be installed")
    parser.add_argument("--saturating", action="store_true", help="weights and masks that saturate, and denormal ones")
    parser.add_argument("--coverage", action="store_true", help="how much machine code has a line: exact, inferred")
    parser.add_argument("--json", metavar="FILE", help="write the rows")
    parser.add_argument("--svg", metavar="FILE", help="draw the ratios, on the wall's clock")
    parser.add_argument("--layers", metavar="NAME", help="of one network, on one thread: its layers, by what they lose")
    args = parser.parse_args()
    names = [*NETWORKS, *(f"light_{name}" for name in LIGHT)]
    chosen = [name for name in names if any(fnmatch(name, pattern) for pattern in args.names)]
    if args.layers:
        from beside.losses import print_losses

        with tempfile.TemporaryDirectory() as folder:
            cache = Path(args.cache or folder).expanduser()
            print_losses(model_file(args.layers, cache / "models", args.saturating), kind_of(args.layers), cache)
        return 0
    source = str(ROOT / "src")
    sources = {"whence": source} | ({"beside": str(Path(args.beside).resolve())} if args.beside else {})
    print(
        f"{'network':42}{'compile':>8}{'peak':>10}{'wall':>10}{'cpu':>10}{'off':>12}{'/ best':>7}{'cpu':>7}{'/ own':>7}"
    )
    rows: list[Row] = []
    for name in chosen:
        if args.kind in (None, kind_of(name)):
            for threads in args.threads:
                rows.append(compare(name, sources, threads, args))
                show(rows[-1])
    means(rows)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1))
    if args.svg:
        Path(args.svg).write_text(chart(rows))
    wrong = [row["network"] for row in rows if not row["right"]]
    print(f"wrong: {', '.join(wrong)}" if wrong else "all numbers are right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
