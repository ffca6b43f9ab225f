"""Exported estimators with random inputs, compiled and held against onnxruntime, or what the estimators said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import TensorProto
from reference_runtime import onnxruntime_outputs

import whence

KEPT = Path(__file__).parent.parent / "exports" / "ml"
WORDS = np.array(["red", "green", "blue"], np.object_)


def inputs_of(model: onnx.ModelProto, rows: int, seed: int) -> dict[str, Any]:
    """Random numbers, small whole ones, or words that stand for categories."""
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [rows, *(dim.dim_value for dim in tensor.shape.dim[1:])]
        match tensor.elem_type:
            case TensorProto.STRING:
                found[value.name] = WORDS[rng.integers(0, len(WORDS), shape)]
            case TensorProto.INT64:
                found[value.name] = rng.integers(0, 5, shape)
            case code:
                numbers = rng.standard_normal(shape) * 1.5
                found[value.name] = numbers.astype(np.float64 if code == TensorProto.DOUBLE else np.float32)
    return found


def check(file: Path) -> str:
    """Compile a model and compare what it gives for two numbers of rows; returns the class of the program."""
    model: onnx.ModelProto = cast(Any, onnx).load(file)
    executable: Any = whence.compile(file)
    if file.with_suffix(".npz").exists():
        load = cast("Callable[[Path], Any]", np.load)  # pyright: ignore[reportUnknownMemberType]
        with load(file.with_suffix(".npz")) as archive:
            texts, own = archive["x"], archive["own"]
        results = list(executable.run({"x": texts}).values())
        scores = results[-1]
        if isinstance(scores, list):
            scores = np.array([list(row.values()) for row in cast("list[dict[Any, float]]", scores)])
        np.testing.assert_allclose(scores, own, rtol=1e-4, atol=1e-5)
    else:
        for rows in (5, 12):
            given = inputs_of(model, rows, rows)
            found = executable.run(given)
            for mine, theirs in zip(found.values(), onnxruntime_outputs(model, given, quiet=True), strict=True):
                same(mine, theirs)
    return type(executable).__name__


def same(found: Any, expected: Any) -> None:
    """The same labels, numbers or maps; numbers to some digits of float32."""
    if isinstance(expected, list):
        maps, theirs = cast("list[dict[Any, float]]", found), cast("list[dict[Any, float]]", expected)
        assert [list(row) for row in maps] == [list(row) for row in theirs]
        found, expected = (np.array([list(row.values()) for row in rows]) for rows in (maps, theirs))
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    else:
        assert found.tolist() == expected.tolist()
