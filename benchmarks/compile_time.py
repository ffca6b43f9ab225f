"""How long it takes to import Whence, and to compile light ResNet-50 cold and from the cache: in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

ROUNDS = 5
_IMPORT = "import time; s = time.perf_counter(); import whence; print(time.perf_counter() - s)"
_COMPILE = (
    "import time; s = time.perf_counter(); import whence; "
    "whence.compile('light_resnet50', threads=1); print(time.perf_counter() - s)"
)


def seconds(code: str, cache: str) -> float:
    """What `code` prints, run in a fresh interpreter with the kernel cache in `cache`."""
    environment = {**os.environ, "WHENCE_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    print(f"import whence: {median(seconds(_IMPORT, '') for _ in range(ROUNDS)):.3f} s")
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(seconds(_COMPILE, cache))
            warm.append(seconds(_COMPILE, cache))
    print(f"light ResNet-50, import included: cold {median(cold):.2f} s, from the cache {median(warm):.2f} s")


if __name__ == "__main__":
    main()
