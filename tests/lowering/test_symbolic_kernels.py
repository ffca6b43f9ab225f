"""Kernels of relay operators over open sizes: one code, against numpy at sizes 0, 1, about a vector's lanes, odd."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from symbolic_kernels import SymbolicKernel, inputs_of, relay_function
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i64

from whence.dialects.relay import OPERATORS
from whence.dialects.sizes import Size, known_ranges, symbol
from whence.lowering.kernel.few_rows import lower_scheduled
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.lower import lower_function
from whence.passes.relay.legalize import LegalizePass
from whence.provenance.lost import is_located

OP = {operator.name.removeprefix("relay."): operator for operator in OPERATORS}
B, S = symbol("b"), symbol("s")
SIZES = [{"b": b, "s": s} for b, s in ((1, 0), (0, 3), (1, 1), (2, 7), (1, 8), (2, 9), (3, 16), (1, 45))]


class Case(NamedTuple):
    shapes: Sequence[Sequence[Size]]
    make: Callable[..., Any]
    expected: Callable[..., Any]
    least: int = 0
    """The smallest size that it has a meaning for."""


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True, initial=-1e30))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(x: Any, g: Any, b: Any) -> Any:
    apart = x - x.mean(-1, keepdims=True)
    return apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5) * g + b


def _chain(*steps: Callable[..., Any]) -> Callable[..., Any]:
    """Operators one after the other, each of the values before it."""

    def make(*inputs: Any) -> Any:
        made: list[Any] = []
        for step in steps:
            made.append(step(*inputs, *(op.results[0] for op in made)))
        return made

    return make


def _convolution(x: Any, w: Any) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def _pool(x: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2].max((4, 5))


def _average(x: Any) -> Any:
    """Of up to four rows, those that there are."""
    rows = x.shape[2]
    return np.stack([x[:, :, max(r - 3, 0) : min(r + 1, rows)].mean(2) for r in range(rows + 3)], 2)


CASES: dict[str, Case] = {
    "elementwise": Case(
        [(B, S, 24), (24,), (S, 1)],
        _chain(
            lambda x, bias, scale: OP["add"](x, bias),
            lambda x, bias, scale, a: OP["multiply"](a, scale),
            lambda x, bias, scale, a, m: OP["nn.relu"](m),
        ),
        lambda x, bias, scale: np.maximum((x + bias) * scale, 0),
    ),
    "sum": Case([(B, S, 5)], lambda x: OP["sum"](x, axis=(1,)), lambda x: x.sum(1)),
    "mean": Case([(B, S)], lambda x: OP["mean"](x, axis=(-1,), keepdims=True), lambda x: x.mean(-1, keepdims=True), 1),
    "softmax": Case([(B, 2, S, S)], lambda x: OP["nn.softmax"](x, axis=-1), _softmax),
    "log_softmax beside": Case(
        [(B, 4, S)], lambda x: OP["nn.log_softmax"](x, axis=-1), lambda x: np.log(np.maximum(_softmax(x), 1e-30))
    ),
    "l2_normalize beside": Case(
        [(6, S)],
        lambda x: OP["nn.l2_normalize"](x, axis=(1,), eps=1e-6),
        lambda x: x / np.sqrt(np.maximum((x * x).sum(-1, keepdims=True), 1e-6)),
    ),
    "layer_norm": Case([(B, S, 40), (40,), (40,)], lambda *v: OP["nn.layer_norm"](*v), _layer_norm),
    "rms_norm": Case(
        [(S, 24), (24,)],
        lambda x, w: OP["nn.rms_norm"](x, w),
        lambda x, w: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * w,
    ),
    "dense": Case(
        [(B * S, 24), (40, 24), (40,)],
        _chain(
            lambda x, w, bias: OP["nn.dense"](x, w),
            lambda x, w, bias, d: OP["add"](d, bias),
            lambda x, w, bias, d, a: OP["tanh"](a),
        ),
        lambda x, w, bias: np.tanh(x @ w.T + bias),
    ),
    "scores": Case(
        [(B, S, 16), (B, S + 1, 16)], lambda q, k: OP["nn.batch_matmul"](q, k), lambda q, k: q @ k.swapaxes(1, 2)
    ),
    "context": Case(
        [(B, S, S), (B, S, 16)], lambda p, v: OP["nn.batch_matmul"](p, v, transpose_b=False), lambda p, v: p @ v
    ),
    "heads": Case(
        [(B, S, 24)],
        _chain(
            lambda x: OP["reshape"](x, newshape=(0, 0, 3, 8)),
            lambda x, r: OP["transpose"](r, axes=(0, 2, 1, 3)),
        ),
        lambda x: x.reshape(*x.shape[:2], 3, 8).transpose(0, 2, 1, 3),
    ),
    "concatenate": Case(
        [(B, S, 4), (B, 1, 4)], lambda *v: OP["concatenate"](*v, axis=1), lambda x, y: np.concatenate([x, y], 1)
    ),
    "slice": Case(
        [(B, S, 4)], lambda x: OP["strided_slice"](x, begin=(-3,), end=(1 << 62,), axes=(1,)), lambda x: x[:, -3:]
    ),
    "pad": Case(
        [(B, S), ()],
        lambda x, v: OP["nn.pad"](x, v, pad_width=(0, 0, 2, 3)),
        lambda x, v: np.pad(x, ((0, 0), (2, 3)), constant_values=v),
    ),
    "conv2d": Case([(B, 3, S, S + 3), (16, 3, 3, 3)], lambda *v: OP["nn.conv2d"](*v, padding=(1, 1)), _convolution, 1),
    "max_pool2d": Case([(B, 3, S, 9)], lambda x: OP["nn.max_pool2d"](x, pool_size=(2, 2), strides=(2, 2)), _pool, 7),
    # Nothing that its mask asks depends on the lane.
    "avg_pool2d": Case(
        [(B, 2, S, 3)], lambda x: OP["nn.avg_pool2d"](x, pool_size=(4, 1), padding=(3, 0, 3, 0)), _average, 1
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_for_all_sizes(name: str) -> None:
    case = CASES[name]
    kernel = SymbolicKernel(relay_function(case.shapes, case.make))
    assert all(is_located(op.location) for op in kernel.loops.walk())
    for sizes in SIZES:
        if sizes["s"] >= case.least:
            arrays = inputs_of(case.shapes, sizes)
            with np.errstate(invalid="ignore"):
                expected = case.expected(*arrays)
            np.testing.assert_allclose(kernel(sizes, *arrays), expected, rtol=1e-4, atol=1e-4, err_msg=f"{sizes}")


def test_rows_by_indices() -> None:
    kernel = SymbolicKernel(relay_function([(50, 12), (B, S)], lambda *v: OP["take"](*v, axis=0), [f32, i64]))
    table = inputs_of([(50, 12)], {})[0]
    for b, s in ((1, 0), (1, 1), (2, 9)):
        places = np.arange(b * s, dtype="int64").reshape(b, s) * 7 % 50
        np.testing.assert_array_equal(kernel({"b": b, "s": s}, table, places), table[places])


def test_recurrent_layers_of_any_length() -> None:
    hidden, block = 16, 8
    shapes = [(S, B, 4 * hidden), (hidden // block, hidden, 4, block), (B, hidden), (B, hidden)]
    kernel = SymbolicKernel(relay_function(shapes, lambda *v: OP["nn.lstm"](*v)))

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    for s, b in itertools.product((1, 2, 9), (1, 3)):
        data, weight, h, c = inputs_of(shapes, {"b": b, "s": s})
        flat = weight.transpose(1, 2, 0, 3).reshape(hidden, 4 * hidden)
        wanted: list[Any] = []
        state, cell = h, c
        for t in range(s):
            gate_i, gate_o, gate_f, gate_c = np.split(data[t] + state @ flat, 4, axis=-1)
            cell = sigmoid(gate_f) * cell + sigmoid(gate_i) * np.tanh(gate_c)
            state = sigmoid(gate_o) * np.tanh(cell)
            wanted.append(state)
        found = kernel({"b": b, "s": s}, data, weight, h, c)
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-4, atol=1e-5)


def test_a_product_has_code_of_its_own_for_one_row() -> None:
    shapes = [(S, 24), (3, 24, 64)]
    kernel = SymbolicKernel(relay_function(shapes, lambda *v: OP["nn.contrib_dense_pack"](*v)))
    assert "tir.if [s0 - 2] >= 0" in kernel.function.tir
    steps = [line.split()[-2] for line in kernel.function.tir.splitlines() if "tir.for unrolled %k.inner" in line]
    assert steps == ["2"] * 3, "several tiles take few steps of the reduction each"
    for size in (*range(9), 45):
        x, w = inputs_of(shapes, {"s": size})
        wanted = x @ w.transpose(1, 0, 2).reshape(24, 192)
        np.testing.assert_allclose(kernel({"s": size}, x, w), wanted, rtol=1e-4, atol=1e-4)


def test_rows_of_a_softmax_lie_whole_vectors_apart() -> None:
    machine = Target.native().hardware
    func = relay_function([(4, symbol("s0"))], lambda x: OP["nn.softmax"](x, axis=-1))
    _, loops = lower_scheduled(lower_function(func), machine)
    lanes = machine.lanes(4)
    assert f"tir.alloc : !tir.buffer<4x?xf32, [{lanes}*((s0 + {lanes - 1}) floordiv {lanes})], local>" in str(loops)


def test_the_rest_of_tiles_keeps_its_sums_in_registers() -> None:
    kernel = SymbolicKernel(relay_function([(S, 32), (64, 32)], lambda *v: OP["nn.dense"](*v)))
    many, _, _ = kernel.function.tir.partition("} else {")
    loops = [line.strip() for line in many.splitlines() if "tir.for" in line]
    # Of open sizes are only the loops over tiles: those more than half full, and one that is not.
    assert [line.split()[1].split("_")[0] for line in loops if "s0" in line] == ["%m.outer"] * 2
    assert sum("tir.for unrolled" in line for line in loops) > 6


@pytest.mark.parametrize(
    ("shape", "axes"), [((B, S), (0, 1)), ((S, 4), (0,)), ((577, 911), (0, 1))], ids=["whole", "across", "known"]
)
def test_long_sums_are_as_exact_as_their_parts(shape: Sequence[Size], axes: tuple[int, ...]) -> None:
    kernel = SymbolicKernel(relay_function([shape], lambda x: OP["sum"](x, axis=axes)))
    sizes = {"b": 577, "s": 911 if shape[0] is B else 1 << 19}
    (data,) = inputs_of([shape], sizes)
    # Numbers of one sign: the error of each addition is of the size of the sum so far.
    data = np.abs(data)
    found = kernel({name: value for name, value in sizes.items() if name in kernel.names}, data)
    np.testing.assert_allclose(found, data.sum(axes, dtype=np.float64), rtol=3e-7)


def test_scores_of_one_row_read_keys_as_they_lie() -> None:
    """A step of a decoder has one query for many keys, which are turned only for more queries."""
    shapes = [(B, S, 64), (B, S + symbol("t"), 64)]
    kernel = SymbolicKernel(relay_function(shapes, lambda *v: OP["nn.batch_matmul"](*v)))
    many, _, one = kernel.function.tir.partition("} else {")
    assert "%turned" in many
    assert "%turned" not in one
    assert "vector.reduction" in one
    assert "tir.for %n in s1 + s2 {" in one, "the index of a key takes no division by a size"


def test_graphs_hand_keys_to_products_of_open_rows_as_they_lie() -> None:
    """Where rows and columns are of one number, as in an encoder, keys are turned once for all rows."""
    for rows, columns, kept in ((S, S + symbol("t"), 0), (S, S, 1), (2 * S + 2, S, 1)):
        func = relay_function(
            [(B, rows, 64), (B, columns, 64)],
            _chain(
                lambda q, k: OP["transpose"](k, axes=(0, 2, 1)),
                lambda q, k, turned: OP["nn.batch_matmul"](q, turned, transpose_b=False),
            ),
        )
        module = ModuleOp([func])
        with known_ranges({}):
            LegalizePass().apply(Context(), module)
        assert str(module).count("relay.transpose") == kept, (rows, columns)
