"""Memory of outputs goes around: a run writes what nobody holds any more, and never what somebody does."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import onnx.parser

import whence
from whence.runtime.program.returned import ReturnedMemory
from whence.runtime.values.tensors import LARGE

SIDE = 256
TWICE = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
graph (float[{SIDE}, {SIDE}] x) => (float[{SIDE}, {SIDE}] y) {{ y = Add (x, x) }}""")
GROWING = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
graph (float[n, 1024] past, float[1, 1024] x) => (float[m, 1024] y) { y = Concat <axis = 0> (past, x) }""")


def place(array: Any) -> int:
    return cast(int, array.ctypes.data)


def test_a_run_writes_what_was_dropped_and_nothing_that_is_held():
    executable = whence.compile(TWICE)
    x = np.random.default_rng(0).standard_normal((SIDE, SIDE)).astype(np.float32)
    held = executable(x)
    other = executable(2 * x)
    assert place(held) != place(other)
    before = place(other)
    view = cast(Any, other)[3:, 5]
    del other
    third = executable(3 * x)
    assert place(third) not in (before, place(held))
    # The view is the last that knows of its array.
    np.testing.assert_array_equal(view, 4 * x[3:, 5])
    del view
    gc.collect()
    assert place(executable(x)) == before
    np.testing.assert_array_equal(cast(Any, held), 2 * x)
    np.testing.assert_array_equal(cast(Any, third), 6 * x)


def test_what_grows_at_every_step_takes_the_memory_of_the_step_before_the_last():
    executable = whence.compile(GROWING)
    row = np.ones((1, 1024), np.float32)
    past: Any = np.ones((96, 1024), np.float32)
    places: set[int] = set()
    for step in range(8):
        past = executable(past, step * row)
        places.add(place(past))
        assert past.shape == (97 + step, 1024)
        assert (past[96:, 7] == np.arange(step + 1)).all()
    assert len(places) == 2


def test_no_more_waits_than_the_largest_run_returned():
    memory = ReturnedMemory()
    memory.expect(2 * LARGE)
    blocks: list[Any] = [memory.take(LARGE)[0] for _ in range(5)]
    places = {place(block) for block in blocks}
    assert len(places) == 5
    assert all(at % 64 == 0 for at in places)
    blocks.clear()
    again = [memory.take(LARGE)[0] for _ in range(2)]
    assert all(place(block) in places for block in again)
    assert memory.waiting == 0
    del again
    assert 2 * LARGE <= memory.waiting <= 3 * LARGE
    # Far larger blocks than what is asked for stay.
    assert place(memory.take(LARGE // 8)[0]) not in places


def test_any_free_block_serves_the_next_run_wherever_it_waits():
    memory = ReturnedMemory()
    memory.expect(8 * LARGE)
    small, large = memory.take(LARGE)[0], memory.take(4 * LARGE)[0]
    places = place(small), place(large)
    del small, large
    assert memory.waiting == 5 * LARGE
    again = memory.take(4 * LARGE)[0], memory.take(LARGE)[0]
    assert (place(again[1]), place(again[0])) == places
    assert memory.waiting == 0


def test_threads_never_share_a_block():
    memory = ReturnedMemory()
    memory.expect(8 * LARGE)

    def work(seed: int) -> bool:
        right = True
        for step in range(200):
            block = memory.take(LARGE)[0]
            block[:] = (seed + step) % 251
            right &= bool((block == (seed + step) % 251).all())
        return right

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(0, 4000, 1000)))
