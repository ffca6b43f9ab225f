"""Lists of integers, as properties hold them."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerType


@lru_cache(maxsize=1 << 12)
def _unpacked(data: bytes, width: int) -> tuple[int, ...]:
    step = width // 8
    return tuple(int.from_bytes(data[at : at + step], "little", signed=True) for at in range(0, len(data), step))


def numbers_of(list_: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The numbers; equal lists are unpacked once, for schedules and lowerings ask for extents all the time."""
    return _unpacked(list_.data.data, list_.elt_type.width.data)
