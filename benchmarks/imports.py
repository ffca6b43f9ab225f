"""Prints what the compilation of one convolution takes, with an empty cache of kernels and with a full one: modules of
Whence that it loads, and CPU seconds of the whole process; and how long reading BERT-base takes: as an ONNX file, and,
where torch and transformers are installed, as a .pt2 file.

    python benchmarks/imports.py
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS = 5
_SCRIPT = """
import sys, time
start = time.process_time()
import whence
whence.compile, whence.load
took = time.process_time() - start
import onnx.parser
model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 18]>
graph (float[1, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[1, 4, 6, 6] y) { y = Conv (x, w) }''')
whence.compile(model)
names = [name for name in sys.modules if name.split(".")[0] == "whence"]
print(took, len(names), time.process_time())
"""

_READING = """
import sys, time
import whence
whence.load
start = time.process_time()
whence.load(sys.argv[1])
print(time.process_time() - start)
"""
_ONNX = """
import sys
import onnx
from zoo.transformers import bert
onnx.save(bert().model, sys.argv[1])
"""
_PT2 = """
import sys
import torch
from transformers import BertConfig, BertModel
model = BertModel(BertConfig()).eval()
inputs = {"input_ids": torch.ones(1, 128, dtype=torch.long), "attention_mask": torch.ones(1, 128, dtype=torch.long)}
with torch.no_grad():
    torch.export.save(torch.export.export(model, (), inputs), sys.argv[1])
"""


def main() -> None:
    # Rooms are linked from one folder into others: each file counts once.
    total = len({path.resolve() for folder in (ROOT / "src/whence").iterdir() for path in folder.rglob("*.py")})
    for cache in ("empty", "full"):
        with tempfile.TemporaryDirectory() as folder:
            if cache == "full":
                _measured(folder)
            measured = [_measured(f"{folder}/{round}" if cache == "empty" else folder) for round in range(ROUNDS)]
        imports, modules, whole = map(statistics.median, zip(*measured, strict=True))
        print(f"one convolution, {cache} cache: {modules:.0f} of {total} modules, {whole:.2f} CPU s", end=", ")
        print(f"of these {imports:.2f} s for the import of whence.compile and whence.load (medians of {ROUNDS})")
    _reading()


def _reading() -> None:
    """Read BERT-base from files that other processes write, each time in a process of its own."""
    sources = {"onnx": _ONNX}
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        sources["pt2"] = _PT2
    with tempfile.TemporaryDirectory() as folder:
        for kind, source in sources.items():
            path = f"{folder}/bert.{kind}"
            subprocess.run([sys.executable, "-c", source, path], check=True, env=_environment(), capture_output=True)
            command = [sys.executable, "-c", _READING, path]
            times = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(ROUNDS)]
            print(f"whence.load of BERT-base, .{kind}: {statistics.median(times):.2f} CPU s (median of {ROUNDS})")


def _environment() -> dict[str, str]:
    """The environment of this process, with the networks that tests build on the path."""
    paths = [str(ROOT / "tests/support"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _measured(cache: str) -> tuple[float, float, float]:
    environment = {**os.environ, "WHENCE_CACHE_DIR": cache}
    command = [sys.executable, "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    imports, modules, whole = map(float, done.stdout.split())
    return imports, modules, whole


if __name__ == "__main__":
    main()
