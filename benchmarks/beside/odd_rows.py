"""Random operators over elements and rows: norms, softmax, reductions, pools, resizes, functions of elements."""

from __future__ import annotations

from math import prod

import numpy as np

from .one_node import Case, Dice, Family, listed, text

_ELEMENTS = (5000, 3_000_000)
_INT = np.int64


def _softmax(dice: Dice) -> Case:
    rank = dice.choice((2, 2, 3, 4))
    shape = dice.shape(rank, *_ELEMENTS)
    axis = rank - 1 if dice.random() < 0.75 else dice.randrange(rank)
    kind = "Softmax" if dice.random() < 0.8 else "LogSoftmax"
    return Case(f"{kind.lower()} {text(shape)} axis {axis}", f"Y = {kind}<axis={axis}>(X0)", [shape])


def _rms(dice: Dice) -> str:
    """The root mean square as exporters spell it; W1 holds the exponent or the axis that it is given."""
    square = dice.choice(("Q = Mul(X0, X0)", "Q = Pow(X0, W1)"))
    root = dice.choice(("R = Sqrt(E); N = Div(X0, R)", "S = Sqrt(E); R = Reciprocal(S); N = Mul(X0, R)"))
    return f"{square}; M = ReduceMean(Q, W2); E = Add(M, W3); {root}; Y = Mul(N, W0)"


def _norm(dice: Dice) -> Case:
    kind = dice.choice(("layer_norm", "layer_norm", "decomposed", "rms_norm", "rms_norm", "instance_norm", "group_norm",
                        "batch_norm"))  # fmt: skip
    two, last, small = np.array(2, np.float32), np.array([-1], _INT), np.array(1e-5, np.float32)
    if kind in ("layer_norm", "decomposed", "rms_norm"):
        rows, width = dice.size(1, 2000), dice.size(5, 5000)
        shape = (rows, width) if dice.random() < 0.5 else (dice.size(1, 8), rows, width)
        if not _ELEMENTS[0] <= prod(shape) <= _ELEMENTS[1]:
            return _norm(dice)
        name = f"{kind} {text(shape)}"
        if kind == "layer_norm":
            return Case(name, "Y = LayerNormalization(X0, W0, W1)", [shape], [(width,), (width,)])
        if kind == "rms_norm":
            return Case(name, _rms(dice), [shape], [(width,), two, last, small])
        nodes = (
            "M = ReduceMean(X0, W2); D = Sub(X0, M); Q = Pow(D, W1); V = ReduceMean(Q, W2); E = Add(V, W3); "
            "S = Sqrt(E); N = Div(D, S); G = Mul(N, W0); Y = Add(G, W4)"
        )
        return Case(name, nodes, [shape], [(width,), two, last, small, (width,)])
    groups = dice.choice((2, 4, 8, 32))
    channels, side = groups * dice.size(1, 1024 // groups), dice.size(3, 130)
    shape = (dice.choice((1, 1, 1, 4)), channels, side, side)
    if not _ELEMENTS[0] <= prod(shape) <= _ELEMENTS[1]:
        return _norm(dice)
    name, weights = f"{kind} {text(shape)}", [(channels,), (channels,)]
    if kind == "instance_norm":
        return Case(name, "Y = InstanceNormalization(X0, W0, W1)", [shape], weights)
    if kind == "batch_norm":
        deviations = np.linspace(0.5, 2, channels, dtype=np.float32)
        nodes = "Y = BatchNormalization(X0, W0, W1, W2, W3)"
        return Case(name, nodes, [shape], [*weights, (channels,), deviations])
    # As torch exports it.
    ones = np.ones(groups, np.float32)
    nodes = (
        "A = Reshape(X0, W2); B = InstanceNormalization(A, W3, W4); C = Reshape(B, W5); D = Mul(C, W0); Y = Add(D, W1)"
    )
    constants = [(channels, 1, 1), (channels, 1, 1), np.array([0, groups, -1]), ones, ones * 0, np.array(shape)]
    return Case(f"{name} of {groups}", nodes, [shape], constants)


def _reduction(dice: Dice) -> Case:
    rank = dice.choice((1, 2, 2, 3, 3, 4, 5))
    shape = dice.shape(rank, *_ELEMENTS)
    axes = sorted(dice.sample(range(rank), dice.randint(1, rank)))
    kind, keep = dice.choice(("Sum", "Mean", "Mean", "Max", "Min", "L2", "SumSquare", "LogSumExp")), dice.choice((0, 1))
    name = f"reduce {kind} {text(shape)} axes {listed(axes)}"
    if dice.random() < 0.15:
        return Case(f"argmax {text(shape)} axis {axes[0]}", f"Y = ArgMax<axis={axes[0]}>(X0)", [shape])
    return Case(name, f"Y = Reduce{kind}<keepdims={keep}>(X0, W0)", [shape], [np.array(axes, _INT)])


def _pool(dice: Dice) -> Case:
    kind = dice.choice(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"))
    channels, side = dice.size(1, 1100), dice.size(5, 130)
    shape = (dice.choice((1, 1, 2)), channels, side, dice.choice((side, dice.size(5, 130))))
    if not _ELEMENTS[0] <= prod(shape) <= _ELEMENTS[1]:
        return _pool(dice)
    name = f"{kind} {text(shape)}"
    if kind.startswith("Global"):
        return Case(name, f"Y = {kind}(X0)", [shape])
    kernel, stride, pad = dice.choice(((2, 2, 0), (3, 2, 1), (3, 2, 0), (3, 1, 1), (5, 1, 2), (2, 1, 0), (3, 3, 0)))
    ceil = dice.choice((0, 0, 1))
    window = f"kernel_shape=[{kernel}, {kernel}], strides=[{stride}, {stride}], pads={listed([pad] * 4)}"
    window += f", ceil_mode={ceil}"
    if kind == "AveragePool":
        window += f", count_include_pad={dice.choice((0, 1))}"
    return Case(f"{name} {kernel}/{stride} pad {pad} ceil {ceil}", f"Y = {kind}<{window}>(X0)", [shape])


def _resize(dice: Dice) -> Case:
    channels, side = dice.size(1, 512), dice.size(4, 300)
    mode = dice.choice(("nearest", "nearest", "linear", "linear", "cubic"))
    scale = dice.choice((2, 2, 3, 4, 0.5, None))
    size = dice.size(4, 300) if scale is None else int(side * scale)
    shape = (1, channels, side, side)
    if not (_ELEMENTS[0] <= prod(shape) <= _ELEMENTS[1] and channels * size * size <= _ELEMENTS[1]):
        return _resize(dice)
    coordinates = dice.choice(("half_pixel", "align_corners", "asymmetric"))
    how = f'mode="{mode}", coordinate_transformation_mode="{coordinates}"'
    how += ', nearest_mode="floor"' * (mode == "nearest")
    name = f"resize {mode} {coordinates} {text(shape)} to {size}"
    return Case(name, f"Y = Resize<{how}>(X0, , , W0)", [shape], [np.array([1, channels, size, size], _INT)])


_UNARY = (
    *("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Exp", "Erf", "HardSigmoid", "HardSwish", "Softplus", "Softsign"),
    *("Selu", "Abs", "Neg", "Floor", "Round", "Sin", "Cos", "Sign", "Mish"),
)
_GELU = "C = Div(X0, W0); D = Erf(C); E = Add(D, W0); F = Mul(X0, E); Y = Mul(F, W0)"


def _elements(dice: Dice) -> Case:
    rank = dice.choice((1, 2, 3, 4))
    shape = dice.shape(rank, *_ELEMENTS)
    size = text(shape)
    choice = dice.randrange(8)
    if choice < 3:
        kind = dice.choice(_UNARY)
        return Case(f"{kind.lower()} {size}", f"Y = {kind}(X0)", [shape])
    if choice == 3:
        kind = dice.choice(("Sqrt", "Log", "Reciprocal"))
        numbers = dice.numbers.random(shape, np.float32) + np.float32(0.1)
        return Case(f"{kind.lower()} {size}", f"Y = {kind}(X0)", [numbers])
    if choice == 4:
        nodes, name = dice.choice(((_GELU, "gelu"), ("S = Sigmoid(X0); Y = Mul(X0, S)", "silu")))
        return Case(f"{name} {size}", nodes, [shape], [np.array(2, np.float32)] * (name == "gelu"))
    if choice == 5:
        nodes = "C = Greater(X0, X1); Y = Where(C, X0, X1)"
        return Case(f"where {size}", nodes, [shape, shape])
    kind = dice.choice(("Add", "Mul", "Sub", "Div", "Max"))
    other = shape if choice == 6 else tuple(dice.choice((extent, 1)) for extent in shape)
    numbers = dice.numbers.random(other, np.float32) + np.float32(0.5)
    return Case(f"{kind.lower()} {size} by {text(other)}", f"Y = {kind}(X0, X1)", [shape, numbers])


ROWS: dict[str, Family] = {
    "softmax": _softmax,
    "norm": _norm,
    "reduction": _reduction,
    "pool": _pool,
    "resize": _resize,
    "elements": _elements,
}
