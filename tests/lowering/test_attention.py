"""Attention as one kernel: when it is, against numpy in float64, and where its scores are."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from symbolic_kernels import SymbolicKernel, inputs_of, relay_function

import whence
from whence.dialects.relay import OPERATORS
from whence.lowering.kernel.record import Kernel

OP = {operator.name.removeprefix("relay."): operator for operator in OPERATORS}
BATCH, ROWS, KEYS, DEPTH = 4, 700, 401, 24
"""Of which no extent is whole vectors, and the rows are no whole blocks."""


def attention(q: Any, k: Any, v: Any, mask: Any = 0.0, scale: float = 1.0) -> Any:
    """Keys as columns."""
    scores = q.astype(np.float64) @ k.astype(np.float64) * scale + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)


def off(result: Any, expected: Any) -> float:
    return float(np.abs(result - expected).max() / np.abs(expected).max())


def model(body: str, more: str = "") -> Any:
    values = (
        f"float[1,{BATCH},{ROWS},{DEPTH}] q, float[1,{BATCH},{DEPTH},{KEYS}] k, float[1,{BATCH},{KEYS},{DEPTH}] v, "
        f"float[1,1,{ROWS},{KEYS}] mask"
    )
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
graph ({values}) => (float[1,{BATCH},{ROWS},{DEPTH}] y{more}) <float scale = {{0.125}}> {{ {body} }}""")


PLAIN = "[scores] s = MatMul (q, k) [weights] p = Softmax <axis = -1> (s) [values] y = MatMul (p, v)"
MASKED = """[scores] s = MatMul (q, k) [scale] t = Mul (s, scale) [mask] u = Add (t, mask)
[weights] p = Softmax <axis = -1> (u) [values] y = MatMul (p, v)"""


def arrays() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    shapes = {"q": (ROWS, DEPTH), "k": (DEPTH, KEYS), "v": (KEYS, DEPTH)}
    made: dict[str, Any] = {
        name: draw.standard_normal((1, BATCH, *shape)).astype(np.float32) for name, shape in shapes.items()
    }
    made["mask"] = np.where(np.tri(ROWS, KEYS, 1) > 0, 0, -1e9).astype(np.float32)[None, None]
    return made


def kernels(executable: whence.Executable) -> list[str]:
    return [call.name.rpartition("default_")[2] for call in executable.artifact.calls]


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"])
def test_attention_is_one_kernel_without_scores_in_memory(target: str):
    given = arrays()
    results: list[Any] = []
    for threads in (1, 2):
        executable = whence.compile(model(MASKED), threads=threads, target=target)
        assert kernels(executable) == ["fused_nn_batch_matmul_multiply_add_nn_softmax_nn_batch_matmul"]
        assert executable.artifact.program.arena_bytes < 4 * BATCH * ROWS * KEYS / 8
        results.append(executable(*given.values()))
    expected = attention(given["q"], given["k"], given["v"], given["mask"], 0.125)
    assert off(results[0], expected) < 1e-5
    np.testing.assert_array_equal(*results)


def test_each_stage_is_its_own_layers():
    executable = whence.compile(model(MASKED))
    (call,) = executable.why(0).calls
    stages = {layer: operator.stages for operator in call.operators for layer in operator.layers}
    assert set(stages) == {"scores", "scale", "mask", "weights", "values"}
    assert stages["weights"] == ("softmax_maxelem", "softmax_exp", "softmax_expsum", "softmax_norm")
    assert executable.coverage()["tir"] == 1
    (kernel,) = cast("tuple[Kernel]", executable.artifact.kernels)
    served = {
        layer
        for number, line in enumerate(kernel.tir.splitlines(), 1)
        if "vector.reduction" in line and "<or>" not in line and (found := executable.why(0, number).line) is not None
        for _, layers in found.layers
        for layer in layers
    }
    assert served == {"weights"}


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (PLAIN, f", float[1,{BATCH},{ROWS},{KEYS}] p"),
        (PLAIN.replace("[weights]", "r = Relu (s) [weights]"), f", float[1,{BATCH},{ROWS},{KEYS}] r"),
        (PLAIN.replace("axis = -1", "axis = 2"), ""),
    ],
    ids=["weights are returned", "scores are read by another", "softmax across rows"],
)
def test_what_others_read_stays_apart(body: str, more: str):
    given = arrays()
    executable = whence.compile(model(body, more))
    assert sum("softmax" in name and "matmul" in name for name in kernels(executable)) == 0
    if "= 2" not in body:
        result = executable.run(given)["y"]
        assert off(result, attention(given["q"], given["k"], given["v"])) < 1e-5


@pytest.mark.parametrize(
    ("rows", "keys"), [(5, 3), (12, 48), (13, 17), (33, 45), (64, 64), (77, 50), (100, 129), (48, 3000), (7, 8192)]
)
def test_any_number_of_rows_and_keys(rows: int, keys: int):
    depth, width = 9, 21
    shapes = [(3, rows, depth), (3, depth, keys), (3, keys, width), (1, 1, keys), (3, rows, width)]

    def make(*values: Any) -> list[Any]:
        scores = OP["nn.batch_matmul"](values[0], values[1], transpose_b=False)
        masked = OP["add"](scores.results[0], values[3])
        weights = OP["nn.softmax"](masked.results[0], axis=-1)
        product = OP["nn.batch_matmul"](weights.results[0], values[2], transpose_b=False)
        return [scores, masked, weights, product, OP["add"](product.results[0], values[4])]

    given = inputs_of(shapes, {})
    results: list[Any] = []
    for threads in (1, 2):
        kernel = SymbolicKernel(relay_function(shapes, make), threads)
        assert '"attention"' in kernel.sequence
        results.append(kernel({}, *given))
    expected = attention(*given[:4]) + given[4]
    assert off(results[0], expected) < 1e-5
    np.testing.assert_array_equal(*results)


def decoder(masking: str, mask: str) -> Any:
    """Attention to a cache and new rows, all of open numbers."""
    values = "float[batch,3,new,24] q, float[batch,3,past,24] past_k, float[batch,3,new,24] k, float[batch,3,all,24] v"
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
graph ({values}, {mask}[new,all] mask) => (float[batch,3,new,24] y) <float scale = {{0.125}}, float far = {{-1e9}}> {{
    [append] keys = Concat <axis = 2> (past_k, k) [turn] t = Transpose <perm = [0, 1, 3, 2]> (keys)
    [scores] s = MatMul (q, t) [scale] x = Mul (s, scale) [mask] u = {masking}
    [weights] p = Softmax <axis = -1> (u) [values] y = MatMul (p, v) }}""")


WHERE = ("Where (mask, x, far)", "bool")
ADDED = ("Add (x, mask)", "float")
SIZES = (
    *((1, 1, 0), (1, 0, 3), (2, 1, 40), (1, 1, 129), (1, 2, 0), (1, 3, 64), (1, 5, 60), (2, 6, 0), (1, 7, 121)),
    *((1, 8, 0), (1, 12, 3), (1, 13, 200), (3, 17, 17), (1, 33, 31), (1, 63, 1), (1, 64, 0), (1, 65, 0)),
    *((1, 100, 29), (1, 128, 0), (1, 131, 70), (2, 200, 0)),
)
"""Batch, new rows, and rows of the cache."""

ALL = "v:[batch,3,past+new,24] mask:[new,past+new]"


def cached(batch: int, new: int, past: int) -> dict[str, Any]:
    """Arrays of one call, with a causal mask and, from the third row on, one that sees no key."""
    draw = np.random.default_rng(new + past)
    extents = {"q": new, "past_k": past, "k": new, "v": new + past}
    feed: dict[str, Any] = {
        name: draw.standard_normal((batch, 3, extent, 24)).astype(np.float32) for name, extent in extents.items()
    }
    feed["mask"] = np.tri(new, new + past, past) > 0
    feed["mask"][2:3] = False
    return feed


@pytest.mark.parametrize(("masking", "mask"), [WHERE, ADDED], ids=["where", "added"])
def test_one_kernel_of_open_sizes(masking: str, mask: str):
    executable = whence.compile(decoder(masking, mask), threads=2, tier="symbolic", input_shapes=ALL)
    assert sum("softmax" in name for name in kernels(executable)) == 1
    (name,) = (name for name in kernels(executable) if "softmax" in name)
    assert name.count("batch_matmul") == 2
    for batch, new, past in SIZES:
        feed = cached(batch, new, past)
        seen = feed["mask"]
        if mask == "float":
            feed["mask"] = np.where(seen, 0, -np.inf).astype(np.float32)
        with np.errstate(invalid="ignore"):
            keys = np.concatenate((feed["past_k"], feed["k"]), 2).swapaxes(2, 3)
            scores = feed["q"].astype(np.float64) @ keys * 0.125
            scores = np.where(seen, scores, -1e9 if mask == "bool" else -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
            expected = weights / weights.sum(-1, keepdims=True) @ feed["v"].astype(np.float64)
        # A row of which all scores are -inf is NaN.
        np.testing.assert_allclose(executable.run(feed)["y"], expected, atol=1e-5, err_msg=f"{batch, new, past}")


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"])
def test_products_behind_a_mask_are_left_out(sized: bool, target: str):
    """Neither scores that no row of a tile sees, nor values whose weights are 0, are read."""
    new = 700
    source = decoder(*WHERE)
    feed = cached(1, new, 0)
    feed["mask"][2] = feed["mask"][1]
    sizes = ALL if sized else {name: array.shape for name, array in feed.items()}
    executable = whence.compile(source, tier="symbolic" if sized else "static", target=target, input_shapes=sizes)
    expected = executable.run(feed)["y"]
    drafted = cast("tuple[Kernel, ...]", executable.artifact.kernels)
    (kernel,) = (kernel for kernel in drafted if "softmax" in kernel.te)
    assert "vector.reduction <or>" in kernel.tir
    spoilt = feed["v"].copy()
    spoilt[:, :, 640:] = np.nan
    result = executable.run({**feed, "v": spoilt})["y"]
    np.testing.assert_array_equal(result[:, :, :630], expected[:, :, :630])
    assert np.isnan(result[:, :, 641:]).all()
