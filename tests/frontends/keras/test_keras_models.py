"""Files that Keras wrote compute what Keras computes, in batches of two sizes, and without Keras."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence.dialects.relay.interpret import evaluate_module
from whence.executables.stateful import Stateful
from whence.frontends.keras import from_keras
from whence.provenance.audit import check_located
from whence.support.dtypes import Array

FOLDER = Path(__file__).parent / "models"
STATEFUL = FOLDER / "stateful.keras"
FILES = sorted({*FOLDER.glob("*.keras"), *FOLDER.glob("*.h5")} - {STATEFUL})
COMPILED = [FOLDER / name for name in ("cnn.h5", "functional.keras", "quantized.keras", "recurrent.keras")]


def kept(path: Path) -> dict[int, tuple[dict[str, Array], list[Array]]]:
    """Return by batch the inputs that are kept of a model, and the outputs in order."""
    batches: dict[int, tuple[dict[str, Array], list[Array]]] = {}
    with np.load(path.with_suffix(".npz")) as arrays:
        for key in arrays.files:
            kind, batch, name = key.split("_", 2)
            tensors, results = batches.setdefault(int(batch), ({}, []))
            if kind == "in":
                tensors[name] = arrays[key]
            else:
                assert int(name) == len(results)
                results.append(arrays[key])
    assert len(batches) > 1
    return batches


def assert_near(results: Sequence[Any], wanted: Sequence[Any], tolerance: float) -> None:
    assert len(results) == len(wanted)
    for result, reference in zip(results, wanted, strict=True):
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result, reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_compute_what_keras_computes(path: Path):
    for tensors, wanted in kept(path).values():
        module = from_keras(path, shapes={name: array.shape for name, array in tensors.items()})
        check_located(module, "from_keras")
        results = evaluate_module(module, list(tensors.values()))
        assert_near(results, wanted, 2e-3 if path.stem == "halves" else 2e-5)


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.name)
def test_one_program_is_for_all_batches(path: Path):
    program = whence.compile(path, audit=True)
    for tensors, wanted in kept(path).values():
        results = program(*(tensors[spec.name] for spec in program.inputs))
        assert_near(results if isinstance(results, tuple) else (results,), wanted, 2e-5)


def test_states_are_kept_from_call_to_call():
    program, calls = whence.compile(STATEFUL, audit=True), kept(STATEFUL)
    assert isinstance(program, Stateful)
    for _ in range(2):
        for tensors, wanted in calls.values():
            assert_near(list(program(*tensors.values())), wanted, 2e-5)
        program.reset()
    assert [spec.name for spec in program.inputs] == ["x0"]
    names = {"lstm": 2, "both": 2, "inner/rnn": 1, "stack": 3}
    assert set(program.state) == {f"{layer}.states.{at}" for layer, count in names.items() for at in range(count)}


def test_a_module_of_a_stateful_model_begins_anew():
    tensors, wanted = kept(STATEFUL)[1]
    for _ in range(2):
        results = evaluate_module(from_keras(STATEFUL), list(tensors.values()))
        assert_near(results, wanted, 2e-5)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_small(path: Path):
    assert path.stat().st_size < 100_000
