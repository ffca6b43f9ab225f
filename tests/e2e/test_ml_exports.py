"""Small estimators as their exporters write them (tests/exports/ml/make.py); `tests/ml_exports.py` tries many more."""

from __future__ import annotations

from pathlib import Path

import pytest
from exported_estimators import KEPT, check

FILES = sorted(KEPT.glob("*.onnx"))


@pytest.mark.usefixtures("no_programs_beside_calls")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore")
def test_exported_estimators(file: Path):
    check(file)
