"""The probe of a machine."""

from __future__ import annotations

import pytest

from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.cost import Rates
from whence.tuning.local_pool import LocalPool
from whence.tuning.probe import probe


@pytest.fixture(scope="module")
def rates() -> Rates:
    with LocalPool() as pool:
        return probe(pool, Target.native(), 2, pool.machines()[0].facts)


def test_a_probe_measures_what_a_core_does(rates: Rates):
    # Between the slowest and the fastest that any core is: a tenth and ten times a common one's.
    common = Rates()
    for name in ("products", "l2", "l3", "memory", "shared_memory"):
        assert common.__dict__[name] / 100 < getattr(rates, name) < common.__dict__[name] * 100, name
    assert rates.threads == 2
    assert rates.fork >= 0


def test_what_fails_has_the_common_rate():
    class Failing:
        def measure(self, jobs: object) -> list[object]:
            return []

    facts = LocalPool().machines()[0].facts
    assert probe(Failing(), Target.native(), 1, facts) == Rates.of(Target.native().hardware, 1)  # pyright: ignore[reportArgumentType]
