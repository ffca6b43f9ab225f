"""Random graphs of open sizes under random schedules: compiled once, right at every size."""

from __future__ import annotations

import pytest
from random_open_sizes import check

CASES = 6


@pytest.mark.parametrize("seed", range(CASES))
def test_one_code_is_right_at_every_size(seed: int) -> None:
    check(seed)
