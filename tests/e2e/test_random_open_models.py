"""Random programs of open sizes, compiled once; `make fuzz-sizes` runs 1,000."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fenced_pages import Pages
from random_open_models import check, check_model, difference

SUPPORT = Path(__file__).parent.parent / "support"


@pytest.mark.parametrize("seed", range(3))
def test_programs_are_right_at_every_size(seed: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_model(seed, 3)


def test_no_access_leaves_the_pages_of_its_buffer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert {"fenced", "onnx"} <= check(11)


def test_an_access_beside_a_page_ends_the_process():
    code = "from fenced_pages import *; import ctypes; a = Pages('{}').empty((16,), 'f4'); ctypes.string_at({}, 4)"
    for side, place in (("end", "a.ctypes.data + 64"), ("begin", "a.ctypes.data - 4"), ("end", "a.ctypes.data + 60")):
        ended = subprocess.run([sys.executable, "-c", code.format(side, place)], cwd=SUPPORT, check=False)
        assert (ended.returncode == 0) == (place == "a.ctypes.data + 60")
    pages = Pages("end")
    array = pages.empty((5,), np.uint8)
    ctypes.memset(array.ctypes.data - 1, 1, 1)
    with pytest.raises(AssertionError, match="written beside a buffer, at its begin"):
        pages.check()


def test_differences_are_seen():
    assert not difference(np.zeros(3, np.float32), np.zeros(3, np.float32))
    assert difference(np.zeros(3, np.float32), np.array([0, 1, 0], np.float32))
    assert difference(np.zeros(3, np.float32), np.zeros(2, np.float32))
