"""What random ONNX programs of open sizes are made of: a recipe draws an operator that makes sense for every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from random_open_choosy import RECIPES as CHOOSY
from random_open_onnx import Program, Shape, Value, alike, is_one, is_static, last_static, number
from random_open_windows import RECIPES as WINDOWS

from whence.dialects.sizes import ceil_div, product, size_max

Recipe = Callable[[Program], Value]


def _unary(op: str, exact: bool = False, **attributes: Any) -> Recipe:
    def recipe(p: Program) -> Value:
        x = p.pick()
        return p.emit(op, [x.name], x.shape, exact=exact and x.exact, **attributes)

    return recipe


def _bounded(op: str) -> Recipe:
    """Of what lies between -1 and 1."""

    def recipe(p: Program) -> Value:
        x = p.pick()
        near = p.emit("Tanh", [x.name], x.shape)
        return p.emit(op, [near.name], x.shape)

    return recipe


def root(p: Program) -> Value:
    x = p.pick()
    return p.emit("Sqrt", [p.emit("Abs", [x.name], x.shape).name], x.shape)


def clip(p: Program) -> Value:
    x = p.pick()
    low, high = p.constant(np.float32(-0.7)), p.constant(np.float32(0.9))
    return p.emit("Clip", [x.name, low, high], x.shape, exact=x.exact)


def _partner(p: Program, x: Value) -> tuple[str, bool]:
    """What broadcasts with a value, and whether it is exact: of its shape, a constant or a part of it."""
    kind = p.dice.choice(("value", "scalar", "row", "input", "self"))
    if kind == "value":
        y = p.pick(lambda y: y.rank <= x.rank and alike(y.shape, x.shape[x.rank - y.rank :]))
        return y.name, y.exact
    if kind == "row" and last_static(x):
        return p.weights(number(x.shape[-1])), True
    if kind == "input":
        shape = tuple(size if p.dice.random() < 0.6 else 1 for size in x.shape)
        return p.input(shape[p.dice.randint(0, x.rank) :]).name, True
    if kind == "self":
        return x.name, x.exact
    return p.constant(np.float32(p.dice.choice((0.5, 2.0, -1.5)))), True


def _binary(op: str) -> Recipe:
    def recipe(p: Program) -> Value:
        x = p.pick()
        if op == "Mul":
            x = p.emit("Tanh", [x.name], x.shape)
        other, _ = _partner(p, x)
        pair = [x.name, other] if p.dice.random() < 0.5 else [other, x.name]
        return p.emit(op, pair, x.shape)

    return recipe


def choose(p: Program) -> Value:
    x = p.pick(lambda x: x.exact)
    other, _ = _partner(p, x)
    mask = p.emit("Greater", [x.name, p.constant(np.float32(0.1))], x.shape, "b", True)
    return p.emit("Where", [mask.name, x.name, other], x.shape)


def to_int(p: Program) -> Value:
    x = p.pick(lambda x: x.exact)
    return p.emit("Cast", [x.name], x.shape, "i", True, to=7)


def to_float(p: Program) -> Value:
    x = p.pick(kind=p.dice.choice("ib"))
    return p.emit("Cast", [x.name], x.shape, "f", x.exact, to=1)


def _softmax(op: str) -> Recipe:
    def recipe(p: Program) -> Value:
        x = p.pick(lambda x: x.rank > 0)
        return p.emit(op, [x.name], x.shape, axis=p.axis(x) - p.dice.choice((0, x.rank)))

    return recipe


def _reduce(op: str) -> Recipe:
    def recipe(p: Program) -> Value:
        x = p.pick(lambda x: x.rank > 0)
        axes = sorted(p.dice.sample(range(x.rank), p.dice.randint(1, x.rank)))
        keep = p.dice.randint(0, 1)
        shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keep or k not in axes)
        if op == "ReduceMean":
            p.some(product(x.shape[axis] for axis in axes))
        return p.emit(op, [x.name, p.ints(*axes)], shape, keepdims=keep)

    return recipe


def arg_max(p: Program) -> Value:
    x = p.pick(lambda x: x.exact and x.rank > 0)
    axis = p.axis(x)
    p.some(product(x.shape))
    keep = p.dice.randint(0, 1)
    shape = tuple(1 if k == axis else n for k, n in enumerate(x.shape) if keep or k != axis)
    return p.emit("ArgMax", [x.name], shape, "i", True, axis=axis, keepdims=keep)


def cum_sum(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 0)
    axis = p.constant(np.array(p.axis(x), np.int64))
    return p.emit("CumSum", [x.name, axis], x.shape, exclusive=p.dice.randint(0, 1), reverse=p.dice.randint(0, 1))


def layer_norm(p: Program) -> Value:
    x = p.pick(last_static)
    n = number(x.shape[-1])
    return p.emit("LayerNormalization", [x.name, p.weights(n), p.weights(n)], x.shape, axis=-1, epsilon=1e-2)


def dense(p: Program) -> Value:
    x = p.pick(lambda x: last_static(x) and x.rank > 1)
    n, m = number(x.shape[-1]), p.dice.choice((1, 3, 8, 16, 17, 32))
    y = p.emit("MatMul", [x.name, p.weights(n, m, scale=n**-0.5)], (*x.shape[:-1], m))
    return p.emit("Add", [y.name, p.weights(m)], y.shape) if p.dice.random() < 0.5 else y


def gemm(p: Program) -> Value:
    x = p.pick(lambda x: x.rank == 2 and last_static(x))
    n, m = number(x.shape[-1]), p.dice.choice((1, 4, 8, 24))
    return p.emit("Gemm", [x.name, p.weights(m, n, scale=n**-0.5), p.weights(m)], (x.shape[0], m), transB=1)


def product_with_itself(p: Program) -> Value:
    """Of a tensor and its transpose: rows by rows or columns by columns, open or not."""
    x = p.pick(lambda x: x.rank >= 2)
    near = p.emit("Tanh", [x.name], x.shape)
    turned = _turn(p, near, (*range(x.rank - 2), x.rank - 1, x.rank - 2))
    first, second = (near, turned) if p.dice.random() < 0.5 else (turned, near)
    return p.emit("MatMul", [first.name, second.name], (*first.shape[:-1], second.shape[-1]))


def _rows(y: Value) -> Shape:
    return (y.shape[-2], *y.shape[:-2])


def product_of_two(p: Program) -> Value:
    x = p.pick(lambda x: x.rank >= 2)
    y = p.pick(lambda y: y.rank >= 2 and alike(_rows(y), (x.shape[-1], *(x.shape[:-2] if y.rank > 2 else ()))))
    first, second = p.emit("Tanh", [x.name], x.shape), p.emit("Tanh", [y.name], y.shape)
    return p.emit("MatMul", [first.name, second.name], (*x.shape[:-1], y.shape[-1]))


def _turn(p: Program, x: Value, order: tuple[int, ...]) -> Value:
    return p.emit("Transpose", [x.name], tuple(x.shape[k] for k in order), x.kind, x.exact, perm=list(order))


def transpose(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 1)
    return _turn(p, x, tuple(p.dice.sample(range(x.rank), x.rank)))


def unsqueeze(p: Program) -> Value:
    x = p.pick(lambda x: x.rank < 4)
    at = p.dice.randint(0, x.rank)
    return p.emit("Unsqueeze", [x.name, p.ints(at)], (*x.shape[:at], 1, *x.shape[at:]), exact=x.exact)


def squeeze(p: Program) -> Value:
    x = p.pick(lambda x: any(map(is_one, x.shape)))
    at = p.axis(x, is_one)
    return p.emit("Squeeze", [x.name, p.ints(at)], (*x.shape[:at], *x.shape[at + 1 :]), exact=x.exact)


def flatten(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 1)
    at = p.dice.randint(0, x.rank)
    return p.emit("Flatten", [x.name], (product(x.shape[:at]), product(x.shape[at:])), exact=x.exact, axis=at)


def heads(p: Program) -> Value:
    """The last axis in two, by 0 and -1, or by numbers that Shape gives."""
    x = p.pick(lambda x: last_static(x) and x.rank < 4 and number(x.shape[-1]) % 2 == 0)
    n = number(x.shape[-1])
    shape = (*x.shape[:-1], 2, n // 2)
    if p.dice.random() < 0.5:
        wanted = p.ints(*[0] * (x.rank - 1), 2, n // 2)
        return p.emit("Reshape", [x.name, wanted], shape, exact=x.exact)
    dims = p.emit("Shape", [x.name], (x.rank,), "i", True)
    front = p.emit("Slice", [dims.name, p.ints(0), p.ints(x.rank - 1)], (x.rank - 1,), "i", True)
    wanted = p.emit("Concat", [front.name, p.ints(2, -1)], (x.rank + 1,), "i", True, axis=0).name
    for inner in p.values[-3:]:
        p.values.remove(inner)
    return p.emit("Reshape", [x.name, wanted], shape, exact=x.exact)


def joined(p: Program) -> Value:
    """Two axes as one."""
    x = p.pick(lambda x: x.rank > 1)
    at = p.dice.randint(0, x.rank - 2)
    dims = p.emit("Shape", [x.name], (x.rank,), "i", True)
    parts = [
        p.emit("Slice", [dims.name, p.ints(0), p.ints(at)], (at,), "i", True).name if at else "",
        p.ints(-1),
        p.emit("Slice", [dims.name, p.ints(at + 2), p.ints(x.rank)], (x.rank - at - 2,), "i", True).name,
    ]
    wanted = p.emit("Concat", [part for part in parts if part], (x.rank - 1,), "i", True, axis=0)
    for name in (dims.name, *parts, wanted.name):
        p.values[:] = [value for value in p.values if value.name != name]
    merged = x.shape[at] * x.shape[at + 1]
    if any(not is_static(size) for k, size in enumerate(x.shape) if k not in (at, at + 1)):
        # Where another extent is 0, -1 says nothing.
        return p.emit("Identity", [x.name], x.shape, exact=x.exact)
    return p.emit("Reshape", [x.name, wanted.name], (*x.shape[:at], merged, *x.shape[at + 2 :]), exact=x.exact)


def concat(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 0)
    axis = p.axis(x)
    others = [
        y for y in p.values if y.kind == "f" and y.rank == x.rank and alike(_but(y.shape, axis), _but(x.shape, axis))
    ]
    parts = [x, *[p.dice.choice(others) for _ in range(p.dice.randint(1, 2))]]
    p.dice.shuffle(parts)
    shape = list(x.shape)
    shape[axis] = sum((y.shape[axis] for y in parts[1:]), parts[0].shape[axis])
    return p.emit("Concat", [y.name for y in parts], tuple(shape), exact=all(y.exact for y in parts), axis=axis)


def _but(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def cut(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 0)
    axis = p.axis(x)
    n = x.shape[axis]
    most = 2**62
    start, end, step, left = p.dice.choice(
        (
            (1, most, 1, size_max(n - 1, 0)),
            (0, -1, 1, size_max(n - 1, 0)),
            (0, most, 2, ceil_div(n, 2)),
            (-1, -most, -1, n),
            (most, -most, -2, ceil_div(n, 2)),
            (1, most, 3, ceil_div(size_max(n - 1, 0), 3)),
        )
    )
    shape = tuple(left if k == axis else size for k, size in enumerate(x.shape))
    numbers = [p.ints(number) for number in (start, end, axis, step)]
    return p.emit("Slice", [x.name, *numbers], shape, exact=x.exact)


def split(p: Program) -> Value:
    x = p.pick(lambda x: any(isinstance(size, int) and size > 1 for size in x.shape))
    axis = p.axis(x, lambda size: isinstance(size, int) and size > 1)
    n = number(x.shape[axis])
    first = p.dice.randint(1, n - 1)
    names = [p.name("s"), p.name("s") + "b"]
    made = p.emit("Split", [x.name, p.ints(first, n - first)], (), axis=axis)
    p.values.remove(made)
    node = p.nodes[-1]
    del node.output[:]
    node.output.extend(names)
    for name, size in zip(names, (first, n - first), strict=True):
        shape = tuple(size if k == axis else m for k, m in enumerate(x.shape))
        p.values.append(Value(name, shape, "f", x.exact))
    return p.values[-1]


def gather(p: Program) -> Value:
    """By indices of an open number, along an axis of at least four."""
    x = p.pick(lambda x: any(isinstance(size, int) and size >= 4 for size in x.shape) and x.rank < 4)
    axis = p.axis(x, lambda size: isinstance(size, int) and size >= 4)
    chosen = p.input((p.extent(),), "i")
    shape = (*x.shape[:axis], *chosen.shape, *x.shape[axis + 1 :])
    return p.emit("Gather", [x.name, chosen.name], shape, exact=x.exact, axis=axis)


def gather_end(p: Program) -> Value:
    """The first or last along an axis that may be open."""
    x = p.pick(lambda x: x.rank > 0)
    axis = p.axis(x)
    at = p.constant(np.array(p.dice.choice((0, -1)), np.int64))
    return p.emit("Gather", [x.name, at], (*x.shape[:axis], *x.shape[axis + 1 :]), exact=x.exact, axis=axis)


def embed(p: Program) -> Value:
    chosen = p.input(tuple(p.extent() for _ in range(p.dice.randint(1, 2))), "i")
    width = p.dice.choice((3, 8, 12))
    return p.emit("Gather", [p.weights(5, width), chosen.name], (*chosen.shape, width), axis=0)


def pad(p: Program) -> Value:
    x = p.pick(lambda x: x.rank > 0)
    before = [p.dice.randint(0, 2) for _ in range(x.rank)]
    after = [p.dice.randint(0, 2) for _ in range(x.rank)]
    shape = tuple(n + a + b for n, a, b in zip(x.shape, before, after, strict=True))
    mode = p.dice.choice(("constant", "constant", "edge"))
    return p.emit("Pad", [x.name, p.ints(*before, *after)], shape, exact=x.exact, mode=mode)


def tile(p: Program) -> Value:
    x = p.pick(lambda x: 0 < x.rank < 4)
    repeats = [p.dice.randint(1, 2) for _ in range(x.rank)]
    shape = tuple(n * k for n, k in zip(x.shape, repeats, strict=True))
    return p.emit("Tile", [x.name, p.ints(*repeats)], shape, exact=x.exact)


def expand(p: Program) -> Value:
    """A row to the shape of another value."""
    x = p.pick(lambda x: x.rank > 1)
    like = p.emit("Shape", [x.name], (x.rank,), "i", True)
    p.values.remove(like)
    row = p.input(tuple(1 if k else x.shape[0] for k in range(x.rank)))
    return p.emit("Expand", [row.name, like.name], x.shape, exact=True)


def places(p: Program) -> Value:
    """The numbers of rows, added to them: Shape, Gather, Range."""
    x = p.pick(lambda x: x.rank > 0)
    axis = p.axis(x)
    dims = p.emit("Shape", [x.name], (x.rank,), "i", True)
    zero, one = (p.constant(np.array(number, np.int64)) for number in (0, 1))
    length = p.emit("Gather", [dims.name, p.constant(np.array(axis, np.int64))], (), "i", True, axis=0)
    numbers = p.emit("Range", [zero, length.name, one], (x.shape[axis],), "i", True)
    for inner in (dims, length):
        p.values.remove(inner)
    found = p.emit("Cast", [numbers.name], numbers.shape, "f", True, to=1)
    return p.emit("Mul", [found.name, p.constant(np.float32(0.125))], numbers.shape, exact=True)


def lower_part(p: Program) -> Value:
    x = p.pick(lambda x: x.rank >= 2)
    return p.emit("Trilu", [x.name], x.shape, exact=x.exact, upper=p.dice.randint(0, 1))


def depth(p: Program) -> Value:
    x = p.pick(lambda x: x.rank == 4 and isinstance(x.shape[1], int) and x.shape[1] % 4 == 0)
    b, c, h, w = x.shape
    return p.emit("DepthToSpace", [x.name], (b, number(c) // 4, 2 * h, 2 * w), exact=x.exact, blocksize=2)


def top(p: Program) -> Value:
    x = p.pick(lambda x: x.exact and any(isinstance(size, int) and size >= 2 for size in x.shape))
    axis = p.axis(x, lambda size: isinstance(size, int) and size >= 2)
    shape = tuple(2 if k == axis else n for k, n in enumerate(x.shape))
    made = p.emit("TopK", [x.name, p.ints(2)], shape, exact=True, axis=axis)
    p.nodes[-1].output.append(made.name + "_at")
    p.values.append(Value(made.name + "_at", shape, "i", True))
    return made


def summed(p: Program) -> Value:
    """An Einsum of batched matrices."""
    x = p.pick(lambda x: x.rank == 3)
    near = p.emit("Tanh", [x.name], x.shape)
    a, b, _ = x.shape
    p.some(product(x.shape))
    return p.emit("Einsum", [near.name, near.name], (a, b, b), equation="abc,adc->abd")


_MATH = ("Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Erf", "LeakyRelu", "Elu", "Softplus", "HardSwish", "Mish")
_EXACT = ("Relu", "Neg", "Abs")
RECIPES: dict[str, Recipe] = {
    **WINDOWS,
    **CHOOSY,
    **{op: _unary(op, op in _EXACT) for op in _MATH},
    "Exp": _bounded("Exp"),
    "Sin": _bounded("Sin"),
    "Sqrt": root,
    "Clip": clip,
    **{op: _binary(op) for op in ("Add", "Sub", "Mul", "Max", "Min")},
    "Where": choose,
    "Cast int": to_int,
    "Cast float": to_float,
    "Softmax": _softmax("Softmax"),
    "LogSoftmax": _softmax("LogSoftmax"),
    **{op: _reduce(op) for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2")},
    "ArgMax": arg_max,
    "CumSum": cum_sum,
    "LayerNormalization": layer_norm,
    "MatMul": dense,
    "Gemm": gemm,
    "MatMul itself": product_with_itself,
    "MatMul two": product_of_two,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Flatten": flatten,
    "Reshape heads": heads,
    "Reshape joined": joined,
    "Concat": concat,
    "Slice": cut,
    "Split": split,
    "Gather": gather,
    "Gather end": gather_end,
    "Gather weights": embed,
    "Pad": pad,
    "Tile": tile,
    "Expand": expand,
    "Range": places,
    "Trilu": lower_part,
    "DepthToSpace": depth,
    "TopK": top,
    "Einsum": summed,
}
