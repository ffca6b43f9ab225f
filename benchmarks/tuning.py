"""Networks tuned beside themselves as they are made by rule, and how well the formulas of schedules rank.

    python benchmarks/tuning.py                                   every f32 network, 10 minutes each
    python benchmarks/tuning.py mobilenet_v2 --budget 100 --threads 1 2
    python benchmarks/tuning.py resnet50 --twice                  tune two times: do they agree?
    python benchmarks/tuning.py shufflenet_v2 --report            the report by layer, too
    python benchmarks/tuning.py --formulas resnet50 bert_base     rank correlation and regret by family of kernels

`times` is how many times as fast a run of the tuned network is: the median of 21 alternations, with its interval of
95 %. `roof` is the part of the kernels' time, by rule and tuned, that the machine cannot do without.

Of a family of kernels (the strategy that schedules it), `rank` is Spearman's correlation of estimated and measured
seconds over points that were drawn, and `regret` how many times as fast the best of all these is as the best among the
ten that the formula likes best.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from networks import LIGHT, kind_of, model_file

import whence
from whence.lowering.llvm_to_native.target import Target
from whence.tuning.jobs import Failed
from whence.tuning.local_pool import LocalPool
from whence.tuning.log import RecordLog
from whence.tuning.probe import probe
from whence.tuning.report import Report
from whence.tuning.tasks import Task, tasks_of
from whence.tuning.tuner import Settings, Tuner

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests/support"))

from zoo import NETWORKS  # noqa: E402

_POINTS = 40
"""Points of a kernel that are measured for the ranks."""
_KERNELS = 2
"""Kernels of a network in a family."""
_LIKED = 10


def inputs_of(path: Path) -> dict[str, Any]:
    return dict(np.load(path.with_suffix(".npz")))


def tuned(path: Path, folder: Path, threads: int, budget: float, seed: int) -> Report:
    """The report of tuning a network."""
    (report,) = whence.tune(path, folder, budget=budget, threads=threads, seed=seed, inputs=inputs_of(path))
    return report


def compare(names: list[str], args: argparse.Namespace, cache: Path) -> None:
    """A row for each network and number of threads."""
    print(
        f"{'network':24}{'threads':>8}{'kernels':>9}{'faster':>8}{'measured':>10}{'times':>8}{'95 %':>16}{'roof':>14}"
    )
    all_times = defaultdict[int, list[float]](list)
    for name in names:
        path = model_file(name, cache / "models", saturating=False)
        for threads in args.threads:
            reports: list[Report] = []
            for turn in range(2 if args.twice else 1):
                with tempfile.TemporaryDirectory() as folder:
                    reports.append(tuned(path, Path(folder), threads, args.budget, turn))
                show(name, threads, reports[-1])
                if args.report:
                    print(reports[-1].text())
            times = [report.run.ratio if report.run is not None else 1.0 for report in reports]
            all_times[threads].append(median(times))
            if args.twice:
                print(f"{'':24}{'':8}  the two agree within {abs(times[0] / times[1] - 1):.1%}")
    for threads, times in all_times.items():
        print(f"geometric mean of {len(times)}, {threads} threads: {geometric_mean(times):.3f}, least {min(times):.3f}")


def show(name: str, threads: int, report: Report) -> None:
    run = report.run
    times, interval = ("1.000", "") if run is None else (f"{run.ratio:.3f}", f"{run.low:.3f} to {run.high:.3f}")
    roof = f"{report.near_roof_before:.1%} {report.near_roof:.1%}"
    counts = f"{len(report.results):>9}{len(report.won):>8}{report.measured:>10}"
    print(f"{name:24}{threads:>8}{counts}{times:>8}{interval:>16}{roof:>14}", flush=True)


def ranks(values: Any) -> Any:
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return order.astype(float)


def family_of(task: Task) -> str:
    """The strategy that scheduled a kernel's first stage."""
    words = task.kernel.schedule.partition("strategies = {")[2]
    return words.partition('"')[2].partition('"')[0] or "none"


def formulas(names: list[str], args: argparse.Namespace, cache: Path) -> None:
    """Rank correlation and regret of each family of kernels."""
    rows = defaultdict[str, list[tuple[float, float]]](list)
    threads = args.threads[0]
    with LocalPool() as pool, tempfile.TemporaryDirectory() as folder:
        ((machine, _),) = pool.machines()
        rates = probe(pool, Target.native(), threads, machine)
        log = RecordLog(folder, Target.native(), 0)
        for name in names:
            path = model_file(name, cache / "models", saturating=False)
            compiled = whence.compile(path, threads=threads)
            tasks = tasks_of(compiled.artifact, compiled.runner, compiled.pool, inputs_of(path))
            weights = sum(array.nbytes for array in compiled.artifact.params)
            tuner = Tuner(pool, machine, rates, Settings(threads=threads), log, weights)
            taken = defaultdict[str, int](int)
            for task in sorted(tasks, key=lambda task: -sum(work for work, _ in task.kernel.work)):
                family = family_of(task)
                if task.space.size < _LIKED or taken[family] >= _KERNELS:
                    continue
                taken[family] += 1
                rows[family].append(ranked(tuner, task))
    print(f"{'family':28}{'kernels':>8}{'rank':>8}{'regret':>8}")
    for family, pairs in sorted(rows.items()):
        correlation, regret = (median(column) for column in zip(*pairs, strict=True))
        print(f"{family:28}{len(pairs):>8}{correlation:>8.2f}{regret:>8.3f}")


def ranked(tuner: Tuner, task: Task) -> tuple[float, float]:
    """The correlation and the regret of one kernel."""
    points = task.space.points(0)
    costs = points.costs(tuner.rates)
    liked = np.argsort(costs, kind="stable")[:_LIKED]
    drawn = np.random.default_rng(0).permutation(len(points))[: _POINTS - _LIKED]
    chosen = list(dict.fromkeys(map(int, [*liked, *drawn])))
    scores = tuner.measure(task, [points.decisions(point) for point in chosen], 5)
    pairs = zip(chosen, scores, strict=True)
    right = [(point, score.ratio) for point, score in pairs if not isinstance(score, Failed)]
    estimated, measured = np.array([costs[point] for point, _ in right]), np.array([1 / ratio for _, ratio in right])
    correlation = float(np.corrcoef(ranks(estimated), ranks(measured))[0, 1]) if len(right) > 2 else 0.0
    best_liked = max((ratio for point, ratio in right if point in liked), default=1.0)
    return correlation, max(ratio for _, ratio in right) / best_liked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], help="names or patterns; every f32 network by default")
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--budget", type=float, default=600.0, help="seconds for a network")
    parser.add_argument("--twice", action="store_true", help="tune each network two times, with other seeds")
    parser.add_argument("--report", action="store_true", help="print the report by layer, too")
    parser.add_argument("--formulas", action="store_true", help="how well formulas rank, by family of kernels")
    parser.add_argument("--cache", metavar="FOLDER", help="keep models there")
    args = parser.parse_args()
    names = [*NETWORKS, *(f"light_{name}" for name in LIGHT)]
    chosen = [name for name in names if kind_of(name) == "f32" and "open" not in name]
    chosen = [name for name in chosen if any(fnmatch(name, pattern) for pattern in args.names)]
    with tempfile.TemporaryDirectory() as folder:
        (formulas if args.formulas else compare)(chosen, args, Path(args.cache or folder).expanduser())
    return 0


if __name__ == "__main__":
    sys.exit(main())
