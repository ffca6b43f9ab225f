"""Exported programs that are checked in, held against what eager torch computed of two sizes of inputs."""

from __future__ import annotations

import pytest
from exported_programs import PROGRAMS, agree, calls

import whence
from whence.executables.sized import SizedExecutable
from whence.executables.stateful import Stateful

OPEN = ("cnn", "mixed", "recurrent", "transformer", "writes")
"""Programs one of whose sizes a call decides."""


@pytest.mark.parametrize("name", OPEN)
def test_one_program_for_all_sizes_gives_what_torch_gives(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2", tier="symbolic")
    assert isinstance(executable, SizedExecutable)
    for inputs, expected in calls(name):
        agree(executable(*inputs), expected)


@pytest.mark.parametrize("name", OPEN)
def test_a_program_of_known_sizes_keeps_every_layer(name: str):
    inputs, expected = calls(name)[0]
    names = [spec.name for spec in whence.compile(PROGRAMS / f"{name}.pt2", tier="symbolic").inputs]
    shapes = {key: list(array.shape) for key, array in zip(names, inputs, strict=True)}
    agree(whence.compile(PROGRAMS / f"{name}.pt2", input_shapes=shapes, audit=True)(*inputs), expected)


def test_values_may_decide_shapes():
    executable = whence.compile(PROGRAMS / "chosen.pt2")
    for inputs, expected in calls("chosen"):
        agree(executable(*inputs), expected)


@pytest.mark.parametrize("name", ["counter", "counter.decomposed"])
def test_buffers_that_a_call_changes_are_kept(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2")
    assert isinstance(executable, Stateful)
    assert set(executable.state) == {"calls", "mean"}
    for inputs, expected in calls(name):
        agree(executable(*inputs), expected)
    assert executable.state["calls"] == 2
    executable.reset()
    inputs, expected = calls(name)[0]
    agree(executable(*inputs), expected)


def test_rows_of_a_cache_are_written_where_an_index_says():
    executable = whence.compile(PROGRAMS / "cache.pt2")
    for inputs, expected in calls("cache"):
        agree(executable(*inputs), expected)


def test_results_have_the_keys_of_a_dictionary():
    executable = whence.compile(PROGRAMS / "recurrent.pt2")
    assert [spec.name for spec in executable.outputs] == ["steps", "last", "hidden"]


def test_bytes_and_files_are_one_program():
    inputs, expected = calls("cnn")[0]
    agree(
        whence.compile((PROGRAMS / "cnn.pt2").read_bytes(), input_shapes={"image": [2, 3, 16, 16]})(*inputs), expected
    )


def test_weights_are_variables_for_relay():
    from whence import relay

    module, params = relay.frontend.from_exported_program(PROGRAMS / "cnn.pt2", {"image": [2, 3, 16, 16]})
    assert "stem.conv.weight" in params
    assert "head.bias" in params
    names = [param.name_hint for param in module["main"].params]
    assert names[0] == "image"
    assert set(names[1:]) == set(params)
    inputs, expected = calls("cnn")[0]
    executor = relay.create_executor("graph", module, params=params)
    agree(executor.evaluate()(*inputs).numpy(), expected)
