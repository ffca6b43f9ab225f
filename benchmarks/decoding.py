"""Decoders with growing caches, one token per step: a GPT-2, and tokens per second of a small model of 4-bit weights.

    python benchmarks/decoding.py [layers=4] [steps=64] [past=32] [cpu=1]
    python benchmarks/decoding.py tokens=1 [layers=24] [steps=8] [cpu=1]

The first command runs a GPT-2 of that many layers (768 wide, 12 heads) step after step: in one program for all sizes,
in onnxruntime, and, for the cache of the last step, in a program for these sizes. The first step of a size includes
what a new size costs. The second command prints a table for a model of the kind of Qwen2-0.5B: steps with caches of
several lengths, and prompts. onnxruntime runs it with its own operator of grouped queries and as exporters of PyTorch
write it, and the better one counts; we run the latter, and steps whose caches are given away, which are appended to
where they are.

All take turns in one process on one thread; weights are random; ratios are those of medians of seconds, with cpu=1 of
the thread's own, where others keep the machine busy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np
from decoders import HEADS, RNG, WIDTH, WORDS, Sizes, decoder, small_decoder

import whence

ort: Any = import_module("onnxruntime")
PASTS, PROMPTS = (32, 512, 1024, 4096), (32, 128, 512)


def timed(call: Callable[[], Iterable[Any]]) -> tuple[float, list[Any]]:
    """Seconds, and what there is then."""
    clock = time.thread_time if "cpu=1" in sys.argv else time.perf_counter
    start = clock()
    found = list(call())
    return clock() - start, found


def session_of(model: Any) -> Any:
    setting = ort.SessionOptions()
    setting.intra_op_num_threads, setting.log_severity_level = 1, 3
    return ort.InferenceSession(model.SerializeToString(), setting, providers=["CPUExecutionProvider"])


def tokens_per_second(
    program: whence.Executable, sessions: list[Any], inputs: dict[str, Any], steps: int
) -> list[float]:
    """Tokens per second of onnxruntime's sessions, of ours, and of ours with caches given away."""
    names = [name for name in inputs if name != "ids"]
    given, is_step = dict(inputs), inputs[names[0]].shape[2] > 0

    def appended() -> Iterable[Any]:
        """A step that goes on from the last one; a prompt always is the first."""
        results = list(program.run(given, donate=names).values())
        if is_step:
            given.update(zip(names, results[1:], strict=True))
        return results

    calls: list[Callable[[], Iterable[Any]]] = [
        *(lambda session=session: session.run(None, inputs) for session in sessions),
        lambda: program.run(inputs).values(),
        appended,
    ]
    times: list[list[float]] = [[] for _ in calls]
    # The first round is no part of it: it brings programs, and room for caches.
    for step in range(steps + 1):
        for call, kept in zip(calls, times, strict=True):
            took = timed(call)[0]
            if step:
                kept.append(took)
    return [inputs["ids"].size / median(kept) for kept in times]


def table(layers: int, steps: int) -> None:
    """Print tokens per second of the small model."""
    sizes = Sizes(layers=layers)
    models = [small_decoder(sizes), small_decoder(sizes, grouped=True)]
    sessions = [session_of(model) for model in models]
    program = whence.compile(models[0], tier="symbolic", threads=1)
    names = [f"{kind}{i}" for i in range(layers) for kind in ("keys", "values")]
    print(f"tokens per second, {layers} layers    onnxruntime, its operator    ours, caches given away       ratio")
    for new, past in [*((1, past) for past in PASTS), *((prompt, 0) for prompt in PROMPTS)]:
        shape = (1, sizes.key_heads, past, sizes.head)
        inputs: dict[str, Any] = {name: RNG.standard_normal(shape, np.float32) for name in names}
        inputs["ids"] = RNG.integers(0, sizes.words, (1, new))
        plain, grouped, ours, donated = tokens_per_second(program, sessions, inputs, steps)
        what = f"{past} past tokens" if past else f"a prompt of {new}"
        ratio = max(ours, donated) / max(plain, grouped)
        print(f"{what:>27s}    {plain:11.1f}  {grouped:12.1f}    {ours:4.1f}  {donated:17.1f}    {ratio:8.2f}")


def main(*options: str) -> None:
    given = {name: int(number) for name, _, number in (option.partition("=") for option in options)}
    if given.get("tokens"):
        table(given.get("layers", 24), given.get("steps", 8))
        return
    layers, steps, first = given.get("layers", 4), given.get("steps", 64), given.get("past", 32)
    model = decoder(layers)
    symbolic = whence.compile(model, tier="symbolic", threads=1)
    session = session_of(model)

    def ours(executable: whence.Executable, inputs: dict[str, Any]) -> tuple[float, list[Any]]:
        return timed(lambda: executable.run(inputs).values())

    def theirs(inputs: dict[str, Any]) -> tuple[float, list[Any]]:
        return timed(lambda: session.run(None, inputs))

    names = [f"{kind}{i}" for i in range(layers) for kind in ("keys", "values")]
    start: dict[str, Any] = {name: np.zeros((1, HEADS, 0, WIDTH // HEADS), np.float32) for name in names}
    _, (_, *caches) = ours(symbolic, {"ids": RNG.integers(0, WORDS, (1, first)), **start})
    inputs: dict[str, Any] = {}
    mine: list[float] = []
    again: list[float] = []
    appended: list[float] = []
    other: list[float] = []
    worst = 0.0
    kept_caches: list[Any] = []
    for _ in range(steps):
        inputs = {"ids": RNG.integers(0, WORDS, (1, 1)), **dict(zip(names, caches, strict=True))}
        took, found = ours(symbolic, inputs)
        mine.append(took)
        took, expected = theirs(inputs)
        other.append(took)
        again.append(ours(symbolic, inputs)[0])
        held = dict(zip(names, kept_caches, strict=True)) if kept_caches else {name: inputs[name] for name in names}
        given_away = {"ids": inputs["ids"], **held}
        took, (_, *kept_caches) = timed(lambda given=given_away: symbolic.run(given, donate=names).values())
        appended.append(took)
        worst = max(worst, *(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True)))
        caches = found[1:]
    print(f"{steps} steps of {layers} layers from {first} tokens on, at most {worst:.1e} from onnxruntime")
    a, b, c = median(mine), median(other), median(again)
    print(f"{a * 1e3:.3f} ms a step, each of a new size, {b * 1e3:.3f} ms in onnxruntime: {a / b:.2f}x")
    print(f"{(a - c) * 1e3:.3f} ms of it more than a second call takes")
    c = median(appended)
    print(f"{c * 1e3:.3f} ms with caches given away: {c / b:.2f}x")
    static = whence.compile(model, input_shapes={name: value.shape for name, value in inputs.items()}, threads=1)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(steps):
        for kept, executable in zip(times, (symbolic, static), strict=True):
            kept.append(ours(executable, inputs)[0])
    a, b = map(median, times)
    print(f"{a * 1e3:.3f} ms for all sizes, {b * 1e3:.3f} ms for these: {a / b:.2f}x")


if __name__ == "__main__":
    main(*sys.argv[1:])
