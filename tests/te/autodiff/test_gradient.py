"""Gradients, compared with differences of what the forward computes give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from whence import te
from whence.kernels import build_schedule
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Body, Tensor
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
Case = tuple[Tensor, list[Tensor]]


def _input(*shape: int, name: str = "x") -> Tensor:
    return te.placeholder(shape, "float64", name=name)


def _sum(shape: Sequence[int], extents: Sequence[int], term: Body, reducer: Any = te.sum) -> Tensor:
    """A reduction of `term(axes, reduce axes)`."""
    ks = [te.reduce_axis((0, extent), name=f"k{i}") for i, extent in enumerate(extents)]

    def element(*i: Any) -> Any:
        return reducer(cast(Callable[..., Any], term)(*i, *ks), axis=ks)

    return te.compute(shape, element)


def matmul() -> Case:
    a, b = _input(3, 5, name="a"), _input(5, 4, name="b")
    return _sum((3, 4), (5,), lambda i, j, k: a[i, k] * b[k, j]), [a, b]


def conv(stride: int, pad: int) -> Case:
    x, w = _input(1, 2, 7, 6), _input(3, 2, 3, 2, name="w")
    height, width = (7 + 2 * pad - 3) // stride + 1, (6 + 2 * pad - 2) // stride + 1

    def term(*at: Any) -> Any:
        n, f, y, z, c, dy, dz = at
        return x(n, c, y * stride + dy - pad, z * stride + dz - pad, otherwise=0.0) * w[f, c, dy, dz]

    return _sum((1, 3, height, width), (2, 3, 2), term), [x, w]


def padded_by_a_choice() -> Case:
    x = _input(6)
    padded = te.compute(
        (8,), lambda i: te.if_then_else(te.all(i >= 1, i < 7), te.log(x[i - 1] * x[i - 1]), te.const(0.0, "float64"))
    )
    return _sum((6,), (3,), lambda i, k: padded[i + k] * padded[i + k]), [x]


def softmax() -> Case:
    x = _input(3, 5)
    top = _sum((3,), (5,), lambda i, k: x[i, k], te.max)
    power = te.compute((3, 5), lambda i, j: te.exp(x[i, j] - top[i]))
    total = _sum((3,), (5,), lambda i, k: power[i, k])
    return te.compute((3, 5), lambda i, j: power[i, j] / total[i]), [x]


def layernorm() -> Case:
    x, scale, shift = _input(3, 6), _input(6, name="scale"), _input(6, name="shift")
    mean = te.compute((3,), lambda i: _sum((3,), (6,), lambda n, k: x[n, k])[i] / 6.0)
    total = _sum((3,), (6,), lambda n, k: (x[n, k] - mean[n]) * (x[n, k] - mean[n]))
    root = te.compute((3,), lambda i: te.rsqrt(total[i] / 6.0 + 1e-5))
    return (
        te.compute((3, 6), lambda i, j: (x[i, j] - mean[i]) * root[i] * scale[j] + shift[j]),
        [x, scale, shift],
    )


def pooling(reducer: Any) -> Case:
    x = _input(2, 6, 6)
    return _sum((2, 3, 3), (2, 2), lambda c, i, j, di, dj: x[c, i * 2 + di, j * 2 + dj], reducer), [x]


def overlapping_pool() -> Case:
    x = _input(7)
    return _sum((3,), (3,), lambda i, k: te.tanh(x[i * 2 + k]), te.max), [x]


def pool_by_choices() -> Case:
    x = _input(6)
    larger = te.compute((3,), lambda i: te.select(x[i * 2] > x[i * 2 + 1], x[i * 2], x[i * 2 + 1]))
    return te.compute((3,), lambda i: te.maximum(larger[i], 0.1) * te.minimum(larger[i], 0.9)), [x]


def reshaped() -> Case:
    x, y = _input(4, 6), _input(12, name="y")
    rows = te.compute((8, 3), lambda i, j: x[(i * 3 + j) // 6, (i * 3 + j) % 6] * y[i + j])
    return te.compute((24,), lambda i: rows[i // 3, i % 3] * rows[7 - i // 3, 2 - i % 3]), [x, y]


def broadcast() -> Case:
    x, y, z = _input(4, 1), _input(5, name="y"), _input(name="z")
    return te.compute((4, 5), lambda i, j: x[i, 0] * y[j] + y[4 - j] * z() / (x[i, 0] + 3.0)), [x, y, z]


def diagonal() -> Case:
    x = _input(5, 5)
    return te.compute((5,), lambda i: x[i, i] * x[i, 0] + x[2, 2]), [x]


def where_it_holds() -> Case:
    x = _input(6, 6)
    k = te.reduce_axis((1, 5), name="k")
    return te.compute((6,), lambda i: te.sum(x[i, k] * x[k, i], axis=k, where=te.all(k > i, x[i, k] > 0.2))), [x]


def started() -> Case:
    x, start = _input(4, 5), _input(4, name="start")
    k = te.reduce_axis((0, 5), name="k")
    top = te.compute((4,), lambda i: te.max(x[i, k], axis=k, init=start[3 - i]))
    r = te.reduce_axis((0, 5), name="r")
    return te.compute((4,), lambda i: te.sum(x[i, r] * 2.0, axis=r, init=top[i])), [x, start]


def two_results() -> Case:
    x = _input(4)
    double, square = te.compute((4,), lambda i: (x[i] * 2.0, x[i] * x[i]))
    return te.compute((4,), lambda i: double[i] * square[3 - i]), [x]


def narrowed() -> Case:
    x = _input(4)
    wide = te.compute((4,), lambda i: (x[i].astype("float32").astype("float64") - x[i]) * 0.0 + x[i] * x[i])
    return te.compute((4,), lambda i: wide[i] + x[i].astype("int32").astype("float64")), [x]


def long_chain() -> Case:
    x = y = _input(3)
    for _ in range(20):
        y = _step(y)
    return y, [x]


def _step(y: Tensor) -> Tensor:
    return te.compute((3,), lambda i: te.sin(y[i]) + y[i] * 0.5)


CASES: dict[str, Callable[[], Case]] = {
    "matmul": matmul,
    "conv": lambda: conv(1, 0),
    "conv padded": lambda: conv(1, 1),
    "conv strided": lambda: conv(2, 1),
    "padded by a choice": padded_by_a_choice,
    "softmax": softmax,
    "layernorm": layernorm,
    "max pool": lambda: pooling(te.max),
    "min pool": lambda: pooling(te.min),
    "sum pool": lambda: pooling(te.sum),
    "overlapping pool": overlapping_pool,
    "pool by choices": pool_by_choices,
    "reshaped": reshaped,
    "broadcast": broadcast,
    "diagonal": diagonal,
    "where it holds": where_it_holds,
    "started": started,
    "two results": two_results,
    "narrowed": narrowed,
    "long chain": long_chain,
}


def _call(outputs: Tensor | list[Tensor], inputs: Sequence[Tensor], arrays: Sequence[Array]) -> list[Array]:
    found = build_schedule(te.create_schedule(outputs, inputs=inputs), threads=1)(*arrays)
    return list(found) if isinstance(found, list | tuple) else [found]


def check(case: Case, low: float = 0.15, high: float = 1.9, wide: bool = False) -> None:
    """Compare with central differences, for a random head; wide: for a head with a prefix."""
    output, inputs = case
    rng = np.random.default_rng(3)
    arrays = [rng.uniform(low, high, tuple(map(int, map(str, t.shape)))) for t in inputs]
    prefix = (2,) if wide else ()
    head = te.placeholder((*prefix, *output.shape), "float64", name="head")
    weight = rng.standard_normal(tuple(map(int, map(str, head.shape))))
    found = _call(te.gradient(output, inputs, head), [*inputs, head], [*arrays, weight])
    forward = build_schedule(te.create_schedule(output, inputs=inputs), threads=1)
    step = 1e-6
    for which, array in enumerate(arrays):
        expected = np.zeros((*prefix, *array.shape))
        for place in np.ndindex(*array.shape):
            sides: list[Array] = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[which][place] += sign * step
                sides.append(np.asarray(forward(*moved)))
            slope = (sides[0] - sides[1]) / (2 * step)
            expected[(..., *place)] = (weight * slope).reshape(*prefix, -1).sum(-1)
        np.testing.assert_allclose(found[which], expected, rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_gradients(case: str, wide: bool) -> None:
    check(CASES[case](), wide=wide)


UNARY = (
    *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "atanh", "erf", "abs", "sigmoid", "floor", "ceil", "trunc", "exp10"),
)
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "sub": lambda x, y: 2.0 - x - y,
    "div": lambda x, y: x / y,
    "power": te.power,
    "atan2": te.atan2,
    "copysign": lambda x, y: te.copysign(x, -y),
    "floormod": te.floormod,
    "fmod": te.fmod,
    "hypot": te.hypot,
    "negative": lambda x, y: -x * te.maximum(x, y) + te.minimum(x, y),
}


@pytest.mark.parametrize("name", [*UNARY, "acosh"])
def test_functions(name: str) -> None:
    x = _input(6)
    function = getattr(te, name)
    low, high = (1.1, 1.9) if name == "acosh" else (0.1, 0.9)
    check((te.compute((6,), lambda i: function(x[i]) * x[i]), [x]), low, high)


@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str) -> None:
    x, y = _input(6), _input(6, name="y")
    check((te.compute((6,), lambda i: BINARY[name](x[i], y[i])), [x, y]))


def test_jacobians_intermediates_and_strangers(replayed: Callable[[Schedule], None]) -> None:
    x, stranger = _input(4), _input(3, name="stranger")
    y = te.compute((4,), lambda i: x[i] * x[i], name="y")
    z = te.compute((2,), lambda i: y[i] * y[i + 2], name="z")
    by_x, by_y, by_z, by_stranger = te.gradient(z, [x, y, z, stranger])
    assert [t.shape for t in (by_x, by_y, by_z, by_stranger)] == [(2, 4), (2, 4), (2, 2), (2, 3)]
    data = np.array([1.0, 2.0, 3.0, 4.0])
    found = _call([by_x, by_y, by_z, by_stranger], [x], [data])
    jacobian = np.array([[9.0, 0, 1, 0], [0, 16, 0, 4]])
    np.testing.assert_allclose(found[0], jacobian * 2 * data)
    np.testing.assert_allclose(found[1], jacobian)
    np.testing.assert_array_equal(found[2], np.eye(2))
    np.testing.assert_array_equal(found[3], np.zeros((2, 3)))
    replayed(te.create_schedule(by_x))
    (again,) = te.gradient(te.compute((), lambda: x[1] * 3.0), x)
    np.testing.assert_array_equal(_call(again, [x], [data])[0], [0, 3, 0, 0])


@pytest.mark.parametrize("extreme", [te.maximum, te.minimum])
def test_of_two_that_are_equal_the_first_is_taken(extreme: Any) -> None:
    x, y = _input(3), _input(3, name="y")
    z = te.compute((3,), lambda i: extreme(x[i], y[i]))
    by_x, by_y = te.gradient(z, [x, y])
    found = _call([by_x, by_y], [x, y], [np.array([1.0, 2.0, 2.0]), np.array([2.0, 2.0, 1.0])])
    taken = [0.0, 1.0, 1.0] if extreme is te.maximum else [1.0, 1.0, 0.0]
    np.testing.assert_array_equal(found[0], np.diag(taken))
    np.testing.assert_array_equal(found[1], np.diag(np.subtract(1.0, taken)))


def test_shares_of_a_maximum() -> None:
    x = _input(5)
    top = _sum((1,), (5,), lambda _, k: x[k], te.max)
    (found,) = te.gradient(top, x)
    np.testing.assert_array_equal(_call(found, [x], [np.array([1.0, 3, 2, 3, 0])])[0], [[0, 0.5, 0, 0.5, 0]])


def test_adjoints_are_where_their_computes_are() -> None:
    x = _input(4)
    with te.located(layer_location("square", "net.onnx", 0)):
        y = te.compute((4,), lambda i: x[i] * x[i], name="y")
    with te.located(layer_location("double", "net.onnx", 1)):
        z = te.compute((4,), lambda i: y[i] * 2.0, name="z")
    head = _input(4, name="head")
    with te.located(layer_location("elsewhere", "net.onnx", 2)):
        (found,) = te.gradient(z, x, head)
    s = te.create_schedule(found)
    layers = {stage.label: layer_names(stage.location) for stage in s.stages}
    assert layers == {"y.grad": ("double",), "x.grad": ("square",)} or layers == {
        "y.grad": ["double"],
        "x.grad": ["square"],
    }


def test_a_matmul_sums_over_one_axis_and_a_reshape_over_none() -> None:
    output, inputs = matmul()
    head = te.placeholder(output.shape, "float64", name="head")
    for adjoint, extent in zip(te.gradient(output, inputs, head), (4, 3), strict=True):
        assert [axis.extent for axis in adjoint.op.reduce_axis] == [extent]
    x = _input(4, 6)
    flat = te.compute((24,), lambda i: x[i // 6, i % 6])
    (adjoint,) = te.gradient(flat, x, te.placeholder((24,), "float64"))
    assert adjoint.op.reduce_axis == []


def _scan() -> Tensor:
    x = _input(4, 3)
    state = te.placeholder((4, 3), "float64")
    first = te.compute((1, 3), lambda _, i: x[0, i])
    step = te.compute((4, 3), lambda t, i: state[t - 1, i] + x[t, i])
    return te.scan(first, step, state, inputs=[x])


def _first_input(tensor: Tensor) -> Tensor:
    while tensor.op.input_tensors:
        tensor = tensor.op.input_tensors[0]
    return tensor


X = _input(4)
_latest = te.comm_reducer(lambda _, y: y, lambda dtype: te.const(0.0, dtype), name="latest")
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "scan": (
        lambda: te.gradient(t := _scan(), _first_input(t)),
        r"expected computes from 'scan' to the inputs, got Scan",
    ),
    "extern": (
        lambda: te.gradient(te.extern((4,), [X], lambda i, o: te.call_packed("f", i[0], o[0]), name="called"), X),
        r"te.gradient: expected computes from 'called' to the inputs, got ExternOp\(called\)",
    ),
    "reducer": (
        lambda: te.gradient(_sum((1,), (4,), lambda _, k: X[k], _latest), X),
        "by sum, prod, max and min, got latest",
    ),
    "integers": (
        lambda: te.gradient(te.compute((4,), lambda i: X[i].astype("int32"), name="whole"), X),
        "expected tensors of floats, got int32 .'whole'.",
    ),
    "c": (
        lambda: te.gradient(te.compute((4,), lambda i: te.call_pure_extern("float64", "cbrt", X[i])), X),
        "expected functions with a derivative, got the C function cbrt",
    ),
    "head": (
        lambda: te.gradient(te.compute((4,), lambda i: X[i]), X, _input(4, 3)),
        r"expected a head of \(\*prefix, 4\) float64, got \(4, 3\) float64",
    ),
    "sizes": (lambda: te.gradient(_open(), X), "expected sizes that are numbers, got n"),
}


def _open() -> Tensor:
    n = te.size_var("n")
    return te.compute((n,), lambda i: X[0] * 2.0)


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_gradient(case: str) -> None:
    make, text = REFUSED[case]
    with pytest.raises(ScheduleError, match=text):
        make()
