"""TFLite files damaged at random: each ends in one clear error, or is read.

PYTHONPATH=src:tests/support python tests/support/damaged_tflite.py --cases 3000
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
from random_tflite import CASES

from whence.frontends.importing.importer import import_model
from whence.frontends.tflite.graph import open_model
from whence.support.errors import FrontendError

SLOW = 10.0
"""Seconds after which a file counts as one that hangs."""


def sources(rng: np.random.Generator) -> list[bytes]:
    """Sound files of some operators."""
    names = (
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
    return [CASES[name](rng) for name in names]


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
    begin = time.monotonic()
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
    return found if time.monotonic() - begin < SLOW else "too slow"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    rng = np.random.default_rng(args.seed)
    files, found = sources(rng), Counter[str]()
    for at in range(args.cases):
        found[outcome(damaged(files[at % len(files)], rng))] += 1
    for text, count in found.most_common():
        print(f"{count:6} {text[:200]}")
    return 0 if set(found) <= {"read", "refused"} else 1


if __name__ == "__main__":
    sys.exit(main())
