"""Kernels of ours, printed as TVMScript, compiled and run by TVM: are the bits the same?

    python benchmarks/against_tvm.py --tvm PYTHON [--mcpu NAME] [--count 300] [--only TEXT] [--read] [MODEL ..]

PYTHON: an interpreter with apache-tvm 0.27 (not a dependency of this project). The kernels are those of the ONNX
standard's node tests, or of the given models, after all passes. Prints each kernel whose bits are not ours, and the
counts of equal, close (1e-5), other and failed ones, and of those that have no text, by reason. With --read, our texts
and those that TVM prints of them are read here, run, and printed again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def arrays_of(script: Path) -> tuple[list[Any], list[Any]]:
    """The inputs and results of a text."""
    arrays = np.load(script.with_suffix(".npz"))
    # The files of numpy forget the name of a type that is not numpy's.
    bfloat16 = np.dtype(import_module("ml_dtypes").bfloat16)
    parts = [[arrays[name] for name in sorted(arrays) if name.startswith(letter)] for letter in ("i", "o")]
    inputs, outputs = ([a.view(bfloat16) if a.dtype.kind == "V" else a for a in part] for part in parts)
    return inputs, outputs


def worker(folder: Path, mcpu: str) -> None:
    """Run what is in a folder by TVM; a line of JSON for each kernel."""
    tvm: Any = import_module("tvm")
    target: Any = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    for script in sorted(folder.glob("*.txt")):
        inputs, expected = arrays_of(script)
        try:
            function: Any = tvm.script.from_source(script.read_text())
            script.with_suffix(".tvm").write_text(function.script())
            function = function.with_attr("global_symbol", "main")
            built: Any = tvm.compile(tvm.IRModule({"main": function}), target=target)
            found = [tvm.runtime.tensor(np.zeros_like(array)) for array in expected]
            built["main"](*map(tvm.runtime.tensor, inputs), *found)
            pairs = [(each.numpy(), array) for each, array in zip(found, expected, strict=True)]
            equal = all(ours.tobytes() == theirs.tobytes() for theirs, ours in pairs)
            close = all(
                np.allclose(theirs.astype("float64"), ours.astype("float64"), 1e-5, 1e-6, equal_nan=True)
                for theirs, ours in pairs
            )
            outcome, error = "equal" if equal else "close" if close else "other", ""
        except Exception as failure:
            outcome, error = "failed", " ".join(str(failure).split())[-300:]
        print(json.dumps([script.stem, outcome, error]), flush=True)


def kernels(models: list[str], only: str) -> Iterator[tuple[str, Any]]:
    """Compiled kernels, each text once."""
    import whence

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
    from standard_cases import cases

    sources: list[tuple[str, Any]] = [(name, name) for name in models]
    sources = sources or [(case.name, case.model) for case in cases() if only in case.name]
    seen: set[str] = set()
    for name, source in sources:
        try:
            artifact = whence.compile(source).artifact
        except Exception:
            # Conformance has its own suite.
            continue
        for kernel in getattr(artifact, "kernels", ()):
            if kernel.tir not in seen:
                seen.add(kernel.tir)
                yield name, kernel


def write(folder: Path, models: list[str], only: str, count: int) -> tuple[dict[str, str], Counter[str]]:
    """Write texts, inputs and results; return the kernels of the files, and why others have no text."""
    import whence
    from whence.kernels import build_prim_func
    from whence.support.errors import WhenceError

    names: dict[str, str] = {}
    refused: Counter[str] = Counter()
    random = np.random.default_rng(0)
    for source, kernel in kernels(models, only):
        if len(names) == count:
            break
        try:
            text = whence.script.text(kernel.tir, exact=True)
        except WhenceError as error:
            refused[str(error).partition(" at loc")[0]] += 1
            continue
        function = build_prim_func(kernel.tir)
        if function.sizes:
            refused["sizes that a call decides"] += 1
            continue
        inputs = [draw(random, shape, dtype) for _, shape, dtype in function.arguments[: function.inputs]]
        found = function(*inputs)
        outputs = [np.asarray(array) for array in (found if isinstance(found, tuple) else (found,))]
        stem = f"{len(names):04}"
        names[stem] = f"{source}: {kernel.symbol}"
        (folder / f"{stem}.txt").write_text(text)
        arrays = {f"i{n:03}": a for n, a in enumerate(inputs)} | {f"o{n:03}": a for n, a in enumerate(outputs)}
        np.savez(folder / f"{stem}.npz", **arrays)  # pyright: ignore
        print(f"\r{len(names)} kernels", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return names, refused


def read_again(folder: Path, names: dict[str, str]) -> Counter[str]:
    """Read our texts and TVM's, and return how many are read, have the same bits, and print the same again."""
    from whence.kernels import build_prim_func
    from whence.script import from_source
    from whence.support.errors import WhenceError

    counts: Counter[str] = Counter()
    for path in sorted([*folder.glob("*.txt"), *folder.glob("*.tvm")]):
        whose = "TVM's" if path.suffix == ".tvm" else "our"
        inputs, expected = arrays_of(path)
        try:
            function = from_source(path.read_text(), file=path.name)
            counts[f"{whose} texts read"] += 1
            text = function.script()
            counts[f"{whose} texts printed the same again"] += from_source(text).script() == text
            found = build_prim_func(function.op)(*inputs)
            outputs = found if isinstance(found, tuple) else (found,)
            equal = all(np.asarray(a).tobytes() == b.tobytes() for a, b in zip(outputs, expected, strict=True))
            counts[f"{whose} texts with the same bits"] += equal
            if not equal:
                print(f"other bits of {whose} text {path.stem} {names[path.stem]}")
        except WhenceError as error:
            print(f"not read or run: {whose} text {path.stem} {names[path.stem]}: {str(error).splitlines()[0][:200]}")
    return counts


def draw(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iub":
        return random.integers(0, 2 if dtype.kind == "b" else 50, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--tvm", help="an interpreter with apache-tvm")
    parser.add_argument("--mcpu", default="x86-64-v3", help="LLVM's name of the machine: `native` is not one")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", default="", help="node tests whose name has this text")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help="a folder for the texts")
    parser.add_argument("--read", action="store_true", help="read, run and print the texts again")
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker, options.mcpu)
        return 0
    if options.tvm is None:
        print("expected --tvm, an interpreter with apache-tvm 0.27; it is not installed here")
        return 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        names, refused = write(folder, options.models, options.only, options.count)
        command = [options.tvm, str(Path(__file__).resolve()), "--worker", str(folder), "--mcpu", options.mcpu]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        outcomes: Counter[str] = Counter()
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        for stem, outcome, error in lines:
            outcomes[outcome] += 1
            if outcome != "equal":
                print(f"{outcome:6} {stem} {names[stem]} {error}")
        if len(lines) != len(names):
            print(f"TVM ended after {len(lines)} of {len(names)}: {done.stderr[-300:]}")
        if options.read:
            for what, count in read_again(folder, names).items():
                print(f"{count:4} {what}")
    print(f"{len(names)} kernels printed: " + ", ".join(f"{count} {name}" for name, count in outcomes.most_common()))
    for reason, count in refused.most_common():
        print(f"{count:4} not printed: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
