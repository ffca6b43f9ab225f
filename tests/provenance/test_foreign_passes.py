"""Passes from elsewhere under the audit, which keep no ledger."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from random_foreign_passes import RIGHT, TAMPERING, Foreign, NothingToDo, net_of, verdict
from xdsl.ir import Operation

from whence.passes.runner import run_passes
from whence.provenance.diagnostics import LocationError


@pytest.mark.parametrize("right", RIGHT, ids=lambda one: one.__name__)
def test_a_right_pass_is_accepted(right: Callable[..., list[Operation]]):
    runs = 0
    for seed in range(12):
        dice = random.Random(seed)
        try:
            run_passes(net_of(dice).module, [Foreign(right, None, dice)], audit=True)
        except NothingToDo:
            continue
        runs += 1
    assert runs > 2


@pytest.mark.parametrize("tamper", TAMPERING, ids=lambda one: one.__name__)
def test_a_pass_that_tampers_with_locations_is_refused(tamper: Callable[..., None]):
    runs = 0
    for seed in range(12):
        dice = random.Random(seed)
        net, one = net_of(dice), Foreign(dice.choice(RIGHT), tamper, dice)
        try:
            with pytest.raises(LocationError):
                run_passes(net.module, [one], audit=True)
        except NothingToDo:
            continue
        runs += 1
    assert runs > 1


def test_a_sample_of_random_passes():
    assert {seed: complaint for seed in range(60) if (complaint := verdict(seed)[1])} == {}
