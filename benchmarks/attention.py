"""Attention of many sizes beside onnxruntime, on one thread: prompts, and steps of a decoder with its cache.

    python benchmarks/attention.py [WORD ...]

Prints a row for each case whose name contains one of the words (all of them without): the kernels, the median
microseconds of Whence and of onnxruntime, called in turn, and the second by the first. A prompt is `heads x rows x keys
x depth`; a causal one hides later keys, and is compiled for its sizes and for all. A step also copies the cache,
`heads x past x depth`, and adds its key and value.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from operators import Case, medians, onnxruntime_call

import whence

_WEIGHTS = "M = Add(S, X3); P = Softmax<axis=-1>(M)"
PROMPTS = (
    *((12, 16, 128, 64), (12, 128, 128, 64), (3, 49, 49, 32), (12, 33, 45, 40), (8, 77, 77, 64), (6, 197, 197, 64)),
    *((12, 384, 384, 64), (12, 577, 577, 64), (8, 1024, 77, 40), (8, 1024, 1024, 40), (2, 1111, 1111, 80)),
    *((6, 1500, 1500, 64), (1, 700, 6000, 64)),
)
CAUSAL = ((12, 7, 512, 64), (12, 64, 64, 64), (12, 128, 128, 64), (12, 512, 512, 64), (12, 1024, 1024, 64))
OPEN = {"X0": (2, "rows"), "X1": (2, "keys"), "X2": (2, "keys"), "I0": (0, "keys"), "I1": (0, "rows")}
"""The dimension of each input of a causal prompt that is open, and its name."""
STEPS = ((12, 31, 64), (12, 512, 64), (12, 900, 64), (12, 901, 64), (32, 333, 80), (8, 2048, 128))


def _prompt(heads: int, rows: int, keys: int, depth: int) -> Case:
    nodes = f"T = Transpose<perm=[0,1,3,2]>(X1); S = MatMul(X0, T); {_WEIGHTS}; Y = MatMul(P, X2)"
    cached = (1, heads, keys, depth)
    shapes = [(1, heads, rows, depth), cached, cached, (1, 1, rows, keys)]
    return Case(f"prompt {heads}x{rows}x{keys}x{depth}", nodes, shapes)


def _causal(heads: int, rows: int, keys: int, depth: int) -> Case:
    nodes = """T = Transpose<perm=[0,1,3,2]>(X1); S = MatMul(X0, T); C = LessOrEqual(I0, I1); M = Where(C, S, X3);
        P = Softmax<axis=-1>(M); Y = MatMul(P, X2)"""
    cached = (1, heads, keys, depth)
    shapes, places = [(1, heads, rows, depth), cached, cached, (1,)], [((keys,), 1), ((rows, 1), 1)]
    return Case(f"causal {heads}x{rows}x{keys}x{depth}", nodes, shapes, indices=places)


def _step(heads: int, past: int, depth: int) -> Case:
    nodes = f"""K = Concat<axis=2>(X1, X4); V = Concat<axis=2>(X2, X5); T = Transpose<perm=[0,1,3,2]>(K);
        S = MatMul(X0, T); {_WEIGHTS}; Y = MatMul(P, V)"""
    new, cached = (1, heads, 1, depth), (1, heads, past, depth)
    return Case(f"step {heads}x{past}x{depth}", nodes, [new, cached, cached, (1, 1, 1, past + 1), new, new])


def run(case: Case, *, open_: bool = False) -> None:
    model, feed = case.model(), case.arrays()
    for value in model.graph.input if open_ else ():
        if value.name in OPEN:
            number, name = OPEN[value.name]
            value.type.tensor_type.shape.dim[number].dim_param = name
    if case.indices:
        rows, keys = feed["I1"].size, feed["I0"].size
        feed["X3"] = np.full(1, -1e9, np.float32)
        feed["I0"], feed["I1"] = np.arange(keys), np.arange(keys - rows, keys)[:, None]
    arrays = list(feed.values())
    exe = whence.compile(model, threads=1, tier="symbolic" if open_ else "auto")
    theirs = onnxruntime_call(model, feed)
    np.testing.assert_allclose(np.asarray(exe(*arrays)), theirs(), rtol=2e-3, atol=2e-3, err_msg=case.name)
    ours, them = medians([partial(exe, *arrays), theirs])
    count = len(exe.artifact.calls)
    name = f"{case.name}{' open' if open_ else ''}"
    print(f"{name:28} {count:3} {ours * 1e6:10.1f} {them * 1e6:10.1f} {them / ours:8.2f}", flush=True)


if __name__ == "__main__":
    cases = [*(_prompt(*sizes) for sizes in PROMPTS), *(_step(*sizes) for sizes in STEPS)]
    for case in cases:
        if len(sys.argv) == 1 or any(word in case.name for word in sys.argv[1:]):
            run(case)
    for prompt in CAUSAL:
        case = _causal(*prompt)
        if len(sys.argv) == 1 or any(word in case.name for word in sys.argv[1:]):
            run(case)
            run(case, open_=True)
