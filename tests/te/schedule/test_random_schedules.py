"""Random primitives on random graphs: a schedule changes how a function is computed, never what.

`python tests/support/random_schedules.py` runs 2,000 cases of the same.
"""

from __future__ import annotations

import pytest
from random_schedules import Tally, check

CASES = 18
PRIMITIVES = 8


@pytest.mark.parametrize("seed", range(CASES))
def test_a_schedule_changes_no_result(seed: int) -> None:
    tally = Tally()
    check(seed, tally, PRIMITIVES)
    assert tally.cases == 1
