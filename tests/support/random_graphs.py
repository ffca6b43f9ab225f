"""Random te graphs, each with what it computes: every stage is built beside the same in numpy, on float64.

Sizes are odd ones and ones. A graph starts with one of FAMILIES and goes on with up to three of STEPS.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence import te
from whence.te.language.tensor import Tensor

Array = NDArray[Any]
Dice = random.Random


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, and its elements."""

    tensor: Tensor
    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


class Graph:
    """What is drawn so far: `dice` decides, `inputs` are the function's arguments, `outputs` its results."""

    def __init__(self, seed: int):
        self.dice = Dice(seed)
        self._numbers = np.random.default_rng(seed)
        self._count = 0
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.values: list[Value] = []
        """The results of computes, in the order in which they were drawn."""

    def size(self, most: int = 17) -> int:
        return self.dice.randint(1, most)

    def name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def input(self, *shape: int) -> Value:
        """An argument of normal float32 numbers."""
        return self._argument(self._numbers.standard_normal(shape).astype(np.float32))

    def indices(self, bound: int, *shape: int) -> Value:
        """An argument of integers from 0 to below `bound`."""
        return self._argument(self._numbers.integers(0, bound, shape).astype(np.int32))

    def _argument(self, array: Array) -> Value:
        name = f"p{len(self.inputs)}"
        tensor = te.placeholder(array.shape, array.dtype.name, name=name)
        self.inputs.append(Value(tensor, array.astype(np.float64) if array.dtype.kind == "f" else array))
        return self.inputs[-1]

    def stage(self, stem: str, array: Array, body: Callable[..., Any], names: str = "ijklmn") -> Value:
        """A compute of the shape of `array`; `body` takes the axes."""

        def element(*i: Any) -> Any:
            return body(*i)

        made = te.compute(array.shape, element, name=self.name(stem), varargs_names=list(names[: array.ndim]))
        self.values.append(Value(cast(Tensor, made), array))
        return self.values[-1]


def _axis(extent: int, name: str) -> te.Axis:
    return te.reduce_axis((0, extent), name=name)


def matmul(g: Graph, x: Value | None = None) -> Value:
    """`x w`, one or both transposed in memory."""
    x = x if x is not None and len(x.shape) == 2 else g.input(g.size(), g.size())
    (m, n), n_out = x.shape, g.size()
    turned = g.dice.random() < 0.5
    w = g.input(n_out, n) if turned else g.input(n, n_out)
    k = _axis(n, "k")
    factor = w.array.T if turned else w.array
    return g.stage(
        "mm",
        x.array.reshape(m, n) @ factor,
        lambda *i: te.sum(x.tensor[i[0], k] * (w.tensor[i[1], k] if turned else w.tensor[k, i[1]]), axis=k),
    )


def batch_matmul(g: Graph) -> Value:
    b, m, n, p = g.size(3), g.size(9), g.size(9), g.size(9)
    x, y = g.input(b, m, n), g.input(b, n, p)
    k = _axis(n, "k")
    return g.stage(
        "bmm",
        x.array @ y.array,
        lambda *i: te.sum(x.tensor[i[0], i[1], k] * y.tensor[i[0], k, i[2]], axis=k),
    )


def padded(g: Graph, x: Value, widths: Sequence[tuple[int, int]], fill: float) -> Value:
    """`x` with `fill` around."""

    def body(*i: Any) -> Any:
        inside = [te.all(a >= low, a < low + n) for a, (low, _), n in zip(i, widths, x.shape, strict=True)]
        point = tuple(a - low for a, (low, _) in zip(i, widths, strict=True))
        return te.if_then_else(te.all(*inside), x.tensor(*point), fill)

    return g.stage("pad", np.pad(x.array, widths, constant_values=fill), body)


def _windows(array: Array, sizes: tuple[int, int], strides: tuple[int, int], dilation: int = 1) -> Array:
    """Windows over the last two dimensions, which become two more."""
    spans = tuple((n - 1) * dilation + 1 for n in sizes)
    views = np.lib.stride_tricks.sliding_window_view(array, spans, (-2, -1))
    return views[..., :: strides[0], :: strides[1], ::dilation, ::dilation]


def convolution(g: Graph) -> Value:
    """A 2-d convolution with padding, strides and dilation."""
    dice = g.dice
    channels, filters, ky, kx = g.size(4), g.size(5), g.size(3), g.size(3)
    dilation, strides = dice.randint(1, 2), (dice.randint(1, 2), dice.randint(1, 2))
    x = g.input(channels, dice.randint(5, 9), dice.randint(5, 9))
    w = g.input(filters, channels, ky, kx)
    pads = [(0, 0), (dice.randint(0, 2), dice.randint(0, 1)), (dice.randint(0, 2), dice.randint(0, 1))]
    p = padded(g, x, pads, 0.0) if dice.random() < 0.8 else x
    c, u, v = _axis(channels, "c"), _axis(ky, "u"), _axis(kx, "v")
    windows = _windows(p.array, (ky, kx), strides, dilation)

    def body(f: Any, y: Any, x: Any) -> Any:
        element = p.tensor[c, y * strides[0] + u * dilation, x * strides[1] + v * dilation]
        return te.sum(element * w.tensor[f, c, u, v], axis=[c, u, v])

    return g.stage("conv", np.einsum("cyxuv,fcuv->fyx", windows, w.array), body, "fyx")


def depthwise(g: Graph) -> Value:
    """Each channel with a kernel of its own."""
    channels = g.size(5)
    x, w = g.input(channels, g.dice.randint(3, 9), g.dice.randint(3, 9)), g.input(channels, 3, 3)
    p = padded(g, x, [(0, 0), (1, 1), (1, 1)], 0.0)
    u, v = _axis(3, "u"), _axis(3, "v")

    def body(c: Any, y: Any, x: Any) -> Any:
        return te.sum(p.tensor[c, y + u, x + v] * w.tensor[c, u, v], axis=[u, v])

    return g.stage("dw", np.einsum("cyxuv,cuv->cyx", _windows(p.array, (3, 3), (1, 1)), w.array), body, "cyx")


def pooling(g: Graph) -> Value:
    """The greatest, least or mean element of windows."""
    dice = g.dice
    x = g.input(g.size(3), dice.randint(4, 13), dice.randint(4, 13))
    sizes, strides = (g.size(4), g.size(4)), (g.size(3), g.size(3))
    p = padded(g, x, [(0, 0), (0, 1), (1, 0)], -9.0) if dice.random() < 0.5 else elementwise(g, x)
    u, v = _axis(sizes[0], "u"), _axis(sizes[1], "v")
    windows = _windows(p.array, sizes, strides)
    mode = dice.choice(("max", "min", "mean"))
    area = sizes[0] * sizes[1]

    def body(c: Any, y: Any, x: Any) -> Any:
        element = p.tensor[c, y * strides[0] + u, x * strides[1] + v]
        if mode == "mean":
            return te.sum(element * (1.0 / area), axis=[u, v])
        return (te.max if mode == "max" else te.min)(element, axis=[u, v])

    return g.stage("pool", getattr(windows, mode)((-2, -1)), body, "cyx")


def chain(g: Graph) -> Value:
    """Elementwise stages on one to four dimensions."""
    x = g.input(*(g.size(9 if rank else 40) for rank in range(g.dice.randint(1, 4))))
    for _ in range(g.dice.randint(1, 3)):
        x = elementwise(g, x)
    return x


_UNARY: tuple[tuple[Callable[[Any], Any], Callable[[Array], Array]], ...] = (
    (lambda e: e * 0.5 + 1.0, lambda a: a * 0.5 + 1.0),
    (lambda e: te.maximum(e, 0.25), lambda a: np.maximum(a, 0.25)),
    (lambda e: te.abs(e) - e, lambda a: np.abs(a) - a),
    (lambda e: te.select(e > 0.0, e, e * 0.1), lambda a: np.where(a > 0.0, a, a * 0.1)),
    (lambda e: te.minimum(e * e, 4.0), lambda a: np.minimum(a * a, 4.0)),
)


def elementwise(g: Graph, x: Value) -> Value:
    """A function of each element, of two tensors or of the element and its place."""
    draw = g.dice.random()
    if draw < 0.5:
        expr, array = g.dice.choice(_UNARY)
        return g.stage("e", array(x.array), lambda *i: expr(x.tensor(*i)))
    if draw < 0.8:
        kept = [n if g.dice.random() < 0.6 else 1 for n in x.shape]
        y = g.input(*kept)
        return g.stage(
            "add",
            x.array + y.array,
            lambda *i: x.tensor(*i) + y.tensor(*(a if n > 1 else 0 for a, n in zip(i, kept, strict=True))),
        )
    axis = g.dice.randrange(len(x.shape))
    half = x.shape[axis] // 2
    place = np.arange(x.shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(x.shape))])
    return g.stage(
        "part",
        np.where(place < half, x.array * 2.0, x.array),
        lambda *i: te.if_then_else(i[axis] < half, x.tensor(*i) * 2.0, x.tensor(*i)),
    )


def residual(g: Graph, x: Value) -> Value:
    """A tensor read by two stages that meet again."""
    y, z = elementwise(g, x), elementwise(g, x)
    return g.stage("join", y.array + z.array, lambda *i: y.tensor(*i) + z.tensor(*i))


def stencil(g: Graph, x: Value) -> Value:
    """Neighbours along one dimension, some left out at the end."""
    axis = g.dice.randrange(len(x.shape))
    reach = g.dice.randint(0, min(2, x.shape[axis] - 1))
    step = g.dice.randint(1, 2)
    count = (x.shape[axis] - 1 - reach) // step + 1

    def at(i: tuple[Any, ...], more: int) -> Any:
        return x.tensor(*(a * step + more if d == axis else a for d, a in enumerate(i)))

    def slab(more: int) -> Array:
        return x.array.take(np.arange(count) * step + more, axis)

    return g.stage("near", slab(0) - slab(reach) * 0.5, lambda *i: at(i, 0) - at(i, reach) * 0.5)


def transpose(g: Graph, x: Value) -> Value:
    order = g.dice.sample(range(len(x.shape)), len(x.shape))
    where = [order.index(d) for d in range(len(order))]
    return g.stage("t", x.array.transpose(order), lambda *i: x.tensor(*(i[w] for w in where)))


def reverse(g: Graph, x: Value) -> Value:
    axis = g.dice.randrange(len(x.shape))
    last = x.shape[axis] - 1
    return g.stage(
        "rev",
        np.flip(x.array, axis),
        lambda *i: x.tensor(*(a * -1 + last if d == axis else a for d, a in enumerate(i))),
    )


def reshape(g: Graph, x: Value) -> Value:
    """The first two dimensions as one, or one as two."""
    if len(x.shape) > 1:
        width = x.shape[1]
        array = x.array.reshape(-1, *x.shape[2:])

        def body(first: Any, *rest: Any) -> Any:
            return x.tensor(first // width, first % width, *rest)

        return g.stage("flat", array, body)
    size = x.array.size
    factors = [n for n in range(1, size + 1) if size % n == 0]
    width = g.dice.choice(factors)

    def element(i: Any, j: Any) -> Any:
        return x.tensor(i * width + j)

    return g.stage("rows", x.array.reshape(-1, width), element)


def concatenate(g: Graph, x: Value) -> Value:
    """Behind it another tensor."""
    axis = g.dice.randrange(len(x.shape))
    n = x.shape[axis]
    y = elementwise(g, g.input(*(g.size(5) if d == axis else m for d, m in enumerate(x.shape))))

    def body(*i: Any) -> Any:
        other = y.tensor(*(a - n if d == axis else a for d, a in enumerate(i)))
        return te.if_then_else(i[axis] < n, x.tensor(*i), other)

    return g.stage("cat", np.concatenate([x.array, y.array], axis), body)


def gather(g: Graph, x: Value) -> Value:
    """Rows at computed indices."""
    rows = g.indices(x.shape[0], g.size(9))

    def body(first: Any, *rest: Any) -> Any:
        return x.tensor(rows.tensor[first], *rest)

    return g.stage("take", x.array[rows.array], body)


_REDUCERS = ("sum", "max", "min", "prod")


def reduction(g: Graph, x: Value | None = None) -> Value:
    """Over one dimension or several; what is left has one at least."""
    x = x if x is not None else g.input(g.size(7), g.size(9), g.size(11))
    rank = len(x.shape)
    over = sorted(g.dice.sample(range(rank), g.dice.randint(1, max(1, rank - 1))))
    kind = g.dice.choice(_REDUCERS)
    axes = {d: _axis(x.shape[d], f"r{d}") for d in over}
    scale = 0.1 if kind == "prod" else 1.0
    array = getattr(np, kind)(x.array * scale + (1.0 if kind == "prod" else 0.0), axis=tuple(over))
    array = array.reshape(1) if array.ndim == 0 else array

    def body(*i: Any) -> Any:
        kept = iter(i)
        element = x.tensor(*(axes[d] if d in axes else next(kept) for d in range(rank)))
        element = element * scale + 1.0 if kind == "prod" else element
        reduce = {"sum": te.sum, "max": te.max, "min": te.min, "prod": te.prod}[kind]
        return reduce(element, axis=list(axes.values()))

    return g.stage(kind, array, body)


def softmax(g: Graph, x: Value | None = None) -> Value:
    """Over the last dimension: four stages, the exponentials read twice."""
    x = x if x is not None else g.input(g.size(9), g.size(19))
    x = reshape(g, x) if len(x.shape) == 1 else x
    k, q = _axis(x.shape[-1], "k"), _axis(x.shape[-1], "q")
    top = g.stage("top", x.array.max(-1), lambda *i: te.max(x.tensor(*i, k), axis=k))
    exp = g.stage("exp", np.exp(x.array - top.array[..., None]), lambda *i: te.exp(x.tensor(*i) - top.tensor(*i[:-1])))
    total = g.stage("total", exp.array.sum(-1), lambda *i: te.sum(exp.tensor(*i, q), axis=q))
    return g.stage("softmax", exp.array / total.array[..., None], lambda *i: exp.tensor(*i) / total.tensor(*i[:-1]))


def variance(g: Graph) -> Value:
    """Two results of one stage: an element and its square; both are read."""
    x = g.input(g.size(9), g.size(9))
    several = te.compute(
        x.shape, lambda i, j: (x.tensor[i, j] + 1.0, x.tensor[i, j] * x.tensor[i, j]), name=g.name("two")
    )
    first, second = Value(several[0], x.array + 1.0), Value(several[1], x.array**2)
    return g.stage("both", first.array - second.array, lambda *i: first.tensor(*i) - second.tensor(*i))


def extreme(g: Graph) -> Value:
    """The greatest element of each row and where it is, by a reducer of two results; the first of equals."""
    x = g.input(g.size(9), g.size(19))
    k = _axis(x.shape[1], "k")

    def better(a: Any, b: Any) -> Any:
        first = te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0]))
        return te.select(first, a[0], b[0]), te.select(first, a[1], b[1])

    def start(index: str, value: str) -> Any:
        return te.const(1 << 20, index), te.min_value(value)

    reduce = te.comm_reducer(better, start, name="argmax")
    at, best = te.compute((x.shape[0],), lambda i: reduce((k + 0, x.tensor[i, k]), axis=k), name=g.name("argmax"))
    where = Value(at, x.array.argmax(1).astype(np.int32))
    value = Value(best, x.array.max(1))
    if g.dice.random() < 0.5:
        g.outputs.append(where)
    return g.stage("of", value.array * 2.0, lambda *i: value.tensor(*i) * 2.0)


def integers(g: Graph) -> Value:
    """Sums and products of int32."""
    x = g.indices(50, g.size(9), g.size(9))
    w = g.indices(7, x.shape[1], g.size(9))
    k = _axis(x.shape[1], "k")
    return g.stage("imm", x.array @ w.array, lambda *i: te.sum(x.tensor[i[0], k] * w.tensor[k, i[1]], axis=k))


def recurrence(g: Graph) -> Value:
    """A scan: each row is half of the one before, through a stage of its own, and one of `x`."""
    steps, width = g.dice.randint(2, 7), g.size(9)
    x = elementwise(g, g.input(steps, width))
    state = te.placeholder((steps, width), name=g.name("state"))
    init = g.stage("init", x.array[:1] * 2.0, lambda *i: x.tensor(*i) * 2.0)
    old = te.compute((steps, width), lambda t, i: state[t - 1, i] * 0.5, name=g.name("old"))
    new = te.compute((steps, width), lambda t, i: old[t, i] + x.tensor[t, i], name=g.name("new"))
    rows = [init.array[0]]
    for row in x.array[1:]:
        rows.append(rows[-1] * 0.5 + row)
    scan = te.scan(init.tensor, new, state, inputs=[x.tensor], name=g.name("scan"))
    return Value(cast(Tensor, scan), np.stack(rows))


FAMILIES: tuple[Callable[[Graph], Value], ...] = (
    *(matmul, convolution, pooling, chain, reduction, matmul, convolution, softmax),
    *(batch_matmul, depthwise, variance, extreme, integers, recurrence),
)
STEPS: tuple[Callable[[Graph, Value], Value], ...] = (
    *(elementwise, elementwise, residual, stencil, transpose, reverse, reshape, concatenate, gather),
    *(reduction, softmax, matmul),
)


def random_graph(seed: int) -> Graph:
    """The graph of a seed; neighbours start with different families."""
    g = Graph(seed)
    value = FAMILIES[seed % len(FAMILIES)](g)
    if value.array.dtype.kind == "f":
        for _ in range(g.dice.choice((0, 0, 1, 1, 2, 3))):
            if g.dice.random() < 0.12:
                g.outputs.append(value)
            value = g.dice.choice(STEPS)(g, value)
    g.outputs.append(value)
    return g
