"""Prints how many modules of Whence the compilation of one convolution loads, and how long importing these takes."""

from __future__ import annotations

import statistics
import subprocess
import sys
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
print(took, len(names))
"""


def main() -> None:
    measured = [_measured() for _ in range(ROUNDS)]
    # Rooms are linked from one folder into others: each file counts once.
    total = len({path.resolve() for folder in (ROOT / "src/whence").iterdir() for path in folder.rglob("*.py")})
    seconds = statistics.median(seconds for seconds, _ in measured)
    print(f"import of whence.compile and whence.load: {seconds:.2f} CPU s (median of {ROUNDS})")
    print(f"modules that a compilation of one convolution loads: {measured[0][1]} of {total}")


def _measured() -> tuple[float, int]:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    seconds, count = done.stdout.split()
    return float(seconds), int(count)


if __name__ == "__main__":
    main()
