# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false
"""Naive kernels as somebody writes them: as fast as our operators once they are raised? And how much faster than TVM?

    python benchmarks/raised.py [--tvm PYTHON] [--mcpu NAME] [--only TEXT]

Each kernel is unscheduled loops. Prints milliseconds of one thread: raised and scheduled by strategies, the relay
operator that computes the same, and with --tvm, an interpreter with apache-tvm 0.27, the same loops as TVM compiles
them as written. Results are compared with the operator's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SECONDS = 0.4


class Naive(NamedTuple):
    """Inputs and output in te, and the same in relay, of variables for the inputs."""

    inputs: Sequence[Any]
    output: Any
    operator: Callable[..., Any]


def best(call: Callable[[], object]) -> float:
    """Return the milliseconds of the fastest call."""
    call()
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def worker(folder: Path, mcpu: str) -> None:
    """Time what is in a folder by TVM; a line of JSON for each kernel."""
    tvm: Any = import_module("tvm")
    target: Any = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    for script in sorted(folder.glob("*.txt")):
        arrays = np.load(script.with_suffix(".npz"))
        tensors = [tvm.runtime.tensor(arrays[name]) for name in sorted(arrays)]
        try:
            function: Any = tvm.script.from_source(script.read_text()).with_attr("global_symbol", "main")
            built: Any = tvm.compile(tvm.IRModule({"main": function}), target=target)
            run = built["main"]
            print(json.dumps([script.stem, best(lambda: run(*tensors))]), flush=True)  # noqa: B023
        except Exception as failure:
            print(json.dumps([script.stem, " ".join(str(failure).split())[-200:]]), flush=True)


def kernels() -> dict[str, Naive]:
    """Return the kernels, by name."""
    from whence import relay, te

    def tensor(name: str, *shape: int) -> Any:
        return te.placeholder(shape, name=name)

    def axes(**extents: int) -> list[Any]:
        return [te.reduce_axis((0, extent), name=name) for name, extent in extents.items()]

    def matmul(m: int, n: int, k: int, flip_a: bool = False, flip_b: bool = False, relu: bool = False) -> Naive:
        a, b = tensor("a", *((k, m) if flip_a else (m, k))), tensor("b", *((n, k) if flip_b else (k, n)))
        (r,) = axes(r=k)

        def term(i: Any, j: Any) -> Any:
            return (a[r, i] if flip_a else a[i, r]) * (b[j, r] if flip_b else b[r, j])

        c = te.compute((m, n), lambda i, j: te.sum(term(i, j), axis=r), name="c")
        out = te.compute((m, n), lambda i, j: te.max(c[i, j], te.const(0.0, "float32")), name="relu") if relu else c

        def operator(x: Any, y: Any) -> Any:
            product = relay.nn.matmul(x, y, transpose_a=flip_a, transpose_b=flip_b)
            return relay.nn.relu(product) if relu else product

        return Naive([a, b], out, operator)

    def batched(batch: int, m: int, n: int, k: int, flip: bool = False) -> Naive:
        a, b = tensor("a", batch, m, k), tensor("b", batch, *((n, k) if flip else (k, n)))
        (r,) = axes(r=k)
        c = te.compute(
            (batch, m, n), lambda s, i, j: te.sum(a[s, i, r] * (b[s, j, r] if flip else b[s, r, j]), axis=r), name="c"
        )
        return Naive([a, b], c, lambda x, y: relay.nn.batch_matmul(x, y, transpose_b=flip))

    def nchw(i: int, size: int, o: int, window: int, stride: int = 1, pad: int = 0) -> Naive:
        a, w = tensor("a", 1, i, size, size), tensor("w", o, i, window, window)
        whole, out = size + 2 * pad, (size + 2 * pad - window) // stride + 1
        c, p, q = axes(c=i, p=window, q=window)

        def padded(n: Any, k: Any, y: Any, x: Any) -> Any:
            inside = te.all(y >= pad, y < size + pad, x >= pad, x < size + pad)
            return te.if_then_else(inside, a[n, k, y - pad, x - pad], 0.0)

        data = te.compute((1, i, whole, whole), padded, name="padded") if pad else a
        result = te.compute(
            (1, o, out, out),
            lambda n, k, y, x: te.sum(data[n, c, y * stride + p, x * stride + q] * w[k, c, p, q], axis=[c, p, q]),
            name="conv",
        )
        shape = {"channels": o, "kernel_size": (window, window), "strides": (stride, stride), "padding": (pad, pad)}
        return Naive([a, w], result, lambda x, y: relay.nn.conv2d(x, y, **shape))

    def nhwc(i: int, size: int, o: int, window: int, stride: int = 1) -> Naive:
        a, w, out = tensor("a", 1, size, size, i), tensor("w", window, window, i, o), (size - window) // stride + 1
        c, p, q = axes(c=i, p=window, q=window)
        result = te.compute(
            (1, out, out, o),
            lambda n, y, x, k: te.sum(a[n, y * stride + p, x * stride + q, c] * w[p, q, c, k], axis=[p, q, c]),
            name="conv",
        )
        shape = {"channels": o, "kernel_size": (window, window), "strides": (stride, stride)}
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        return Naive([a, w], result, lambda x, y: relay.nn.conv2d(x, y, **shape, **layouts))

    def depthwise(c: int, size: int, stride: int = 1) -> Naive:
        a, w, out = tensor("a", 1, c, size, size), tensor("w", c, 1, 3, 3), (size - 3) // stride + 1
        p, q = axes(p=3, q=3)
        result = te.compute(
            (1, c, out, out),
            lambda n, k, y, x: te.sum(a[n, k, y * stride + p, x * stride + q] * w[k, 0, p, q], axis=[p, q]),
            name="conv",
        )
        shape = {"channels": c, "groups": c, "kernel_size": (3, 3), "strides": (stride, stride)}
        return Naive([a, w], result, lambda x, y: relay.nn.conv2d(x, y, **shape))

    def grouped(groups: int, i: int, size: int, o: int) -> Naive:
        a, w, out = tensor("a", 1, groups * i, size, size), tensor("w", groups * o, i, 3, 3), size - 2
        c, p, q = axes(c=i, p=3, q=3)
        result = te.compute(
            (1, groups * o, out, out),
            lambda n, k, y, x: te.sum(a[n, k // o * i + c, y + p, x + q] * w[k, c, p, q], axis=[c, p, q]),
            name="conv",
        )
        shape = {"channels": groups * o, "groups": groups, "kernel_size": (3, 3)}
        return Naive([a, w], result, lambda x, y: relay.nn.conv2d(x, y, **shape))

    def pool(c: int, size: int, window: int, stride: int, mean: bool = False) -> Naive:
        a, out = tensor("a", 1, c, size, size), (size - window) // stride + 1
        p, q = axes(p=window, q=window)
        reducer = te.sum if mean else te.max
        result = te.compute(
            (1, c, out, out),
            lambda n, k, y, x: reducer(a[n, k, y * stride + p, x * stride + q], axis=[p, q]),
            name="pool",
        )
        total = result
        if mean:
            result = te.compute((1, c, out, out), lambda *i: total(*i) * (1.0 / window**2), name="mean")
        operator = relay.nn.avg_pool2d if mean else relay.nn.max_pool2d
        return Naive([a], result, lambda x: operator(x, (window, window), (stride, stride)))

    def softmax(rows: int, columns: int) -> Naive:
        a = tensor("a", rows, columns)
        k, r = axes(k=columns, r=columns)
        largest = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="largest")
        powers = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - largest[i]), name="powers")
        total = te.compute((rows,), lambda i: te.sum(powers[i, r], axis=r), name="total")
        out = te.compute((rows, columns), lambda i, j: powers[i, j] / total[i], name="out")
        return Naive([a], out, relay.nn.softmax)

    def layer_norm(rows: int, columns: int) -> Naive:
        a, gamma, beta = tensor("a", rows, columns), tensor("gamma", columns), tensor("beta", columns)
        k, r = axes(k=columns, r=columns)
        total = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="total")
        mean = te.compute((rows,), lambda i: total[i] * (1.0 / columns), name="mean")
        squares = te.compute(
            (rows,), lambda i: te.sum((a[i, r] - mean[i]) * (a[i, r] - mean[i]), axis=r), name="squares"
        )
        out = te.compute(
            (rows, columns),
            lambda i, j: (a[i, j] - mean[i]) / te.sqrt(squares[i] * (1.0 / columns) + 1e-5) * gamma[j] + beta[j],
            name="out",
        )
        return Naive([a, gamma, beta], out, relay.nn.layer_norm)

    def scores(heads: int, length: int, width: int) -> Naive:
        a, b = tensor("a", heads, length, width), tensor("b", heads, length, width)
        (d,) = axes(d=width)
        shape = (heads, length, length)
        product = te.compute(shape, lambda h, i, j: te.sum(a[h, i, d] * b[h, j, d], axis=d), name="product")
        out = te.compute(shape, lambda *i: product(*i) * 0.125, name="scaled")
        return Naive([a, b], out, lambda x, y: relay.nn.batch_matmul(x, y) * relay.const(0.125, "float32"))

    def reduced(shape: Sequence[int], over: Sequence[int], name: str) -> Naive:
        a = tensor("a", *shape)
        inner = {axis: te.reduce_axis((0, shape[axis]), name=f"k{axis}") for axis in over}
        data = [axis for axis in range(len(shape)) if axis not in over]

        def element(*i: Any) -> Any:
            point = [inner[axis] if axis in inner else i[data.index(axis)] for axis in range(len(shape))]
            return getattr(te, name)(a(*point), axis=list(inner.values()))

        out = te.compute([shape[axis] for axis in data], element, name="out")
        return Naive([a], out, lambda x: getattr(relay, name)(x, axis=list(over)))

    return {
        "matmul 256": matmul(256, 256, 256),
        "matmul 256 relu": matmul(256, 256, 256, relu=True),
        "matmul 512x128x384": matmul(512, 128, 384),
        "matmul b transposed": matmul(256, 256, 256, flip_b=True),
        "matmul a transposed": matmul(256, 256, 256, flip_a=True),
        "matmul both transposed": matmul(192, 160, 128, flip_a=True, flip_b=True),
        "matmul 127x133x65": matmul(127, 133, 65),
        "matmul 1000x33x64": matmul(1000, 33, 64),
        "matmul of a row": matmul(1, 1000, 512, flip_b=True),
        "batched": batched(8, 64, 64, 64),
        "batched transposed": batched(8, 64, 64, 64, flip=True),
        "batched 3x37x53x29": batched(3, 37, 53, 29),
        "conv nchw": nchw(32, 30, 32, 3),
        "conv nchw padded": nchw(32, 28, 64, 3, pad=1),
        "conv nchw 1x1": nchw(64, 28, 64, 1),
        "conv nchw stride 2": nchw(16, 33, 32, 3, stride=2),
        "conv nchw 7x7": nchw(3, 64, 32, 7, stride=2),
        "conv nhwc": nhwc(32, 30, 32, 3),
        "conv nhwc stride 2": nhwc(16, 33, 32, 3, stride=2),
        "depthwise": depthwise(64, 30),
        "depthwise stride 2": depthwise(64, 33, 2),
        "grouped": grouped(4, 8, 30, 8),
        "max pool": pool(64, 57, 3, 2),
        "mean pool": pool(64, 56, 2, 2, mean=True),
        "softmax": softmax(128, 1000),
        "softmax 77x33": softmax(77, 33),
        "layer norm": layer_norm(128, 768),
        "attention scores": scores(8, 128, 64),
        "sum of rows": reduced((512, 1000), [1], "sum"),
        "sum of columns": reduced((512, 1000), [0], "sum"),
        "largest of planes": reduced((64, 56, 56), [1, 2], "max"),
    }


def ours(name: str, naive: Naive, folder: Path) -> tuple[float, float, bool]:
    """Return the times of the raised kernel and of the operator, and whether they agree; writes what TVM runs."""
    import whence
    from whence import relay, tir
    from whence.kernels.building import create_prim_func

    random = np.random.default_rng(0)
    arrays = [random.standard_normal(tensor.shape).astype(np.float32) for tensor in naive.inputs]
    func = create_prim_func([*naive.inputs, naive.output])
    kernel = whence.build(func, threads=1)
    variables = [relay.var(f"x{number}", shape=array.shape) for number, array in enumerate(arrays)]
    executable = whence.compile(
        whence.IRModule.from_expr(relay.Function(variables, naive.operator(*variables))), threads=1
    )
    (found,) = (np.asarray(each) for each in [kernel(*arrays)])
    expected = np.asarray(executable(*arrays))
    stem = name.replace(" ", "_")
    (folder / f"{stem}.txt").write_text(tir.PrimFunc.of(func).script())
    np.savez(folder / f"{stem}.npz", **{f"p{n:03}": array for n, array in enumerate([*arrays, found])})  # pyright: ignore
    times = best(lambda: kernel(*arrays)), best(lambda: executable(*arrays))
    return *times, bool(np.allclose(found, expected, 1e-3, 1e-3))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tvm", help="an interpreter with apache-tvm")
    parser.add_argument("--mcpu", default="x86-64-v3", help="LLVM's name of the machine: `native` is not one")
    parser.add_argument("--only", default="", help="kernels whose name has this text")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.worker, options.mcpu)
        return 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        rows = {name: ours(name, naive, folder) for name, naive in kernels().items() if options.only in name}
        theirs: dict[str, Any] = {}
        if options.tvm is not None:
            command = [options.tvm, str(Path(__file__).resolve()), "--worker", str(folder), "--mcpu", options.mcpu]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            theirs = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    print(f"{'kernel':24} {'raised':>8} {'operator':>8} {'ratio':>6} {'TVM':>9} {'times':>6}")
    near = 0
    for name, (raised, operator, agrees) in rows.items():
        near += raised <= 1.1 * operator
        tvm = theirs.get(name.replace(" ", "_"))
        beside = f"{tvm:9.3f} {tvm / raised:6.1f}" if isinstance(tvm, float) else f"{tvm or '':>9}"
        print(f"{name:24} {raised:8.3f} {operator:8.3f} {raised / operator:6.2f} {beside}{'' if agrees else '  WRONG'}")
    print(f"{near} of {len(rows)} take at most 1.1 times as long as the operator")
    return 0


if __name__ == "__main__":
    sys.exit(main())
