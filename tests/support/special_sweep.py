# pyright: basic
"""Compile each row of a frontend, run it on special numbers, and compare it with a judge: prints what departs."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from special_numbers import judged

import whence
from whence.support.errors import WhenceError

FRAMEWORKS = {
    "onnx": "onnx",
    "tflite": "ai_edge_litert",
    "torch": "torch",
    "keras": "keras",
    "tensorflow": "tensorflow",
    "jax": "jax",
}
"""The frontends, and what judges each."""


def verdicts(
    frontend: str, only: Sequence[str] = (), dtypes: Sequence[str] = ()
) -> Iterator[tuple[str, str, str, str]]:
    """Row, element type, verdict and what is wrong, of each row; of the rows and types named, where there are some."""
    module: Any = import_module(f"special_{frontend}")
    with closing(module) if hasattr(module, "close") else nullcontext():
        yield from _verdicts(module, only, dtypes)


def _verdicts(module: Any, only: Sequence[str], dtypes: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    for name, dtype, function, inputs in module.table():
        if (only and name not in only) or (dtypes and dtype not in dtypes):
            continue
        case = module.case(function, inputs)
        if case is None:
            yield name, dtype, "not judged", ""
            continue
        program, judge = case
        try:
            results = whence.compile(program)(*inputs)
        except WhenceError as error:
            yield name, dtype, "foreign" if "internal error" in str(error) else "refused", str(error)
            continue
        except Exception as error:
            yield name, dtype, "foreign", f"{type(error).__name__}: {error}"
            continue
        result = np.asarray(results[0] if isinstance(results, list | tuple) else results)
        with np.errstate(all="ignore"):
            wrong = judged(name, result, inputs, judge, module.RULES)
        yield name, dtype, "wrong" if wrong else "right", wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frontends", nargs="*", help="all that have a judge here, where none is named")
    parser.add_argument("--only", default="", help="names of rows, with commas between them")
    parser.add_argument("--dtypes", default="")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for frontend in options.frontends or FRAMEWORKS:
        if find_spec(FRAMEWORKS[frontend]) is None:
            print(f"{frontend}: not installed: {FRAMEWORKS[frontend]}")
            continue
        own: Counter[str] = Counter()
        names, dtypes = (text.split(",") if text else () for text in (options.only, options.dtypes))
        for name, dtype, verdict, text in verdicts(frontend, names, dtypes):
            own[verdict] += 1
            if verdict not in ("right", "not judged"):
                print(f"{frontend} {name} {dtype}: {verdict}: {text[:400]}", flush=True)
        print(f"{frontend}: {', '.join(f'{number} {verdict}' for verdict, number in sorted(own.items()))}", flush=True)
        counts += own
    return int(bool(counts["wrong"] or counts["foreign"]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
