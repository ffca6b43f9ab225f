"""The filecheck tests of the relay dialect leave no operator out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.dialects.relay import OPERATORS
from whence.dialects.relay.operator import Operator

_OPS = Path(__file__).parent.parent / "filecheck" / "dialects" / "relay" / "ops.mlir"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_every_operator_is_round_tripped_custom_and_generic(operator: type[Operator]):
    text = _OPS.read_text()
    name = re.escape(operator.name)
    assert re.search(rf"// CHECK-NEXT: .* = {name}( |$)", text, re.MULTILINE)
    assert re.search(rf'// GENERIC: "{name}"', text)
