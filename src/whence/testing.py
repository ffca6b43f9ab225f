"""What tests compare arrays with, as TVM has it at `tvm.testing`."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Raise AssertionError unless two arrays have one shape and elements that are close."""
    one, other = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_equal(one.shape, other.shape)
    np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, verbose=True)
