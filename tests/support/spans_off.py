"""Code with and without spans: networks compiled with both at levels 0 to 3, every byte compared.

    PYTHONPATH=src python tests/support/spans_off.py [NAME ...]

Prints a line per network and level; the exit code is 1 where kernels, their objects or the main program differ.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from named_networks import NETWORKS

import whence
from whence.lowering.kernel.record import Kernel

LEVELS = (0, 1, 2, 3)
OFF = {"relay.frontend.fill_span": False, "ir.enable_si_builder": False}


def code_of(source: Any, level: int, config: dict[str, bool]) -> tuple[list[Kernel], bytes, float]:
    """The kernels and the main program of a network, and the part of their code that knows its layer."""
    with whence.PassContext(config=config):
        exe = whence.compile(source, opt_level=level, threads=1)
    kernels = [kernel for kernel in exe.artifact.kernels if isinstance(kernel, Kernel)]
    return kernels, exe.artifact.main, exe.coverage()["native"]


def main(names: list[str]) -> int:
    # Nothing may come from the kernels of another compilation.
    os.environ["WHENCE_CACHE_DIR"] = ""
    differing = 0
    for name in names:
        source = NETWORKS[name]()
        for level in LEVELS:
            *on, known = code_of(source, level, {})
            *off, unknown = code_of(source, level, OFF)
            same = on == off and unknown < 0.01 < known
            differing += not same
            print(f"{name:24} -O{level} {len(on[0]):4} kernels  {'same' if same else 'DIFFERENT'}", flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(NETWORKS)))
