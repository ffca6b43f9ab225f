"""The bound on tensor sizes: tensors larger than the memory are refused before anything is allocated."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from math import prod


@cache
def memory_limit() -> int:
    """Return the physical memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def excess(shape: Sequence[int], itemsize: int) -> str | None:
    """Return a description, for errors, of a tensor that cannot fit into memory; None when it can fit.

    An empty tensor fits if the product of its other extents, in bytes, is an address.
    """
    size = prod(extent or 1 for extent in shape) * itemsize
    if size <= (memory_limit() if all(shape) else sys.maxsize):
        return None
    return f"shape {list(shape)} of {size / 2**30:.4g} GiB"


def expectation() -> str:
    """Return the expected size, for error texts."""
    return f"a tensor that fits the memory of {memory_limit() / 2**30:.4g} GiB"
