"""Random Relay programs hold what `random_relay_checks` asks of them; `make fuzz-relay` runs thousands more."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from random_relay_checks import LEVELS, PASSES, Checker, Failure, difference, printed
from random_relay_language import OPERATORS
from random_relay_program import random_program
from random_relay_shrink import shrunk, write

from whence.dialects.relay.elementwise import ClipOp
from whence.runtime.interpreting.flow import Adt
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.nodes import post_order

SIZE = 4
PROGRAMS = 45
CHUNKS = 30
PARTS = 8
COMPILED = 30
"""One program in so many."""


def test_programs_are_of_many_operators_and_the_same_for_a_seed():
    assert len(OPERATORS) >= 150
    first, second = (random_program(7, SIZE) for _ in range(2))
    assert printed(elaborate(first.program)) == printed(elaborate(second.program))
    assert all((a == b).all() for a, b in zip(first.inputs, second.inputs, strict=True))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_programs(chunk: int):
    with warnings.catch_warnings():
        # Operators that no list of the mixed precision names.
        warnings.simplefilter("ignore", UserWarning)
        for seed in range(chunk, PROGRAMS, CHUNKS):
            sample = random_program(seed, SIZE)
            # A part of what `make fuzz-relay` asks of each.
            names, level = tuple(PASSES)[seed % PARTS :: PARTS], seed % len(LEVELS)
            checker = Checker(sample.program, sample.inputs)
            levels = (3,) if seed % COMPILED == 0 else ()
            checker.check(levels, names, (level,), spans=seed % PARTS == 0, texts=seed % 3 == 0)


def test_differences_are_seen():
    wanted = (np.zeros(3, np.float32), Adt(0, "Cons", (np.int32(2), Adt(1, "Nil", ()))))
    assert not difference(wanted, (np.full(3, 1e-4, np.float32), wanted[1]), 1e-3)
    assert "off by up to 0.01" in difference(wanted, (np.full(3, 0.01, np.float32), wanted[1]), 1e-3)
    assert "at .1: Nil, wanted Cons" in difference(wanted, (wanted[0], Adt(1, "Nil", ())), 1e-3)
    assert "float64" in difference(wanted, (np.zeros(3), wanted[1]), 1e-3)
    assert "2 parts" not in difference(wanted, wanted, 1e-3)


def test_a_failure_is_made_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Say that no program may clip anything, and see what is left of one that does."""

    def refuse(self: Checker, name: str, _: Sequence[str]) -> None:
        if any(isinstance(op, ClipOp) for op in self.module.walk()):
            raise Failure(name, "clip", "one is there", self.module)

    monkeypatch.setattr(Checker, "_passes", refuse)
    seed = next(seed for seed in range(100) if "clip" in random_program(seed, SIZE).operators and _fails(seed))
    sample = random_program(seed, SIZE)
    short, failure = shrunk(sample.program, sample.inputs, Failure("partition", "clip", ""), ())
    assert sum(1 for _ in post_order(short.program.functions["main"].body)) <= 3
    path = write(tmp_path, "short", short, failure, seed)
    assert "relay.clip" in path.read_text()
    assert "clip(" in path.with_suffix(".relay").read_text()


def _fails(seed: int) -> bool:
    sample = random_program(seed, SIZE)
    try:
        Checker(sample.program, sample.inputs, "partition").check()
    except Failure:
        return True
    return False
