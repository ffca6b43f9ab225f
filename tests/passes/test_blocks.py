"""Blocks of channels, and zeros that fill the last one."""

from __future__ import annotations

import pytest

from whence.passes.relay.blocking import channel_block, empty_channels, summed_block


@pytest.mark.parametrize(
    ("extent", "lanes", "masks", "block", "more"),
    [
        *((48, 16, True, 16, 0), (24, 16, True, 24, 0), (24, 8, False, 8, 0), (104, 16, True, 52, 8)),
        *((104, 8, False, 8, 0), (1000, 16, True, 40, 8), (58, 16, True, 58, 6), (58, 8, False, 29, 6)),
        *((4, 16, True, 4, 0), (17, 16, True, 17, 0), (257, 16, True, 1, 15), (131, 8, False, 1, 13)),
        *((7, 8, True, 7, 0), (7, 8, False, 7, 1), (20, 8, False, 20, 0), (13, 8, False, 13, 3), (97, 8, False, 1, 15)),
    ],
)
def test_blocks_fill_vectors(extent: int, lanes: int, masks: bool, block: int, more: int) -> None:
    """Where none does, channels of zeros fill them if these are few, or save vectors: 7 lanes are 3 without masks."""
    assert channel_block(extent, 16, lanes, masks) == block
    assert empty_channels(extent, 16, lanes, masks) == more


@pytest.mark.parametrize(
    ("extent", "lanes", "block", "more"),
    [
        *((64, 8, 16, 0), (37, 16, 19, 1), (617, 16, 16, 7), (27, 8, 27, 0), (3, 8, 3, 0), (104, 16, 13, 0)),
        *((40, 8, 8, 0), (449, 8, 16, 15), (73, 8, 15, 2)),
    ],
)
def test_blocks_of_data(extent: int, lanes: int, block: int, more: int) -> None:
    """Channels of an input are in whole vectors if that adds few, else in any block: they are not the lanes."""
    assert summed_block(extent, 16, lanes) == (block, more)
