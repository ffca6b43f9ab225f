"""The conformance suite of the ONNX standard: every node test of the installed onnx package, in worker processes.

    python tests/conformance.py [REGEX] [--folder FOLDER] [--jobs N] [--limit SECONDS]

Prints a line for each test that fails, a table of operators, and the sum. Exits with 1 when a test fails for which
`REASONS` has no reason. FOLDER: the cases of an older onnx package, which keeps them in `onnx/backend/test/data/node`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "support"))

from standard_cases import Case, cases, check, stored

REASONS = {
    r"ai_onnx_ml|test_tfidfvectorizer|test_(array_feature|binarizer|label_encoder|tree_ensemble)": "trees and text",
    r"test_string|test_.*_string|test_regex": "strings",
    r"test_(adam|adagrad|momentum|gradient|nesterov)": "training",
    r"test_image_decoder": "files of images",
    r"test_(training_dropout|bernoulli)": "random numbers, whose generator the standard leaves open",
    r"test_attention_.*_qk_matmul_(bias|softcap)(_[34]d_mask)?(_causal)?$": "corrected after onnx 1.19: softcap comes"
    " before the bias, modes 1 and 2 of qk_matmul_output are exchanged, and keys of the past are never masked as later",
    r"test_attention_.*_bf16": "bfloat16, where the order of sums decides more than the suite's tolerance",
    r"test_l2normalization_axis_0": "0 / 0, which later versions of the standard and onnxruntime make 0",
    r"test_qlinearmatmul_.*_int8_": "numbers of onnx 1.19 that wrap, corrected since to saturated ones",
    r"test_dft_inverse": "numbers near 0, which the suite has in float32's noise",
}
"""What a test that need not pass is about, by its name."""


def reason(name: str) -> str:
    return next((text for pattern, text in REASONS.items() if re.search(pattern, name)), "")


def _work(pipe: Connection) -> None:
    """Run the cases that come, and tell how each ended."""
    warnings.simplefilter("ignore")
    import whence

    while (case := pipe.recv()) is not None:
        try:
            check(case, whence.compile)
            pipe.send("")
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")


class _Worker:
    """A process, and what it does now."""

    def __init__(self) -> None:
        self.pipe, theirs = get_context("spawn").Pipe()
        self.process: Any = get_context("spawn").Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.case: Case | None = None
        self.since = 0.0

    def give(self, case: Case) -> None:
        self.case, self.since = case, time.monotonic()
        self.pipe.send(case)

    def end(self) -> None:
        self.process.terminate()
        self.process.join()


def run(given: Iterator[Case], jobs: int, limit: float) -> Iterator[tuple[Case, str]]:
    """How each case ended: an empty text when it passed."""
    workers = [_Worker() for _ in range(jobs)]
    more = True
    while more or any(worker.case for worker in workers):
        for worker in workers:
            if worker.case is None and more:
                if (case := next(given, None)) is None:
                    more = False
                else:
                    worker.give(case)
        ready = wait([worker.pipe for worker in workers if worker.case], timeout=1)
        for at, worker in enumerate(workers):
            if worker.case is None:
                continue
            case, text = worker.case, None
            if worker.pipe in ready:
                try:
                    text = worker.pipe.recv()
                except EOFError:
                    text = f"crash: the process ended with {worker.process.exitcode}"
            elif time.monotonic() - worker.since > limit:
                text = f"time-out: longer than {limit:g} s"
            if text is not None:
                worker.case = None
                if text.startswith(("crash", "time-out")):
                    worker.end()
                    workers[at] = _Worker()
                yield case, text
    for worker in workers:
        worker.pipe.send(None)
        worker.process.join()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="", help="of the names of tests (default all)")
    parser.add_argument("--folder", type=Path, help="cases kept as files")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a test")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    source = stored(options.folder) if options.folder else cases()
    passed, failed, explained = Counter[str](), Counter[str](), Counter[str]()
    start = time.monotonic()
    for case, text in run((c for c in source if re.search(options.pattern, c.name)), options.jobs, options.limit):
        if not text:
            passed[case.operator] += 1
            continue
        failed[case.operator] += 1
        why = reason(case.name)
        explained[why] += 1
        print(f"{case.name}: {f'({why}) ' if why else ''}{text}", flush=True)
    print(f"\n{'operator':32}passed  failed")
    for operator in sorted({*passed, *failed}):
        print(f"{operator:32}{passed[operator]:6}{failed[operator] or '':>8}")
    for why, count in sorted(explained.items()):
        print(f"{count} failed: {why or 'no reason known'}")
    print(f"{passed.total()} passed, {failed.total()} failed in {time.monotonic() - start:.0f} s")
    return 1 if explained[""] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
