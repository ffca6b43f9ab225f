"""Kernels that stay as they are written: a scan with an inner product, updates in place, a stencil in two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.dialects.tir import PrimFuncOp, prim_funcs
from whence.script import from_source

Array = NDArray[Any]


class Written(NamedTuple):
    """A kernel, the shapes of its inputs, and what it computes by numpy."""

    source: str
    shapes: list[tuple[int, ...]]
    reference: Callable[..., Array]

    @property
    def func(self) -> PrimFuncOp:
        return next(iter(prim_funcs(from_source(self.source).module)))

    def inputs(self, seed: int = 0) -> list[Array]:
        """Random numbers of both signs."""
        rng = np.random.default_rng(seed)
        return [rng.standard_normal(shape).astype(np.float32) for shape in self.shapes]


def scan(steps: int, size: int) -> Written:
    """`h[t + 1] = max(x[t] + c * h[t] @ w, 0)`."""
    source = f"""
@T.prim_func(s_tir=True)
def scan(X: T.Buffer(({steps}, {size})), W: T.Buffer(({size}, {size})), H: T.Buffer(({steps + 1}, {size}))):
    T.func_attr({{"num_outputs": 1}})
    S = T.sblock_alloc_buffer(({steps}, {size}))
    for j in range({size}):
        with T.sblock("start"):
            vj = T.axis.spatial({size}, j)
            H[0, vj] = T.float32(0)
    for t in range({steps}):
        for j, k in T.grid({size}, {size}):
            with T.sblock("S"):
                vj, vk = T.axis.remap("SR", [j, k])
                vt = T.axis.spatial({steps}, t)
                with T.init():
                    S[vt, vj] = T.float32(0)
                S[vt, vj] = S[vt, vj] + H[vt, vk] * W[vk, vj]
        for j in range({size}):
            with T.sblock("H"):
                vt = T.axis.spatial({steps}, t)
                vj = T.axis.spatial({size}, j)
                H[vt + 1, vj] = T.max(X[vt, vj] + S[vt, vj] * T.float32({0.5 / size}), T.float32(0))
"""

    def reference(x: Array, w: Array) -> Array:
        h = np.zeros((steps + 1, size), np.float32)
        for t in range(steps):
            h[t + 1] = np.maximum(x[t] + h[t] @ w * np.float32(0.5 / size), 0)
        return h

    return Written(source, [(steps, size), (size, size)], reference)


def momentum(steps: int, rows: int, columns: int) -> Written:
    """`v = 0.9 * v + g[s]; p = p - 0.1 * v` in place."""
    zero, one = (
        f"""
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("{label}"):
            vi, vj = T.axis.remap("SS", [i, j])
            {buffer}[vi, vj] = T.float32({value})"""
        for label, buffer, value in (("zero", "V", 0), ("one", "P", 1))
    )
    source = f"""
@T.prim_func(s_tir=True)
def momentum(G: T.Buffer(({steps}, {rows}, {columns})), P: T.Buffer(({rows}, {columns}))):
    T.func_attr({{"num_outputs": 1}})
    V = T.sblock_alloc_buffer(({rows}, {columns})){zero}{one}
    for s in range({steps}):
        for i, j in T.grid({rows}, {columns}):
            with T.sblock("V"):
                vi, vj = T.axis.remap("SS", [i, j])
                vs = T.axis.spatial({steps}, s)
                V[vi, vj] = T.float32(0.9) * V[vi, vj] + G[vs, vi, vj]
        for i, j in T.grid({rows}, {columns}):
            with T.sblock("P"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = P[vi, vj] - T.float32(0.1) * V[vi, vj]
"""

    def reference(g: Array) -> Array:
        v, p = np.zeros((rows, columns), np.float32), np.ones((rows, columns), np.float32)
        for s in range(steps):
            v = np.float32(0.9) * v + g[s]
            p = p - np.float32(0.1) * v
        return p

    return Written(source, [(steps, rows, columns)], reference)


def heat(steps: int, size: int) -> Written:
    """Each inner element becomes the mean of its neighbours, by way of a second array."""
    source = f"""
@T.prim_func(s_tir=True)
def heat(A: T.Buffer(({size + 2}, {size + 2})), X: T.Buffer(({size + 2}, {size + 2}))):
    T.func_attr({{"num_outputs": 1}})
    Y = T.sblock_alloc_buffer(({size + 2}, {size + 2}))
    for i, j in T.grid({size + 2}, {size + 2}):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            X[vi, vj] = A[vi, vj]
    for t in range({steps}):
        for i, j in T.grid({size}, {size}):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi + 1, vj + 1] = (
                    X[vi, vj + 1] + X[vi + 2, vj + 1] + X[vi + 1, vj] + X[vi + 1, vj + 2]
                ) * T.float32(0.25)
        for i, j in T.grid({size}, {size}):
            with T.sblock("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi + 1, vj + 1] = Y[vi + 1, vj + 1]
"""

    def reference(a: Array) -> Array:
        x = a.copy()
        for _ in range(steps):
            x[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * np.float32(0.25)
        return x

    return Written(source, [(size + 2, size + 2)], reference)
