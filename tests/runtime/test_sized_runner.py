"""What a program for all sizes keeps of the shapes that it met."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import onnx.parser
import pytest

import whence
from whence.runtime.values.tensors import Arguments
from whence.support.errors import FrontendError


def compiled(text: str) -> Any:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    return whence.compile(model, threads=1, tier="symbolic")


def test_of_shapes_not_met_for_longest_nothing_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("whence.runtime.program.known.KEPT", 2)
    executable = compiled("graph (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }")
    for rows in (1, 2, 1, 3, 1, 4):
        executable(np.ones((rows, 3), np.float32))
    known = cast("dict[tuple[tuple[int, ...], ...], object]", executable.runner._shapes._known)
    assert len(known) == 2
    assert ((4, 3),) in known
    assert executable(np.full((2, 3), 5, np.float32)).tolist() == [[5.0] * 3] * 2


@pytest.mark.parametrize(("mode", "least"), [("reflect", 3), ("edge", 1)])
def test_a_pad_takes_as_many_as_it_turns_over(mode: str, least: int):
    """Of n elements n - 1 can be reflected: the edge is none of them."""
    executable = compiled(f"""graph (float[n] x) => (float[m] y) <int64[2] p = {{2, 1}}>
        {{ [turn] y = Pad <mode = "{mode}"> (x, p) }}""")
    for n in (least, least + 1, 9):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(executable(x), np.pad(x, (2, 1), mode=cast(Any, mode)))
    with pytest.raises(FrontendError, match="layer 'turn'"):
        executable(np.ones(least - 1, np.float32))


def test_a_pad_of_open_widths_takes_as_many_as_it_turns_over():
    executable = compiled("""graph (float[n] x, float[k] y) => (float[k] z) <int64[1] none = {0}> {
        n = Shape (x) k = Shape (y) more = Sub (k, n) p = Concat <axis = 0> (none, more)
        [turn] z = Pad <mode = "reflect"> (x, p) }""")
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(executable(x, np.zeros(7, np.float32)), np.pad(x, (0, 3), mode="reflect"))
    np.testing.assert_array_equal(executable(x, np.zeros(2, np.float32)), x[:2])
    with pytest.raises(FrontendError, match="layer 'turn'"):
        executable(x, np.zeros(8, np.float32))


def test_a_size_has_the_bounds_that_it_was_given():
    text = "graph (float[n, 3] x) => (float[n, 3] y) { y = Relu (x) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}')
    executable = whence.compile(model, threads=1, tier="symbolic", input_shapes="x:[2<=n<=4,3]")
    for rows in (2, 4):
        assert np.shape(executable(np.ones((rows, 3), np.float32))) == (rows, 3)
    for rows in (1, 5):
        with pytest.raises(FrontendError, match=f"expected 2 <= n <= 4, got n = {rows}"):
            executable(np.ones((rows, 3), np.float32))


def test_arguments_are_ready_at_their_boundary_only():
    arguments = Arguments([((3,), np.dtype(np.float32))], [])
    memory = np.zeros(128, np.uint8)
    start = -memory.ctypes.data % 64
    for offset in (0, 4, 1, 2):
        array = memory[start + offset : start + offset + 12].view(np.float32)
        assert (arguments.ready([array]) is not None) == (offset % 4 == 0)


def test_memory_of_a_run_serves_the_next_of_its_size():
    executable = compiled("""graph (float[n, 64] x, float[64, 64] w) => (float[n] y) <int64[1] last = {1}> {
        a = Softmax (x) b = MatMul (a, w) y = ReduceMax <keepdims = 0> (b, last)
    }""")
    arrays = np.ones((300, 64), np.float32), np.ones((64, 64), np.float32)
    executable(*arrays)
    ((arena, _),) = executable.runner._arenas
    executable(*arrays)
    assert executable.runner._arenas[0][0] is arena
