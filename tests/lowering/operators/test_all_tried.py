"""No operator is left out: each is compiled in one of the test files, and its type rule is asked of other sizes."""

from __future__ import annotations

from random import Random

import pytest
from opened_rules import Case, all_cases, disagreement, signature_of

from whence.dialects.relay import OPERATORS
from whence.dialects.relay.call_tir import CallTirOp
from whence.dialects.relay.match_cast import MatchCastOp
from whence.lowering.relay_to_te.lower import TABLE


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return all_cases()


def test_every_operator_with_a_lowering_is_tried(cases: list[Case]):
    # These have tests of their own: tests/relay/test_call_tir.py and test_match_cast.py.
    assert {operator for operator in OPERATORS if operator in TABLE} - {CallTirOp, MatchCastOp} <= {
        case.kind for case in cases
    }


def test_rules_say_of_symbols_and_open_extents_what_they_say_of_numbers(cases: list[Case]):
    dice = Random(0)
    assert {disagreement(case.kind, signature_of(case), dice) for case in cases} == {""}
