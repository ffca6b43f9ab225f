"""The table of errors in docs/elementary_functions.md is that of the formulas."""

from __future__ import annotations

import re
from pathlib import Path

from whence.passes.tir.elementary.formulas import FORMULAS

_PAGE = Path(__file__).parents[2] / "docs" / "elementary_functions.md"


def test_the_page_states_the_errors_of_all_formulas() -> None:
    stated = dict(re.findall(r"^\| `(math\.\w+)` \|.*\| ([\d.]+) \|$", _PAGE.read_text(), re.MULTILINE))
    assert stated == {kind.name: str(formula.error) for kind, formula in FORMULAS.items()}
