"""A model's names reach no terminal as they are: what steers it is escaped, in answers, tables and errors."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import helper

import whence
from whence.explorer.report import some, table, tally
from whence.support.errors import FrontendError
from whence.support.names import shortened, shown

EVIL = "a\x1b[31m\nb\u202ec\x9b"
SAFE = r"a\x1b[31m\nb\u202ec\x9b"


def test_names_are_shown_without_control_characters():
    assert shown(EVIL) == SAFE
    assert shown("conv č 日本 \\x") == "conv č 日本 \\x"
    assert table([(EVIL, 1)], indent="") == f"{SAFE}  1"
    assert some([EVIL] * 8, 1) == f"{SAFE} and 7 more"
    assert tally([EVIL, EVIL]) == f"{SAFE} x2"


@pytest.mark.parametrize("limit", [5, 8, 9])
def test_of_a_long_text_both_ends_are_left(limit: int):
    text = "abcdefghijkl"
    start, end = shortened(text, limit).split("..")
    assert len(start) + 2 + len(end) == limit
    assert text.startswith(start)
    assert text.endswith(end)
    assert 0 <= len(start) - len(end) <= 1
    assert shortened(text[:limit], limit) == text[:limit]


def test_answers_and_errors():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) {y = Relu(x)}'
    )
    model.graph.node[0].name = EVIL
    compiled = whence.compile(model)
    for answer in (compiled.where(EVIL), compiled.why("fused_nn_relu")):
        assert SAFE in str(answer)
        assert not {"\x1b", "\x9b", "\u202e"} & set(str(answer))
    np.testing.assert_array_equal(compiled(-np.ones(4, np.float32)), np.zeros(4))
    model.graph.node[0].op_type = "Reshape"
    model.graph.node[0].input.append("x")
    with pytest.raises(FrontendError) as error:
        whence.compile(helper.make_model(model.graph, opset_imports=model.opset_import))(np.ones(4, np.float32))
    assert SAFE in str(error.value)
