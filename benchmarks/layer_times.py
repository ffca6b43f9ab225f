"""Times of layers on a busy machine, beside the shares that perf sees.

    python benchmarks/layer_times.py [--threads 1] [light_squeezenet light_shufflenet transformer ..]

Per network, on random weights, while a process per CPU does nothing but use it: the share of each layer that has 5 % or
more of the time. `perf` has it of a process of its own: samples of the CPU's clock in kernels, which addr2line takes to
lines of TIR; samples of a kernel that several calls run count for each evenly. `times` is what `Executable.times` says
with samples, `estim.` without, and `wall` what it would say by the clock on the wall. Below each is the largest
difference from perf, relative to perf's share.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from node_times import inputs_of, load

import whence
from whence.executables.executable import Executable
from whence.explorer.code import kernel_of
from whence.explorer.layers import owners
from whence.explorer.samples import layer_shares, slot_samples
from whence.explorer.times import Times
from whence.runtime.cpus import available_cpus
from whence.runtime.threads import ThreadPool

NETWORKS = ("light_squeezenet", "light_shufflenet", "transformer")
SECONDS = 6
LEAST = 0.05
REPEAT = 40
_SAMPLE = re.compile(r"\s*[0-9a-f]+ (tvmgen_\w+)\+0x([0-9a-f]+)")
_SYMBOL = re.compile(r"([0-9a-f]{16}) .{7} (\S+)\s+[0-9a-f]{16} (?:\.\S+ )?(\S+)")

Shares = dict[str, float]


def run_for(compiled: Executable, seconds: float) -> None:
    inputs, end = inputs_of(compiled), time.monotonic() + seconds
    while time.monotonic() < end:
        compiled.run(inputs)


def perf_samples(name: str, threads: int) -> Counter[tuple[str, int]]:
    """Function and offset in it -> samples of perf."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "5000", "-o", data]
        child = [sys.executable, __file__, "--child", "--threads", str(threads), name]
        subprocess.run([*record, *child], env={**os.environ, "WHENCE_PERF_MAP": "1"}, check=True)
        script = ["perf", "script", "-i", data, "-F", "ip,sym,symoff"]
        text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    matches = map(_SAMPLE.match, text.splitlines())
    return Counter((match[1], int(match[2], 16)) for match in matches if match is not None)


def lines_of(code: bytes, samples: Counter[tuple[str, int]]) -> Counter[int]:
    """Line of TIR -> samples in the functions of an object."""
    lines: Counter[int] = Counter()
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        text = subprocess.run(["objdump", "-t", file.name], check=True, capture_output=True, text=True).stdout
        for offset, section, symbol in _SYMBOL.findall(text):
            inside = [(at, count) for (function, at), count in samples.items() if function == symbol]
            addresses = [hex(int(offset, 16) + at) for at, _ in inside]
            command = ["addr2line", "-e", file.name, "-j", section, *addresses]
            if inside:
                found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
                for (_, count), place in zip(inside, found, strict=True):
                    number = place.rpartition(":")[2].split()[0]
                    lines[int(number) if number.isdecimal() else 0] += count
    return lines


def perf_shares(compiled: Executable, name: str, threads: int) -> Shares:
    """The share of each layer, of all samples in kernels."""
    artifact, shares, total = compiled.artifact, defaultdict[str, float](float), 0
    samples, owner = perf_samples(name, threads), owners(compiled.artifact)
    for index in {call.kernel for call in artifact.calls}:
        kernel, calls = kernel_of(artifact, index), [call for call in artifact.calls if call.kernel == index]
        lines = lines_of(kernel.object, samples)
        slots, count = slot_samples(kernel, lines), sum(lines.values())
        total += count
        for call in calls:
            parts = [slots.get(slot, 0.0) / max(sum(slots.values()), 1) for slot in range(len(call.layers))]
            for layer, part in layer_shares(call, parts, owner).items():
                shares[layer.name if layer else ""] += part * count / len(calls)
    return {layer: samples / total for layer, samples in shares.items()}


def shares_of(compiled: Executable, times: Times) -> Shares:
    return {
        entry.layer.name if entry.layer else "": entry.seconds / times.total
        for entry in times.ranked(compiled.artifact)
    }


@contextmanager
def load_on_every_cpu() -> Generator[None]:
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(available_cpus())]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


@contextmanager
def wall(self: ThreadPool, own: Callable[[], float] = time.thread_time) -> Generator[Callable[[], float]]:
    yield time.perf_counter


def compare(name: str, threads: int) -> None:
    compiled = whence.compile(load(name), threads=threads)
    inputs = inputs_of(compiled)
    with load_on_every_cpu():
        perf = perf_shares(compiled, name, threads)
        run_for(compiled, 0.5)
        samples = compiled.sample(inputs, SECONDS)
        sampled = shares_of(compiled, compiled.times(inputs, REPEAT, samples))
        estimated = shares_of(compiled, compiled.times(inputs, REPEAT))
        cpu, ThreadPool.clock = ThreadPool.clock, wall
        by_wall = shares_of(compiled, compiled.times(inputs, REPEAT))
        ThreadPool.clock = cpu
    columns = (sampled, estimated, by_wall)
    print(f"{name}, {threads} threads\n{'layer':40}{'perf':>9}{'times':>9}{'estim.':>9}{'wall':>9}")
    layers = sorted((layer for layer, share in perf.items() if share >= LEAST), key=lambda layer: -perf[layer])
    for layer in layers:
        print(f"{layer[-40:]:40}{perf[layer]:9.1%}" + "".join(f"{column.get(layer, 0):9.1%}" for column in columns))
    worst = [max((abs(column.get(layer, 0) / perf[layer] - 1) for layer in layers), default=0.0) for column in columns]
    print(f"{'largest difference':40}{'':9}" + "".join(f"{gap:9.1%}" for gap in worst), end="\n\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--child", action="store_true", help="run a network for perf")
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    args = parser.parse_args()
    for name in args.networks:
        if args.child:
            run_for(whence.compile(load(name), threads=args.threads), SECONDS)
        else:
            compare(name, args.threads)


if __name__ == "__main__":
    main()
