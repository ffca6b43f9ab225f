"""Steps of decoders and their prompts: caches of keys and values that grow, and heads that share them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import onnx.parser
import pytest

import whence
from whence.lowering.kernel.record import Kernel

ort: Any = import_module("onnxruntime")
HEADS, SHARED, SIZE = 6, 2, 16
GROUPED = f"""
<ir_version: 8, opset_import: ["": 18]>
grouped (float[b, {HEADS}, s, {SIZE}] q, float[b, {SHARED}, s, {SIZE}] k, float[b, {SHARED}, s, {SIZE}] v,
         float[b, {SHARED}, p, {SIZE}] past_k, float[b, {SHARED}, p, {SIZE}] past_v, bool[s, t] seen)
     => (float[b, {HEADS}, s, {SIZE}] y, float[b, {SHARED}, t, {SIZE}] all_k, float[b, {SHARED}, t, {SIZE}] all_v)
    <int64[1] two = {{2}}, int64[5] times = {{1, 1, {HEADS // SHARED}, 1, 1}},
     int64[4] heads = {{0, {HEADS}, -1, {SIZE}}}, float scale = {{0.25}}, float far = {{-1e9}}> {{
    [keys] all_k = Concat <axis = 2> (past_k, k)
    [values] all_v = Concat <axis = 2> (past_v, v)
    k5 = Unsqueeze (all_k, two)
    [repeated_keys] k6 = Expand (k5, times)
    k7 = Reshape (k6, heads)
    v5 = Unsqueeze (all_v, two)
    [repeated_values] v6 = Expand (v5, times)
    v7 = Reshape (v6, heads)
    turned = Transpose <perm = [0, 1, 3, 2]> (k7)
    [scores] scores = MatMul (q, turned)
    scaled = Mul (scores, scale)
    [masked] masked = Where (seen, scaled, far)
    [odds] odds = Softmax <axis = -1> (masked)
    [mixed] y = MatMul (odds, v7)
}}
"""
LENGTHS = [(1, 1, 0), (1, 1, 1), (1, 1, 37), (2, 1, 300), (1, 1, 4096), (1, 5, 0), (2, 7, 3), (1, 64, 0), (1, 33, 128)]
"""Rows of a batch, new tokens, and past ones."""


def _arrays(rng: np.random.Generator, batch: int, new: int, past: int) -> dict[str, Any]:
    shapes = {"q": (HEADS, new), "k": (SHARED, new), "v": (SHARED, new), "past_k": (SHARED, past)}
    shapes["past_v"] = shapes["past_k"]
    arrays: dict[str, Any] = {
        name: rng.standard_normal((batch, *shape, SIZE), np.float32) for name, shape in shapes.items()
    }
    arrays["seen"] = np.arange(past + new) <= np.arange(past, past + new)[:, None]
    return arrays


@pytest.fixture(scope="module")
def model() -> onnx.ModelProto:
    return onnx.parser.parse_model(GROUPED)


@pytest.fixture(scope="module")
def session(model: onnx.ModelProto) -> Any:
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def decoder(model: onnx.ModelProto) -> whence.Executable:
    return whence.compile(model, tier="symbolic", input_shapes="seen:[s,p+s]")


def test_heads_that_share_keys_and_values_read_them_once(decoder: whence.Executable) -> None:
    assert not any("broadcast_to" in name for name in decoder.kernels)
    kernels = [kernel for kernel in decoder.artifact.kernels if isinstance(kernel, Kernel)]
    _, _, one = next(kernel.tir for kernel in kernels if "where" in kernel.symbol).partition("} else {")
    assert "vector.reduction" in one
    # Queries of all heads of a group are multiplied with a key before the next one is read.
    rows = [line.split()[-2] for line in one.splitlines() if "tir.for unrolled %b2" in line]
    assert set(rows) == {str(HEADS // SHARED)}


@pytest.mark.parametrize(("batch", "new", "past"), LENGTHS)
def test_steps_and_prompts_agree(decoder: whence.Executable, session: Any, batch: int, new: int, past: int) -> None:
    inputs = _arrays(np.random.default_rng(past + new), batch, new, past)
    for found, expected in zip(decoder.run(inputs).values(), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("batch", "new", "past"), [(1, 1, 40), (2, 24, 8)])
def test_programs_for_certain_sizes_share_too(
    model: onnx.ModelProto, session: Any, batch: int, new: int, past: int
) -> None:
    inputs = _arrays(np.random.default_rng(1), batch, new, past)
    static = whence.compile(model, input_shapes={name: array.shape for name, array in inputs.items()})
    assert not any("broadcast_to" in name for name in static.kernels)
    for found, expected in zip(static.run(inputs).values(), session.run(None, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def _grown(
    decoder: whence.Executable, batch: int, lengths: list[int]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Calls that give the cache of the one before away, and their results."""
    rng = np.random.default_rng(batch)
    results: dict[str, Any] = {}
    for new in lengths:
        past = results["all_k"].shape[2] if results else 0
        inputs = _arrays(rng, batch, new, past)
        if results:
            inputs |= {"past_k": results["all_k"], "past_v": results["all_v"]}
        results = decoder.run(inputs, donate=["past_k", "past_v"])
        yield inputs, results


@pytest.mark.parametrize("batch", [1, 2])
def test_caches_that_are_given_away_are_appended_to_where_they_are(
    decoder: whence.Executable, session: Any, batch: int
) -> None:
    expected: list[Any] = []
    # A prompt, steps, several tokens at once, and more than there is room for.
    for inputs, results in _grown(decoder, batch, [5, 1, 1, 60, 1, 130, 1, 1, 3]):
        if expected:
            inputs |= {"past_k": expected[1], "past_v": expected[2]}
        before = inputs["past_k"]
        expected = session.run(None, inputs)
        for found, wanted in zip(results.values(), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
        assert before.shape[2] + inputs["k"].shape[2] == results["all_k"].shape[2]


def test_only_new_rows_are_written(decoder: whence.Executable) -> None:
    calls = list(_grown(decoder, 1, [7, 1, 1]))
    (_, first), (_, second), (_, third) = calls
    for name in ("all_k", "all_v"):
        assert first[name].ctypes.data == second[name].ctypes.data == third[name].ctypes.data
        # Arrays that were given away have the rows that they had.
        np.testing.assert_array_equal(first[name], third[name][:, :, :7])
    program = vars(decoder)["_donating"]["past_k", "past_v"]
    assert not any("concatenate" in call.name for call in program.artifact.program.calls)
    # Products read the first rows of memory that has room for more.
    assert not any(
        call.name.startswith("fused_strided_slice") and "matmul" not in call.name
        for call in program.artifact.program.calls
    )


def test_what_is_not_given_away_is_not_written(decoder: whence.Executable) -> None:
    (_, first), (inputs, second) = _grown(decoder, 1, [4, 1])
    values = {name: np.array(array) for name, array in {**first, **second}.items()}
    again = decoder.run(
        {**inputs, "past_k": second["all_k"], "past_v": second["all_v"], "seen": np.ones((1, 6), np.bool_)}
    )
    assert not np.shares_memory(again["all_k"], second["all_k"])
    # Of two caches that grow together, one is copied, as it is not given away.
    arrays = {**inputs, "past_k": second["all_k"], "past_v": second["all_v"], "seen": np.ones((1, 6), np.bool_)}
    one = decoder.run(arrays, donate=["past_k"])
    assert np.shares_memory(one["all_k"], second["all_k"])
    assert not np.shares_memory(one["all_v"], second["all_v"])
    for name, array in {**first, **second}.items():
        np.testing.assert_array_equal(array, values[name])


def test_an_array_is_given_away_once(decoder: whence.Executable) -> None:
    (_, first), (inputs, second) = _grown(decoder, 1, [4, 1])
    both = ["past_k", "past_v"]
    with pytest.raises(
        whence.FrontendError,
        match="'past_k' of all its rows, which was not given away before, got one of 4, whose memory has 5",
    ):
        decoder.run({**inputs, "past_k": first["all_k"], "past_v": first["all_v"]}, donate=both)
    seen = {"seen": np.ones((1, 6), np.bool_)}
    with pytest.raises(whence.FrontendError, match="'past_v' of all its rows"):
        decoder.run({**inputs, **seen, "past_k": second["all_k"], "past_v": second["all_k"]}, donate=both)
    # A call that fails leaves what it was given.
    third = decoder.run({**inputs, **seen, "past_k": second["all_k"], "past_v": second["all_v"]}, donate=both)
    assert third["all_k"].shape[2] == 6
    # A copy is another array, and a part of one is, too.
    part = np.array(first["all_k"]), first["all_v"][:, :, 1:]
    with pytest.raises(whence.FrontendError, match="past"):
        decoder.run({**inputs, "past_k": part[0], "past_v": part[1]}, donate=both)


def test_programs_that_cannot_append_say_so(decoder: whence.Executable, model: onnx.ModelProto) -> None:
    inputs = _arrays(np.random.default_rng(0), 1, 1, 4)
    with pytest.raises(whence.FrontendError, match="inputs that an output continues: past_k; past_v, got q"):
        decoder.run(inputs, donate=["q"])
    static = whence.compile(model, input_shapes={name: array.shape for name, array in inputs.items()})
    with pytest.raises(whence.FrontendError, match="donate: expected a program for all sizes"):
        static.run(inputs, donate=["past_k"])


@pytest.mark.parametrize(("word", "axis"), [("float16", 0), ("float16", 1), ("bool", 2), ("int64", 1)])
def test_caches_of_any_type_grow_along_any_axis(word: str, axis: int) -> None:
    def shape(extent: Any) -> tuple[Any, ...]:
        return tuple(extent if number == axis else size for number, size in enumerate((2, 3, 5)))

    past, new, both, more = (f"{word}[{', '.join(map(str, shape(name)))}]" for name in "pnty")
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    grown ({past} past, {new} x) => ({both} all, {more} z) {{
        all = Concat <axis = {axis}> (past, x)
        z = Concat <axis = {axis}> (all, x)
    }}"""
    program, rng = whence.compile(onnx.parser.parse_model(text)), np.random.default_rng(0)
    dtype = {"bool": np.bool_}.get(word, word)
    cache = expected = np.zeros(shape(0), dtype)
    for extent in (3, 1, 0, 100, 1):
        x = rng.integers(0, 2, shape(extent)).astype(dtype)
        cache, read = program.run(None, {"past": cache, "x": x}, donate=["past"])
        expected = np.concatenate([expected, x], axis)
        np.testing.assert_array_equal(cache, expected)
        np.testing.assert_array_equal(read, np.concatenate([expected, x], axis))
