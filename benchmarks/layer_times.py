"""Times of layers on a busy machine, beside the shares that perf sees.

    python benchmarks/layer_times.py [--threads 1] [light_squeezenet light_shufflenet transformer ..]

Per network, on random weights, while a process per CPU does nothing but use it: the share of each layer that has 5 % or
more of the time. `perf` has it of the very runs that `Executable.times` measures: samples of the CPU's clock in
kernels, which addr2line takes to lines of TIR; samples of a kernel that several calls run count for each evenly.
`times` is what `times` says with samples, `estim.` without, and `wall` what it says by the clock on the wall. Below
each is the largest difference from perf, relative to perf's share.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
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
from whence.runtime.program.cpus import available_cpus
from whence.runtime.program.threads import ThreadPool

NETWORKS = ("light_squeezenet", "light_shufflenet", "transformer")
SECONDS = 4
LEAST = 0.05
_SAMPLE = re.compile(r"\s*[0-9a-f]+ (tvmgen_\w+)\+0x([0-9a-f]+)")
_SYMBOL = re.compile(r"([0-9a-f]{16}) .{7} (\S+)\s+[0-9a-f]{16} (?:\.\S+ )?(\S+)")

Shares = dict[str, float]


@contextmanager
def perf_samples() -> Generator[Counter[tuple[str, int]]]:
    """Function and offset in it -> samples of perf of this process in the scope; there when it has ended."""
    samples: Counter[tuple[str, int]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "perf.data"))
        record = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "5000", "-p", str(os.getpid()), "-o", data]
        with subprocess.Popen(record, stderr=subprocess.DEVNULL) as perf:
            time.sleep(1)
            yield samples
            perf.send_signal(signal.SIGINT)
        script = ["perf", "script", "-i", data, "-F", "ip,sym,symoff"]
        text = subprocess.run(script, check=True, capture_output=True, text=True).stdout
    for match in filter(None, map(_SAMPLE.match, text.splitlines())):
        samples[match[1], int(match[2], 16)] += 1


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
                rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
                for (_, count), row in zip(inside, rows, strict=True):
                    number = row.rpartition(":")[2].split()[0]
                    lines[int(number) if number.isdecimal() else 0] += count
    return lines


def perf_shares(compiled: Executable, samples: Counter[tuple[str, int]]) -> Shares:
    """The share of each layer, of all samples in kernels."""
    artifact, shares, total = compiled.artifact, defaultdict[str, float](float), 0
    owner = owners(artifact)
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
        start = time.thread_time()
        for _ in range(5):
            compiled.run(inputs)
        repeat = max(20, int(SECONDS / (time.thread_time() - start) * 5))
        with perf_samples() as seen:
            times = compiled.times(inputs, repeat)
        samples = compiled.sample(inputs, SECONDS)
        cpu, ThreadPool.clock = ThreadPool.clock, wall
        by_wall = shares_of(compiled, compiled.times(inputs, repeat))
        ThreadPool.clock = cpu
    perf = perf_shares(compiled, seen)
    sampled = shares_of(compiled, Times.of(compiled.artifact, times.calls, samples))
    estimated = shares_of(compiled, times)
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
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    args = parser.parse_args()
    os.environ["WHENCE_PERF_MAP"] = "1"
    for name in args.networks:
        if len(args.networks) == 1:
            compare(name, args.threads)
        else:
            # perf's map of a process would hold functions that are gone.
            subprocess.run([sys.executable, __file__, "--threads", str(args.threads), name], check=True)


if __name__ == "__main__":
    main()
