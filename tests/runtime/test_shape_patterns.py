"""What shapes have in common, and which others are like them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.runtime.interpreting.flow import Known
from whence.runtime.interpreting.shape_patterns import Pattern, kind_of


def test_extents_that_keep_their_distance_are_one_unknown():
    pattern = Pattern.of([(5, 3, 7), (6, 4, 7), (9, 7, 7)])
    assert pattern.terms == ((0, 2), (0, 0), (-1, 7))
    assert pattern.unknowns == 1


def test_the_least_of_them_is_the_unknown_wherever_it_stands():
    """So that what is added is never negative, and the unknown is a size."""
    assert Pattern.of([(3, 5), (4, 6)]).terms == ((0, 0), (0, 2))
    assert Pattern.of([(5, 3, 4), (6, 4, 5)]).terms == ((0, 2), (0, 0), (0, 1))


def test_an_extent_below_what_is_added_does_not_fit():
    pattern = Pattern.of([(3, 1), (4, 2)])
    assert pattern.terms == ((0, 2), (0, 0))
    assert pattern.fits((2, 0))
    assert pattern.fits((7, 5))
    assert not pattern.fits((1, -1))
    assert not pattern.fits((7, 6))
    alone = Pattern(((0, 2),))
    assert alone.fits((2,))
    assert not alone.fits((1,))


def test_what_stays_has_to_stay():
    pattern = Pattern.of([(3, 8), (4, 8)])
    assert pattern.fits((9, 8))
    assert not pattern.fits((9, 7))


def test_values_of_other_dtypes_and_other_numbers_are_of_other_kinds():
    def kind(value: Any) -> Any:
        return kind_of(value, [])

    assert kind(np.zeros((2, 3), np.float32)) == kind(np.zeros((4, 5), np.float32))
    assert kind(np.zeros((2, 3), np.float32)) != kind(np.zeros((2, 3), np.int32))
    assert kind(Known(np.array([2, -1]))) == kind(Known(np.array([7, -1])))
    assert kind(Known(np.array([2, -1]))) != kind(Known(np.array([2, -2])))
