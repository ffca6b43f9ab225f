"""Damaged .pt2 files: bytes of the archive, fields, numbers and texts of documents, weights, expressions of sizes.

    python tests/support/damaged_pt2.py [--cases 2000] [--seed 0] [--load]

Each file becomes a model that runs, or ends in one error of one line; in a bounded time and memory, and no code of it
runs.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import resource
import signal
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

PROGRAMS = Path(__file__).parents[1] / "exports" / "pytorch"
NAMES = ("answers", "branches", "cache", "chosen", "cnn", "counted", "counter", "guarded", "loops", "marked", "mixed",
         "recurrent", "sized", "transformer", "writes")  # fmt: skip
SHAPES: dict[str, dict[str, list[int]]] = {
    "answers": {"x": [3, 2]},
    "cnn": {"image": [1, 3, 16, 16]},
    "guarded": {"x": [3, 2], "pair_0": [4, 2]},
    "marked": {"x": [2, 4]},
    "mixed": {"x": [1, 4, 5, 6]},
    "recurrent": {"x": [1, 5, 4]},
    "sized": {"x": [3, 4]},
    "transformer": {"ids": [1, 5]},
    "writes": {"x": [5, 4]},
}
"""The shapes with which a program is imported whose sizes a call decides."""
SECONDS = 20
"""Of the process, not of the clock."""
MEMORY = 4 << 30
"""Bytes of address space beyond what a process has when it begins."""
MARK = "damaged_pt2_ran_code"
"""A file of this name would be there if a text of a file ran as code."""

JUNK: tuple[Any, ...] = (None, -1, 0, 1, 2, 1 << 31, 1 << 62, -(1 << 63), 1 << 70, 1e308, "", "x", "NaN", "../x", "\0",
        [], {}, [[]], True, 0.5, {"as_int": -1}, {"as_none": True}, {"as_tensor": {"name": "nobody"}})  # fmt: skip
TEXTS = (
    f"__import__('pathlib').Path('{MARK}').touch()",
    "L['x'].size()[0]",
    "Symbol('s77', positive=True, integer=True)",
    "Pow(Integer(9), Integer(999999999))",
    "Mul(" * 90 + "Integer(9)" + ")" * 90,
    "FloorDiv(Integer(1), Integer(0))",
    "Mod(Symbol('s77'), Integer(-3))",
    "Max(" + ", ".join(["Symbol('s77')"] * 300) + ")",
    "(" * 5000,
    "9" * 5000,
    "\u202e\n\x1b[31m",
)


def entries(name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(PROGRAMS / f"{name}.pt2") as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def archive(files: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as new:
        for name, data in files.items():
            new.writestr(name, data)
    return target.getvalue()


def positions(document: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All values of a document, each as what it is in and its key."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        keys: list[Any] = [*cast("dict[str, Any]", value)] if isinstance(value, dict) else [*range(len(value))]
        for key in keys:
            found.append((value, key))
            if isinstance(value[key], dict | list):
                waiting.append(value[key])
    return found


def _bytes(files: dict[str, bytes], rng: random.Random) -> bytes:
    """Bytes of the whole archive: replaced, cut off, doubled."""
    data = bytearray(archive(files))
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(data[: rng.randrange(len(data))])
    if kind == 1:
        start = rng.randrange(len(data))
        del data[start : start + rng.randrange(1, 200)]
    else:
        # The directory at the end has most of what is believed.
        first = rng.choice([0, max(0, len(data) - 1200)])
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(first, len(data))] = rng.randrange(256)
    return bytes(data)


def _directory(files: dict[str, bytes], rng: random.Random) -> bytes:
    """Entries left out, renamed, empty, compressed, or with those of another program."""
    key = rng.choice([*files])
    match rng.randrange(5):
        case 0:
            del files[key]
        case 1:
            new = rng.choice([key + "x", key.replace("/", "//"), "../" + key, "/" + key, key.upper(), "a/b"])
            files[new] = files.pop(key)
        case 2:
            files[key] = rng.choice([b"", b"\0" * 9, b"null", b"[]", b"{}", b"\xff\xfe"])
        case 3:
            return archive(files, rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]))
        case _:
            other = entries(rng.choice(NAMES))
            files[key] = other[rng.choice([*other])]
    return archive(files)


def _document(files: dict[str, bytes], rng: random.Random, wanted: Callable[[Any], bool], new: Any) -> bytes:
    """Values of a document that a test chooses, replaced."""
    key = rng.choice([key for key in files if key.endswith(".json")] * 1 + [k for k in files if "/models/" in k] * 3)
    try:
        document = json.loads(files[key])
    except ValueError:
        return archive(files)
    found = [(inside, at) for inside, at in positions(document, []) if wanted(inside[at])]
    for inside, at in rng.sample(found, min(len(found), rng.choice([1, 1, 1, 2, 4]))):
        try:
            inside[at] = new(inside[at])
        except (KeyError, IndexError):
            continue
    return archive({**files, key: json.dumps(document).encode()})


def _fields(files: dict[str, bytes], rng: random.Random) -> bytes:
    def new(value: Any) -> Any:
        if isinstance(value, list) and value and rng.random() < 0.6:
            items = cast("list[Any]", value)
            return rng.choice([items[:-1], items[::-1], items * 2, items[1:]])
        return rng.choice(JUNK)

    return _document(files, rng, lambda value: True, new)


def _numbers(files: dict[str, bytes], rng: random.Random) -> bytes:
    def new(value: Any) -> Any:
        return rng.choice([0, -1, value + 1, value - 1, value * 2, 1 << 20, 1 << 31, 1 << 40, 1 << 62, 1 << 80])

    return _document(files, rng, lambda value: isinstance(value, int) and not isinstance(value, bool), new)


def _strings(files: dict[str, bytes], rng: random.Random) -> bytes:
    def new(value: Any) -> Any:
        others = [value + "_", value[: len(value) // 2], value * 2, "x", "mul", *TEXTS, "torch.ops.aten.add_.Tensor"]
        return rng.choice(others)

    return _document(files, rng, lambda value: isinstance(value, str) and len(value) < 200, new)


def _targets(files: dict[str, bytes], rng: random.Random) -> bytes:
    """Calls of other operators with the arguments of the first: each converter meets what it does not expect."""
    from whence.frontends.torch.control import CONTROL
    from whence.frontends.torch.convert import CONVERTERS

    rows = [f"torch.ops.{name}" for name in CONVERTERS if name.startswith("aten")] + [*CONTROL]

    def new(value: Any) -> Any:
        other = rng.choice(rows)
        return other.replace(".Tensor", "_.Tensor") if rng.random() < 0.2 else other

    return _document(files, rng, lambda value: isinstance(value, str) and value.startswith("torch.ops.aten"), new)


def _expressions(files: dict[str, bytes], rng: random.Random) -> bytes:
    def new(value: Any) -> Any:
        choice = rng.randrange(4)
        if choice == 0:
            return rng.choice(TEXTS)
        if choice == 1:
            return re.sub(r"Add|Mul|Symbol|Integer|FloorDiv", lambda m: rng.choice(["Add", "Mod", "Max", "x"]), value)
        if choice == 2:
            return re.sub(r"\d+", lambda m: str(rng.choice([0, -1, 7, 1 << 40])), value)
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(["(", ")", "'", ",", "Integer(2)", "\\"]) + value[at:]

    return _document(files, rng, lambda value: isinstance(value, str) and "Symbol(" in value, new)


def _weights(files: dict[str, bytes], rng: random.Random) -> bytes:
    """Storages of other lengths, and with other numbers in them."""
    keys = [key for key in files if "/weight_" in key or "/tensor_" in key]
    if not keys:
        return _bytes(files, rng)
    key = rng.choice(keys)
    data = files[key]
    files[key] = rng.choice([data[:-1], b"", data * 2, bytes(len(data)), b"\xff" * len(data), data[len(data) // 2 :]])
    return archive(files)


KINDS = (_bytes, _directory, _fields, _fields, _numbers, _strings, _targets, _expressions, _weights)


def damaged(seed: int) -> tuple[str, bytes]:
    """A program's name, and its damaged file."""
    rng = random.Random(seed)
    name = NAMES[seed % len(NAMES)]
    return name, KINDS[seed // len(NAMES) % len(KINDS)](entries(name), rng)


def outcome(seed: int, run: bool = True) -> str:
    """Read a damaged file and call it; return "model", the error, or what is wrong, which begins with "WRONG".

    "endless" is a model that does not end.
    """
    import numpy as np

    import whence
    from whence.support.errors import WhenceError

    name, data = damaged(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not run:
                whence.load(data, SHAPES.get(name))
                return "model"
            executable = whence.compile(data, input_shapes=SHAPES.get(name))
            sizes = [[n if n and n > 0 else 1 for n in spec.shape] for spec in executable.inputs]
            if sum(np.prod(shape, dtype=np.float64) for shape in sizes) < 1e7:
                arrays = [np.zeros(size, spec.dtype) for size, spec in zip(sizes, executable.inputs, strict=True)]
                try:
                    executable(*arrays)
                except TimeoutError:
                    if name == "loops":
                        return "endless"  # a loop whose condition was damaged: torch would not end, either
                    raise
        except WhenceError as error:
            text = str(error)
            if "bug of Whence" in text or len(text) > 5000 or "\n" in text:
                return f"WRONG {text[:1500]}"
            return text
        except MemoryError as error:
            return f"WRONG memory: {error}"
        except Exception:
            return f"WRONG {traceback.format_exc()[-1500:]}"
    return "model"


def _hangs(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--load", action="store_true", help="only import, do not compile and run")
    options = parser.parse_args()
    import whence

    assert whence.compile  # its own memory is none of a file's
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGVTALRM, _hangs)
    Path(MARK).unlink(missing_ok=True)
    counts = {"model": 0, "endless": 0, "error": 0, "WRONG": 0}
    for seed in range(options.seed, options.seed + options.cases):
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            result = outcome(seed, run=not options.load)
        except TimeoutError:
            result = f"WRONG {traceback.format_exc()[-1500:]}"
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        kind = result if result in counts else "WRONG" if result.startswith("WRONG") else "error"
        counts[kind] += 1
        if kind == "WRONG":
            print(f"seed {seed} ({damaged(seed)[0]}): {result}", flush=True)
        if Path(MARK).exists():
            sys.exit(f"seed {seed}: code of the file ran")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{options.cases} files: {counts['model']} models, {counts['error']} errors, {counts['WRONG']} wrong; {peak} MB"
    )
    sys.exit(bool(counts["WRONG"]))


if __name__ == "__main__":
    main()
