"""One program for all sizes from relay: text, builders, `?` and names that a caller gives; against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import whence
from whence import relay, te
from whence.dialects.relay.size_ranges import main_of, ranges_of, required_of
from whence.executables.sized import SizedExecutable
from whence.executables.virtual_machine import VirtualExecutable
from whence.support.errors import FrontendError
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.view import view
from whence.syntax.text import astext, fromtext

RNG = np.random.default_rng(8)
SHAPES = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, ?, 4), float32], %w: Tensor[(6, 4), float32]) {
  %0 = shape_of(%x, dtype="int64");
  %1 = take(%0, 0i64, axis=0);
  %2 = take(%0, 1i64, axis=0);
  %3 = (expand_dims(%1 * %2, axis=0), expand_dims(4i64, axis=0));
  %4 = nn.dense(dyn.reshape(%x, concatenate(%3, axis=0)), %w, units=6);
  %5 = (expand_dims(%1, axis=0), expand_dims(%2, axis=0), expand_dims(6i64, axis=0));
  dyn.reshape(%4, concatenate(%5, axis=0))
}
"""


def floats(*shape: int) -> NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.relay"
    path.write_text(SHAPES)
    return path


@pytest.mark.parametrize(
    ("shapes", "named"), [(None, "x_0, x_1"), ("x:[b,s,4] s<=64", "b, s"), ({"x": (2, 3, 4)}, "2, 3")]
)
def test_what_shapes_decide_is_decided_for_every_size(model: Path, shapes: Any, named: str):
    executable = whence.compile(model, input_shapes=shapes, audit=True)
    assert isinstance(executable, SizedExecutable) == (named != "2, 3")
    assert str(executable.inputs[0]) == f"float32[{named}, 4] 'x'"
    assert str(executable.outputs[0]) == f"float32[{named}, 6] 'output0'"
    for batch, length in ((2, 3), (0, 4), (1, 7)) if named != "2, 3" else ((2, 3),):
        x, w = floats(batch, length, 4), floats(6, 4)
        np.testing.assert_allclose(executable(x, w), x @ w.T, rtol=1e-4, atol=1e-5)
    if "s" in named:
        with pytest.raises(FrontendError, match="expected 0 <= s <= 64, got s = 65"):
            executable(floats(1, 65, 4), floats(6, 4))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ("y:[1]", "weren't found in the graph: y"),
        (
            "x:[1,2]",
            r"agrees with the module's \[\?, \?, 4\], got \[1, 2\] \(shapes.relay:2:11\)",
        ),
        ("w:[n,4]", r"input 'w': expected a shape that agrees with the module's \[6, 4\], got \[n, 4\]"),
    ],
)
def test_shapes_that_contradict_the_module(model: Path, shapes: str, message: str):
    with pytest.raises(FrontendError, match=message):
        whence.load(model, shapes)


def test_variables_of_te_and_texts_are_sizes():
    n = te.size_var("n")
    x, y = relay.var("x", shape=(n, 4)), relay.var("y", shape=("2*n + 1", 4))
    module = relay.IRModule.from_expr(relay.Function([x, y], relay.concatenate([x, y], axis=0)))
    assert "Tensor[(n, 4), float32]" in str(module)
    assert "Tensor[(3*n + 1, 4), float32]" in str(module)
    executable = whence.compile(module, tier="symbolic")
    for length in (0, 1, 9):
        given = floats(length, 4), floats(2 * length + 1, 4)
        np.testing.assert_array_equal(executable(*given), np.concatenate(given))
    with pytest.raises(FrontendError, match="expected 2\\*n \\+ 1 = 3 for n = 1, got 2"):
        executable(floats(1, 4), floats(2, 4))
    with pytest.raises(FrontendError, match="TensorType: expected the end"):
        relay.var("x", shape=("n n",))


def test_what_nobody_knows_to_be_equal_runs_on_the_machine():
    x, y = (relay.var(name, shape=(relay.Any(), 4)) for name in "xy")
    module = relay.IRModule.from_expr(relay.Function([x, y], x + y))
    executable = whence.compile(module)
    assert isinstance(executable, VirtualExecutable)
    a, b = floats(3, 4), floats(1, 4)
    np.testing.assert_allclose(executable(a, b), a + b)
    with pytest.raises(FrontendError, match=r'"symbolic".* whether x_0 == y_0 depends'):
        whence.compile(module, tier="symbolic")
    assert isinstance(whence.compile(module, input_shapes="x:[n,4] y:[n,4]"), SizedExecutable)


def test_names_are_read_back_from_text():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(batch, past + 1, 8), float32], sizes="1<=batch past<=64", required_sizes=[past - 2])
        -> (Tensor[(2*batch, ((past - 1) floordiv 2) + 1, 8), float32], Tensor[(min(batch, 9),), int64]) {
      %0 = strided_slice(%x, begin=[0, 0, 0], end=[batch, past, 8], strides=[1, 2, 1]);
      (concatenate((%0, %0)), arange(stop=[min(batch, 9)], dtype="int64"))
    }"""
    program = fromtext(text)
    module = relay.IRModule.of(program).module
    main = main_of(module)
    assert ranges_of(main) == {"batch": (1, None), "past": (0, 64)}
    assert [str(size) for size, _ in required_of(main)] == ["past - 2"]
    shown = view(module)
    printed = astext(shown)
    assert structural_equal(fromtext(printed), shown, spans=True)
    assert str(relay.IRModule.of(fromtext(printed)).module) == str(module)
    for wrong in ("(n -,)", "(n n,)", "(- 3,)", f"({'(' * 300}n{')' * 300},)"):
        with pytest.raises(FrontendError, match=r"in size|extent of an axis|nests less than"):
            fromtext(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{wrong}, float32]) {{ %x }}')


def test_a_branch_on_named_sizes_runs_on_the_machine(tmp_path: Path):
    path = tmp_path / "branch.relay"
    path.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 8), float32], %c: bool) { if (%c) { nn.relu(%x) } else { %x } }'
    )
    executable = whence.compile(path, input_shapes="x:[k,8]")
    x = floats(3, 8)
    np.testing.assert_array_equal(executable(x, np.array(True)), np.maximum(x, 0))


def test_lines_that_take_no_such_sizes_are_named():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 2, h, 8), float32]) {
      %0 = nn.relu(%x);
      %1 = nn.max_pool2d(%0, pool_size=[3, 3]);
      nn.relu(%1)
    }"""
    with pytest.raises(FrontendError, match=r"h - 2 of at least 0 for h = 1 .*, got -1 \(.*from_string"):
        whence.compile(relay.IRModule.of(fromtext(text)).module)(floats(1, 2, 1, 8))


PARTS = """#[version = "0.0.5"]
def @main(%x: Tensor[(2*n, m), float32]) {
  %0 = split(%x, indices_or_sections=2, axis=0);
  %1 = split(%x, indices_or_sections=[1, 3], axis=1);
  %2 = reshape(%x, newshape=[-4, -1, n, -2]);
  (%0.1, %1.0, %1.1, %1.2, %2,
   strided_slice(%x, begin=[-1, -2], end=[-9223372036854775808, 0], strides=[-1, -2]),
   strided_slice(%x, begin=[4, 0], end=[-3, 9], strides=[-3, 1]))
}"""


def test_parts_of_open_axes_and_slices_that_go_backwards():
    executable = whence.compile(relay.IRModule.of(fromtext(PARTS)).module, tier="symbolic")
    assert isinstance(executable, SizedExecutable)
    for n, m in ((1, 3), (2, 4), (4, 17)):
        x = floats(2 * n, m)
        wanted = (x[n:], x[:, :1], x[:, 1:3], x[:, 3:], x.reshape(2, n, m), x[::-1, -2:0:-2], x[4:-3:-3, 0:9])
        for found, expected in zip(executable(x), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(FrontendError, match=r"m - 3 of at least 0 for m = 2"):
        executable(floats(2, 2))
    with pytest.raises(FrontendError, match=r"n - 1 of at least 0 for n = 0"):
        executable(floats(0, 4))
