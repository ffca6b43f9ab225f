"""Memory of large outputs: used again once no array is left in it, and never before."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.runtime.tensors import Arguments

KIND = ((1 << 20,), np.dtype(np.float32))


def test_memory_that_nobody_holds_is_used_again():
    arguments = Arguments([], [KIND])
    arrays, (first,) = arguments.outputs()
    del arrays
    _, (second,) = arguments.outputs()
    assert second == first


def test_outputs_that_are_held_keep_their_numbers():
    arguments = Arguments([], [KIND])
    held: list[Any] = []
    places: list[int] = []
    for number in range(4):
        (array,), (place,) = arguments.outputs()
        array[...] = number
        # A view, too, is an array in it.
        held.append(array[5:].reshape(1, -1) if number % 2 else array)
        places.append(place)
        del array
    assert len(set(places)) == len(places)
    for number, array in enumerate(held):
        assert (array == number).all()


def test_small_outputs_are_fresh():
    arguments = Arguments([], [((16,), np.dtype(np.float32))])
    (array,), _ = arguments.outputs()
    assert array.base is not None
    assert array.base.nbytes < 1 << 10
