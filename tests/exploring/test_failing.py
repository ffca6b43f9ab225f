"""A compilation that fails: the pass that the user chose is named, and the command fails in the same way."""

from __future__ import annotations

import pytest

from whence.exploring.failing import FailureWatch, failure
from whence.exploring.request import Request
from whence.support.instrument import PassInfo


@pytest.mark.parametrize("nested", [(), (PassInfo("relay-canonicalize"), PassInfo("relay-fold-constant"))])
def test_the_pass_that_failed_is_that_of_the_pipeline_not_one_inside_of_it(nested: tuple[PassInfo, ...]):
    watch = FailureWatch()
    watch.infos += [PassInfo("relay-simplify-expr"), *nested]
    told = failure("relay.nn.conv2d: expected a, got b (layer 'zebra', m.onnx node 3)", watch, Request("m.onnx"))
    assert told["pass"] == "relay-simplify-expr"
    assert (told["op"], told["layer"]) == ("relay.nn.conv2d", "zebra")
    assert told["command"] == "whence explore m.onnx -o session.json"


def test_without_a_pass_the_compilation_is_told():
    told = failure("m.onnx: expected a model", FailureWatch(), Request("m.onnx", {"opt-level": ("1",)}))
    assert told == {
        "message": "m.onnx: expected a model",
        "op": "",
        "layer": "",
        "pass": "",
        "command": "whence explore m.onnx --opt-level=1 -o session.json",
    }
