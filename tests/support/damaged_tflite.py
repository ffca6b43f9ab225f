"""TFLite files damaged at random: each ends in one clear error, or is read and gives what LiteRT gives.

    PYTHONPATH=src:tests/support python tests/support/damaged_tflite.py --cases 3000 [--seed 0] [--keep FOLDER]

`--keep` writes the files that are neither refused nor read as LiteRT reads them.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from litert_worker import Judge
from random_tflite import CASES, difference
from tflite_builder import random_array

from whence.dialects.relay.interpret import evaluate_module
from whence.frontends.importing.whole_models import import_model
from whence.frontends.tflite.graph import open_model
from whence.support.errors import FrontendError

SLOW = 10.0
"""Seconds of this process after which a file counts as one that hangs."""
_LARGE = 1 << 24
"""Elements of tensors that are not computed with."""


SOURCES = (
    "CONV_2D",
    "RESHAPE",
    "STRIDED_SLICE",
    "SQUEEZE",
    "SPLIT_V",
    "CONV_2D quantized",
    "ADD quantized",
    "GATHER",
    "SVDF",
    "UNIDIRECTIONAL_SEQUENCE_LSTM quantized",
    "SOFTMAX 16 bits quantized",
)
"""What is damaged, of `CASES`."""


def sources(rng: np.random.Generator) -> list[bytes]:
    """Sound files of some operators."""
    return [CASES[name](rng) for name in SOURCES]


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with some bytes, a word or its end changed."""
    found = bytearray(data)
    kind = int(rng.integers(5))
    at = int(rng.integers(len(found) - 4))
    if kind == 0:
        return bytes(found[: int(rng.integers(len(found)))])
    if kind == 1:
        for place in rng.integers(0, len(found), int(rng.integers(1, 9))):
            found[place] = int(rng.integers(256))
    elif kind == 2:
        found[at : at + 4] = int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**31, len(found)])).to_bytes(4, "little")
    elif kind == 3:
        found[at] ^= 1 << int(rng.integers(8))
    else:
        word = at // 4 * 4
        found[word : word + 4] = int(rng.integers(0, 64)).to_bytes(4, "little")
    return bytes(found)


def outcome(data: bytes) -> str:
    """`read`, `refused`, or what else came of it."""
    begin = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            import_model(open_model(data, keep=True), {}).verify()
    except FrontendError as error:
        text = str(error)
        found = "refused" if text and "\n" not in text else f"an error of {text.count(chr(10)) + 1} lines"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    else:
        found = "read"
    return found if time.process_time() - begin < SLOW else "too slow"


@dataclass(frozen=True)
class Judges:
    """Two processes of LiteRT whose fresh memory holds different bytes."""

    first: Judge
    second: Judge


def compared(data: bytes, rng: np.random.Generator, judges: Judges) -> str:
    """How what a file that is read gives differs from LiteRT's results; "" when it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = open_model(data)
        module = import_model(model, {})
        specs = model.inputs.after({})
        if any(np.prod(spec.shape, dtype=np.float64) > _LARGE for spec in specs):
            return "nothing known: it is too large"
        inputs = [random_array(rng, [int(n) for n in spec.shape], spec.dtype.name) for spec in specs]
        expected = judges.first(data, inputs)
        if expected is None:
            return "nothing known: LiteRT crashed or hung"
        if isinstance(expected, str):
            return f"LiteRT refuses: {expected}"
        signal.alarm(60)
        try:
            found = evaluate_module(module, inputs)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
    if len(found) != len(expected):
        return f"{len(found)} outputs for {len(expected)}"
    problem = "; ".join(filter(None, map(difference, found, expected)))
    if problem and any(one.dtype.kind == "f" and np.isnan(one).any() for one in (*found, *expected)):
        return "nothing known: numbers that are none go in"
    if problem:
        again = judges.second(data, inputs)
        if not isinstance(again, list) or any(map(difference, cast("list[Any]", again), expected)):
            return "nothing known: LiteRT gives what was in memory"
    return problem


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args(arguments)
    rng, given = np.random.default_rng(args.seed), np.random.default_rng(args.seed + 1)
    files, found, judges = sources(rng), Counter[str](), Judges(Judge(), Judge(fill=0xA5))
    for at in range(args.cases):
        data = damaged(files[at % len(files)], rng)
        text = outcome(data)
        if text == "read" and (problem := compared(data, given, judges)):
            text = f"read; {problem}"
        if text not in ("read", "refused") and args.keep is not None:
            args.keep.mkdir(exist_ok=True, parents=True)
            (args.keep / f"{at}.tflite").write_bytes(data)
            print(f"{at} {SOURCES[at % len(files)]}: {text}", flush=True)
        found[text] += 1
    for text, count in found.most_common():
        print(f"{count:6} {text[:200]}")
    return 0 if all(text in ("read", "refused") or text.startswith("read; nothing known") for text in found) else 1


if __name__ == "__main__":
    sys.exit(main())
