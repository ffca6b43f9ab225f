"""How evenly threads share the work of networks, counted: no second processor is needed, and other load changes little.

    python benchmarks/thread_shares.py                                  every f32 network of the zoo
    python benchmarks/thread_shares.py ghostnet 'mobile*' --kernels     and the kernels that lose most
    python benchmarks/thread_shares.py resnet50 --threads 2 4 8

Of each kernel call: its CPU time on one thread; the part of its instructions that loops of threads have, counted in
its TIR; and the largest share that a thread has of such a loop's passes, as the pool gives them out. `serial` is the
part of the time in which one thread works, `2T` the predicted speed-up on two: time / (serial part + largest shares).
Waking threads and caches that they do not share are not in it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from math import ceil
from pathlib import Path
from typing import NamedTuple, cast

import whence
from whence.lowering.kernel.record import Kernel
from whence.lowering.llvm_to_native.target import Target

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests/support"))

from zoo import NETWORKS  # noqa: E402

_FOR = re.compile(r"tir\.for (?:(\w+) )?%\S+ in (.+) \{")
_VECTOR = re.compile(r"vector<(\d+)x")
_COUNTED = ("tir.", "math.", "arith.", "vector.")
_ELEMENTARY = re.compile(r"math\.(exp|erf|tanh|log|sin|cos)")
_OPEN = 16
"""Passes of a loop whose extent is an argument of the kernel."""
_SHOWN = 12


class Loop(NamedTuple):
    """A loop that threads share."""

    passes: int
    instructions: float


def loops_of(tir: str, lanes: int) -> tuple[float, list[Loop]]:
    """The instructions of a kernel outside of loops that threads share, and these loops.

    Elementary functions count as 16 instructions.
    """
    serial, loops = 0.0, list[Loop]()
    around: list[tuple[float, bool]] = []
    times, shared = 1.0, False
    for line in map(str.strip, tir.splitlines()[1:-1]):
        if line.startswith("}") and around:
            times, shared = around.pop()
        if line.endswith("{"):
            around.append((times, shared))
            if loop := _FOR.match(line):
                passes = int(loop[2]) if loop[2].isdigit() else _OPEN
                times *= passes
                if loop[1] == "parallel" and not shared:
                    loops.append(Loop(passes, 0.0))
                    shared = True
        elif any(word in line for word in _COUNTED) and "constant" not in line:
            width = max(map(int, _VECTOR.findall(line)), default=1)
            count = times * ceil(width / lanes) * (16 if _ELEMENTARY.search(line) else 1)
            if shared:
                loops[-1] = Loop(loops[-1].passes, loops[-1].instructions + count)
            else:
                serial += count
    return serial, loops


def largest_share(passes: int, threads: int) -> float:
    """The largest share of a loop's passes, where threads are equally fast: chunks are parts of what is left."""
    shares, begin, least = [0] * threads, 0, max(1, passes // (16 * threads))
    while begin < passes:
        chunk = min(max((passes - begin) // (2 * threads), least), passes - begin)
        shares[shares.index(min(shares))] += chunk
        begin += chunk
    return max(shares) / max(passes, 1)


class Call(NamedTuple):
    """A kernel call, in seconds."""

    symbol: str
    alone: float
    serial: float
    passes: list[int]
    together: list[float]
    """By the number of threads."""


def calls_of(name: str, threads: Sequence[int], repeat: int) -> list[Call]:
    model, inputs = NETWORKS[name].make()
    program = whence.compile(model, threads=1)
    lanes = Target.native().hardware.lanes()
    found: list[Call] = []
    for call, alone in zip(program.artifact.calls, program.times(inputs, repeat=repeat).calls, strict=True):
        kernel = program.artifact.kernels[call.kernel]
        if isinstance(kernel, Kernel):
            serial, loops = loops_of(kernel.tir, lanes)
            rate = alone / max(serial + sum(loop.instructions for loop in loops), 1.0)
            shares = [sum(loop.instructions * largest_share(loop.passes, count) for loop in loops) for count in threads]
            together = [rate * (serial + share) for share in shares]
            found.append(Call(kernel.symbol, alone, rate * serial, [loop.passes for loop in loops], together))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["*"], help="names or patterns; every f32 network by default")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--repeat", type=int, default=7, help="runs that are timed")
    parser.add_argument("--kernels", action="store_true", help="the kernels that lose most with the first number, too")
    args = parser.parse_args()
    threads = cast("list[int]", args.threads)
    print(f"{'network':22}{'ms':>9}{'calls':>7}{'serial':>9}" + "".join(f"{f'{count}T':>7}" for count in threads))
    for name, entry in NETWORKS.items():
        if entry.kind != "f32" or not any(fnmatch(name, pattern) for pattern in args.names):
            continue
        calls = calls_of(name, threads, args.repeat)
        alone, serial = sum(call.alone for call in calls), sum(call.serial for call in calls)
        together = [sum(column) for column in zip(*(call.together for call in calls), strict=True)]
        ratios = "".join(f"{alone / time:7.2f}" for time in together)
        print(f"{name:22}{1e3 * alone:9.2f}{len(calls):7}{serial / alone:9.1%}{ratios}", flush=True)
        if args.kernels:
            lost = sorted(calls, key=lambda call: call.alone / threads[0] - call.together[0])
            for call in lost[:_SHOWN]:
                loss = 1e6 * (call.together[0] - call.alone / threads[0])
                print(f"    {1e6 * call.alone:9.1f} us, lost {loss:7.1f}, passes {call.passes}  {call.symbol}")


if __name__ == "__main__":
    main()
