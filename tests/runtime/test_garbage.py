"""What the garbage collector is told of objects that stay."""

from __future__ import annotations

import gc

from whence.support.garbage import keep_all


def test_what_is_kept_is_not_looked_through_when_it_was_young():
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    try:
        made: list[list[object]] = [[]]
        assert any(one is made for one in gc.get_objects(generation=0))
        keep_all()
        assert not any(one is made for one in gc.get_objects(generation=0))
        assert any(one is made for one in gc.get_objects(generation=2))
    finally:
        if frozen:
            gc.freeze()


def test_frozen_objects_stay_frozen():
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        keep_all()
        assert gc.get_freeze_count() == before > 0
    finally:
        if not frozen:
            gc.unfreeze()
