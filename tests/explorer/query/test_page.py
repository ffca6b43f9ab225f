"""The page and Python answer queries alike: those of a table, and random ones about random documents."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from asked_queries import answers, answers_of_page
from random_queries import random_queries
from recorded_sessions import recorded
from small_session import small_session
from synthetic_sessions import session as synthetic

from whence.explorer.session.comparison import compare_sessions
from whence.explorer.session.document import Diff, Session
from whence.explorer.session.query.tables import Tables

Golden = Callable[[str, str], None]
_QUERIES = Path(__file__).with_name("queries.txt")
"""The table of queries about the small session; golden/answers.json has their answers."""


def _queries() -> list[str]:
    return [line for line in _QUERIES.read_text().splitlines() if line and not line.startswith("#")]


def test_python_answers_the_table(golden: Golden):
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in answers(small_session(), _queries()))
    golden("answers.json", f"[\n{rows}\n]\n")


def test_the_page_answers_the_table(tmp_path: Path):
    golden = json.loads((Path(__file__).parent / "golden" / "answers.json").read_text())
    for row, expected in zip(answers_of_page(small_session(), _queries(), tmp_path), golden, strict=True):
        assert row == expected


def _compared() -> Session:
    session, other = recorded("twins"), recorded("twins")
    for times in other.times:
        times.layers = [(row, 1.5 * spent, guess) for row, spent, guess in times.layers]
    other.layers.name[2] = "another name"
    session.comparison = compare_sessions(session, other)
    return session


def _random(seed: int) -> Session:
    """A document of random links, with stages that came of each other and lost marks."""
    session, dice = synthetic(60, 12, seed), random.Random(seed)
    layers = session.layers
    for row in dice.sample(range(12), 2):
        layers.kind[row] = "lost"
    for row in dice.sample(range(12), 3):
        layers.owner[row] = dice.choice([-1, dice.randrange(12)])
    layers.name[dice.randrange(12)] = 'Größe "ß" \U0001f600'
    for k in (2, 3, 4):
        # Each stage goes on from the one before it, with other ops.
        ops = list(range(60))
        words = [sorted(dice.sample(ops, 5)) for _ in range(4)]
        session.stages[k].before, session.stages[k].diff = k - 1, Diff(*words)
        session.stages[k].name = dice.choice(["tir-simplify", "tidy", "lowered"])
    return session


@pytest.mark.parametrize("name", ["twins", "int8", "transformer", "compared", *range(4)])
def test_random_queries_have_equal_answers(name: str | int, tmp_path: Path):
    session = _random(name) if isinstance(name, int) else _compared() if name == "compared" else recorded(name)
    queries = [*random_queries(Tables(session), 150, seed=len(session.stages))]
    expected = answers(session, queries)
    assert sum("error" not in row and bool(row["rows"]) for row in expected) > 30
    for here, there in zip(expected, answers_of_page(session, queries, tmp_path), strict=True):
        assert here == there
