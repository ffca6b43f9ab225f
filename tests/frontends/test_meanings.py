"""The net under the frontends: what an operator means is the same in all formats that have it.

`python -m meanings --by judged` asks the runtimes of the formats whether the tables are right.
"""

from __future__ import annotations

import pytest
from meanings.meaning import FORMATS
from meanings.running import FAMILIES, table, wrongs

ROWS = [
    pytest.param(
        family,
        meaning.name,
        form,
        id=f"{meaning.name}-{form}",
        marks=[pytest.mark.xfail(reason=meaning.wrong[form], strict=True)] if form in meaning.wrong else [],
    )
    for family in FAMILIES
    for meaning in table(family)
    for form in FORMATS
    if form in meaning.spellings
]


@pytest.mark.parametrize(("family", "name", "form"), ROWS)
def test_a_spelling_means_what_the_others_do(family: str, name: str, form: str):
    (meaning,) = (meaning for meaning in table(family) if meaning.name == name)
    assert wrongs(meaning, form) == []
