"""Facts that programs state beside operators: guards, numbers, sizes that values are, and results of other kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from exported_programs import PROGRAMS, agree, calls
from written_programs import LONG, Number, graph, node, program

import whence
from whence.executables.sized import SizedExecutable
from whence.executables.stateful import Stateful, StatefulSizedExecutable
from whence.support.errors import FrontendError, FrontendWarning


@pytest.mark.parametrize("name", ["answers", "counted", "guarded"])
def test_programs_give_what_torch_gives(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2")
    for inputs, expected in calls(name):
        agree(executable(*inputs[: len(executable.inputs)]), expected)


def test_results_keep_the_names_of_dictionaries_and_fields():
    """None and texts are no results of a compiled program, and inputs that never change no inputs."""
    executable = whence.compile(PROGRAMS / "answers.pt2")
    names = ["answer.total", "answer.rows", "own", "same", "twice", "constant.0", "constant.1"]
    assert [spec.name for spec in executable.outputs] == names
    assert [spec.name for spec in executable.inputs] == ["x", "factor"]
    assert isinstance(executable, Stateful)
    assert executable.state.keys() == {"seen"}


def test_sizes_that_values_are_keep_to_what_the_program_asserts():
    executable = whence.compile(PROGRAMS / "counted.pt2")
    x = np.ones((6, 4), np.float32)
    with pytest.raises(FrontendError, match=r"what the program asserts, got .*u0 <= 5"):
        executable(x, np.array(6))


def test_guards_are_checked_at_calls_in_the_names_of_inputs():
    executable = whence.compile(PROGRAMS / "guarded.pt2")
    assert isinstance(executable, SizedExecutable)
    x, y, z = np.ones((5, 2), np.float32), np.ones((4, 2), np.float32), np.ones(2, np.float32)
    with pytest.raises(FrontendError, match=r"x_0 = 5 .*pair_0_0 = 4 .*layer 'guard x_0 <= pair_0_0'"):
        executable(x, y, z)
    with pytest.raises(FrontendError, match="expected x_0 <= pair_0_0, got 5 and 4"):
        whence.compile(PROGRAMS / "guarded.pt2", input_shapes={"x": [5, 2], "pair_0": [4, 2]})


def doubled(*shape: int | str, guards: tuple[str, ...] = (), **document: Any) -> bytes:
    """A program that doubles its input."""
    nodes = [node("aten.mul.Tensor", {"self": "x", "other": 2}, ["y"])]
    return program(graph(["x"], nodes, ["y"], x=[*shape], y=[*shape]), guards_code=[*guards], **document)


S, T = ("Symbol('s0', positive=True, integer=True)", "Symbol('s1', positive=True, integer=True)")

GUARDS: list[tuple[str, Callable[[int, int], bool]]] = [
    ("L['x'].size()[0] % 2 == 0", lambda a, b: a % 2 == 0),
    ("L['x'].size()[0] != 3 and not (L['x'].size()[1] > 4)", lambda a, b: a != 3 and not b > 4),
    ("2 <= L['x'].size()[0] <= 3 or L['x'].size()[1] == 1", lambda a, b: 2 <= a <= 3 or b == 1),
    ("(L['x'].size()[0] // 2) * 2 + 1 < L['x'].size()[1]**2", lambda a, b: (a // 2) * 2 + 1 < b**2),
    ("max(L['x'].size()[0], 3) == Max(3, L['x'].size()[1])", lambda a, b: max(a, 3) == max(3, b)),
    ("torch.sym_sum([L['x'].size()[0], -L['x'].size()[1], 4]) >= 4", lambda a, b: a - b + 4 >= 4),
]


@pytest.mark.parametrize(("text", "holds"), GUARDS)
@pytest.mark.parametrize("tier", ["symbolic", "static"])
def test_guards_are_as_python_has_them(text: str, holds: Callable[[int, int], bool], tier: Any):
    """In one program for all sizes, and in one for each."""
    executable = whence.compile(doubled(S, T, guards=(text,)), tier=tier)
    results: dict[tuple[int, int], bool] = {}
    for a, b in [(1, 1), (2, 2), (2, 5), (3, 1), (4, 3), (5, 2)]:
        x = np.ones((a, b), np.float32)
        try:
            agree(executable(x), [x * 2])
            results[a, b] = True
        except FrontendError as error:
            results[a, b] = "guard " not in str(error)
    assert results == {(a, b): holds(a, b) for a, b in results}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') == 0",
        "L['x'].__class__ == 1",
        "(lambda: 1)() == 1",
        "9**9**9 == L['x'].size()[0]",
        "(" * 200 + "L['x'].size()[0]" + ")" * 200 + " == 1",
        "-" * 5000 + "1 == L['x'].size()[0]",
        "L['x'].size()[0] == 1 if True else 2",
        "L['x'].stride()[0] == 1",
        "",
    ],
)
def test_guards_of_another_form_are_named_and_not_run(text: str):
    with pytest.warns(FrontendWarning, match="expected guards of sizes, got .*which is not checked"):
        whence.load(doubled(3, guards=(text,)))


@pytest.mark.parametrize("text", ["L['x'].size()[9] == 1", "L['x'].size()[0] // 0 == 1", "L['x'].size()[0] % -2 == 1"])
def test_guards_that_make_no_sense_are_errors(text: str):
    with pytest.raises(FrontendError, match="guard"):
        whence.load(doubled(3, guards=(text,)))


def test_ranges_hold_in_every_kind_of_program():
    ranges = {"s0": {"min_val": 3, "max_val": 6}}
    for tier in ("auto", "static"):
        executable = whence.compile(doubled(S, 2, range_constraints=ranges), tier=tier)
        agree(executable(np.ones((6, 2), np.float32)), [np.full((6, 2), 2, np.float32)])
        for rows in (2, 7):
            with pytest.raises(FrontendError, match="x_0"):
                executable(np.ones((rows, 2), np.float32))


def test_guards_that_hold_for_all_sizes_leave_nothing():
    executable = whence.compile(doubled(S, 2, guards=("L['x'].size()[1] == 2", "0 <= L['x'].size()[0]")))
    assert isinstance(executable, SizedExecutable)
    assert "required_sizes" not in str(executable.artifact.snapshots[0].module)


def test_numbers_are_inputs():
    nodes = [
        node("aten.mul.Tensor", {"self": "x", "other": Number("n")}, ["y"]),
        node("_operator.mul", {"a": Number("f", "float"), "b": 0.5}, [Number("half", "float")]),
        node("aten.add.Tensor", {"self": "y", "other": Number("half", "float")}, ["z"]),
    ]
    inputs = ["x", Number("n"), Number("f", "float")]
    executable = whence.compile(program(graph(inputs, nodes, ["z", Number("half", "float")], x=[3], y=[3], z=[3])))
    assert [str(spec) for spec in executable.inputs] == ["float32[3] 'x'", "int64[] 'n'", "float64[] 'f'"]
    x = np.arange(3, dtype=np.float32)
    for n, f in ((2, 1.0), (-3, 0.25)):
        agree(executable(x, np.array(n), np.array(f)), [x * np.float32(n) + np.float32(f / 2), np.float64(f / 2)])


def test_a_number_that_is_a_size_has_to_be_that_size():
    nodes = [node("aten.mul.Tensor", {"self": "x", "other": Number("n")}, ["y"])]
    written = graph(["x", Number("n")], nodes, ["y"], x=[S], y=[S])
    written["sym_int_values"] = {"n": {"as_expr": {"expr_str": S}}}
    executable = whence.compile(program(written))
    x = np.ones(3, np.float32)
    agree(executable(x, np.array(3)), [x * 3])
    with pytest.raises(FrontendError, match="guard n == x_0"):
        executable(x, np.array(4))


def test_a_program_for_all_sizes_may_keep_something():
    nodes = [
        node("aten.sum.default", {"self": "x"}, ["s"]),
        node("aten.add_.Tensor", {"self": "total", "other": "s"}, ["t"]),
        node("aten.add.Tensor", {"self": "x", "other": "t"}, ["y"]),
    ]
    specs = [
        {"buffer": {"arg": {"name": "total"}, "buffer_name": "total", "persistent": True}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
    ]
    written = graph(["total", "x"], nodes, ["y"], x=[S], y=[S], s=[], total=[], t=[])
    executable = whence.compile(program(written, {"total": np.zeros((), np.float32)}, input_specs=specs))
    assert isinstance(executable, StatefulSizedExecutable)
    agree(executable(np.ones(3, np.float32)), [np.full(3, 4, np.float32)])
    agree(executable(np.ones(2, np.float32)), [np.full(2, 6, np.float32)])
    assert executable.state["total"] == 5
    executable.reset()
    agree(executable(np.ones(2, np.float32)), [np.full(2, 3, np.float32)])
    assert list(executable.sizes_of({"x": np.ones(5, np.float32)}).values()) == [5]
    assert executable.profile({"x": np.ones(5, np.float32)}, 2).shape == (2, len(executable.kernels))


def test_bounds_of_a_number_are_checked():
    nodes = [
        node("aten.item.default", {"self": "n"}, [Number("k")]),
        node("aten.sym_constrain_range_for_size.default", {"size": Number("k"), "min": 2, "max": 4}, []),
        node("aten.ones.default", {"size": {"as_sym_ints": [{"as_name": "k"}]}}, ["y"]),
    ]
    executable = whence.compile(program(graph(["n"], nodes, ["y"], n=(LONG, []), y=["Symbol('u0', integer=True)"])))
    agree(executable(np.array(3)), [np.ones(3, np.float32)])


def test_dims_of_programs_in_memory_keep_their_names():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x: Any, pair: Any) -> Any:
            return x.sum() + pair["y"].sum(0)

    batch = torch.export.Dim("batch", min=2, max=8)
    shapes = {"x": {0: batch}, "pair": {"y": {0: 2 * batch, 1: torch.export.Dim("width")}}}
    example = (torch.ones(3, 4), {"y": torch.ones(6, 5)})
    executable = whence.compile(torch.export.export(Net(), example, dynamic_shapes=shapes))
    assert [str(spec) for spec in executable.inputs] == ["float32[batch, 4] 'x'", "float32[2*batch, width] 'pair_y'"]
    with pytest.raises(FrontendError, match="batch <= 8"):
        executable(np.ones((9, 4), np.float32), np.ones((18, 5), np.float32))


def test_other_guards_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whence.load(doubled(3, guards=("L['x'].size()[0] == 3", "L['mode'] == 1")))


def test_a_module_is_told_how_to_become_a_program():
    torch: Any = pytest.importorskip("torch")
    with pytest.raises(FrontendError, match=r"got Linear; torch\.export\.export\(model\.eval\(\), inputs\) makes"):
        whence.compile(torch.nn.Linear(2, 2))
