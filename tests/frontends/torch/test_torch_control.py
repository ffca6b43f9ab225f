"""Branches and loops of exported programs: `torch.cond`, `while_loop`, `scan` and `map`, and graphs that only run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pytest
from exported_programs import PROGRAMS, agree, calls
from written_programs import BOOL, Number, graph, inner, node, program
from xdsl.dialects.builtin import NameLoc

import whence
from whence.executables.sized import SizedExecutable
from whence.frontends.torch.graph import open_model
from whence.provenance.span import positions
from whence.runtime.interpreting.flow import Region, Step
from whence.support.errors import FrontendError

SOURCE = (PROGRAMS / "branches.py").read_text().splitlines()


@pytest.mark.parametrize("name", ["branches", "loops", "sized", "marked"])
def test_programs_give_what_torch_gives(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2", audit=True)
    for inputs, expected in calls(name):
        agree(executable(*inputs), expected)


def test_each_branch_is_taken():
    executable = whence.compile(PROGRAMS / "branches.pt2")
    x = np.linspace(-1, 5, 12, dtype=np.float32).reshape(3, 4)
    agree(executable(x), [np.minimum(x, 1) + 1])


def test_a_branch_that_sizes_decide_is_one_program():
    executable = whence.compile(PROGRAMS / "sized.pt2", tier="symbolic")
    assert isinstance(executable, SizedExecutable)
    for rows in (4, 5):
        x = np.ones((rows, 4), np.float32)
        agree(executable(x), [np.sin(x) if rows > 4 else x * 3])


def steps(region: Region) -> Iterator[Step]:
    for step in region.steps:
        yield step
        for body in step.bodies.values():
            yield from steps(body)


def layers(name: str) -> dict[str, str]:
    """Layer -> the source of its line."""
    result: dict[str, str] = {}
    for step in steps(open_model(PROGRAMS / f"{name}.pt2").region):
        leaf = cast(Any, step.source).leaf
        assert isinstance(leaf, NameLoc)
        assert leaf.desc.data == step.layer
        result[step.layer] = SOURCE[positions(leaf)[0].line - 1].partition("#")[0].strip()
    return result


def test_layers_in_graphs_are_named_after_what_runs_them_and_stand_at_their_own_lines():
    found = layers("branches")
    assert found["cond"] == "return torch.cond(x.max() > 2, large, small, (x,)) + 1"
    assert found["cond/true/clamp"] == "return x.clamp(max=1)"
    assert found["gate/cond/false/cond"] == "return torch.cond(x.sum() > 0, kept, turned, (x,))"
    assert found["gate.dense/cond/false/cond/true/linear"] == "y = self.dense(x)"
    assert found["gate/cond/false/cond/false/copy_"] == "z[:, ::2] = x[:, 1::2]"
    found = layers("loops")
    assert found["while_loop/cond/gt"] == "return (x.abs().max() > 0.5) & (count < 9)"
    assert found["while_loop/body/mul"] == "return count + 1, x * self.scale / 2"
    assert found["scan/body/add"] == "following = total + row"
    assert found["map_impl/body/softmax"].startswith("return count, small, total, rows, mapped(")


def test_where_answers_for_layers_of_loops():
    executable = whence.compile(PROGRAMS / "loops.pt2")
    executable(*calls("loops")[0][0])
    answer = str(executable.where("while_loop/body/mul"))
    assert "while_loop/body/mul (aten.mul.Tensor, branches.py:" in answer


X = np.array([1, -2, 3], np.float32)


def called(target: str, values: Sequence[Any], result: str) -> Any:
    """A call of an operator of two values."""
    return node(target, {"self": values[0], "other": values[1]}, [result])


def test_what_a_branch_writes_to_around_it_is_changed_behind_it():
    """A view of what is written to, of before the branch, has what the branch that is taken wrote."""
    nodes = [
        called("aten.mul.Tensor", ("x", 1), "y"),
        node("aten.slice.Tensor", {"self": "y", "dim": 0, "start": 1, "end": 3}, ["tail"]),
        node("aten.sum.default", {"self": "x"}, ["total"]),
        called("aten.gt.Scalar", ("total", 0), "positive"),
        node(
            "higher_order.cond",
            [
                "positive",
                inner("true_graph", graph([], [called("aten.add_.Tensor", ("tail", 10), "done")], [])),
                inner("false_graph", graph([], [called("aten.mul_.Tensor", ("y", 2), "done")], [])),
                [],
            ],
            [],
        ),
        called("aten.mul.Tensor", ("tail", 1), "z"),
    ]
    shapes: dict[str, Any] = {"x": [3], "y": [3], "tail": [2], "total": [], "positive": (BOOL, []), "z": [2]}
    executable = whence.compile(program(graph(["x"], nodes, ["y", "z"], **shapes)))
    agree(executable(X), [X + np.array([0, 10, 10], np.float32), X[1:] + 10])
    agree(executable(-X), [-X * 2, -X[1:] * 2])


def counting(body: Sequence[Any], outputs: Sequence[Any], carried: Sequence[Any], before: Sequence[Any] = ()) -> Any:
    """A program that runs a body three times; `y` is a copy of `x`, and `z` what is left of it."""
    inputs = [Number("i"), *[f"c{at}" for at in range(len(carried))]]
    results = [f"r{at}" for at in range(len(carried))]
    nodes = [
        called("aten.mul.Tensor", ("x", 1), "y"),
        *before,
        node("whence.loop", [3, True, inner("body", graph(inputs, body, outputs)), [*carried]], results),
        called("aten.mul.Tensor", ("y", 1), "z"),
    ]
    return whence.compile(program(graph(["x"], nodes, [*results, "z"], x=[3], y=[3], z=[3])))


def test_a_loop_carries_what_it_writes_to_around_it():
    body = [
        called("aten.mul.Tensor", ("c0", 2), "twice"),
        called("aten.add_.Tensor", ("y", "twice"), "done"),
    ]
    executable = counting(body, [True, "twice"], ["x"])
    agree(executable(X), [X * 8, X + X * 2 + X * 4 + X * 8])


def test_the_number_of_an_iteration_is_a_number():
    body = [
        node("_operator.mul", {"a": Number("i"), "b": 2}, [Number("even")]),
        called("aten.add.Tensor", ("c0", Number("even")), "sum"),
        node("_operator.lt", {"a": Number("even"), "b": 2}, [Number("more", "bool")]),
    ]
    executable = counting(body, [Number("more", "bool"), "sum"], ["x"])
    agree(executable(X), [X + 2, X])


def test_values_that_may_be_one_tensor_are_not_written_to():
    """What a loop carries is, at first, the tensor around it; torch would change that, too, in the first iteration."""
    body = [called("aten.add_.Tensor", ("c0", 1), "done")]
    with pytest.raises(FrontendError, match="a value of its own where 'r0/body/done' writes to what it carries"):
        counting(body, [True, "c0"], ["y"])
    # Nobody reads the copy but the loop.
    copy = called("aten.mul.Tensor", ("x", 1), "own")
    agree(counting(body, [True, "c0"], ["own"], [copy])(X), [X + 3, X])


def test_results_that_are_values_around_a_branch_are_not_written_to():
    nodes = [
        called("aten.mul.Tensor", ("x", 1), "y"),
        node("aten.sum.default", {"self": "x"}, ["total"]),
        called("aten.gt.Scalar", ("total", 0), "positive"),
        node(
            "higher_order.cond",
            [
                "positive",
                inner("true_graph", graph([], [], ["y"])),
                inner("false_graph", graph([], [called("aten.mul.Tensor", ("y", 2), "own")], ["own"])),
                [],
            ],
            ["either"],
        ),
    ]
    shapes: dict[str, Any] = {"x": [3], "y": [3], "either": [3], "total": [], "positive": (BOOL, [])}
    executable = whence.compile(program(graph(["x"], nodes, ["either"], **shapes)))
    agree(executable(X), [X])
    agree(executable(-X), [-X * 2])
    for written, expected in (("either", "another tensor from call to call"), ("y", "may be the same tensor")):
        more = [*nodes, called("aten.add_.Tensor", (written, 1), "done")]
        with pytest.raises(FrontendError, match=expected):
            whence.load(program(graph(["x"], more, ["either"], **shapes)))
