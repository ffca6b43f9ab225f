"""The one form of an error text."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, NameLoc, NoneAttr, StringAttr, TensorType, f32
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay.transform import ReshapeOp
from whence.provenance.culprit import culprits
from whence.provenance.diagnostics import describe, fail, message
from whence.provenance.span import fuse, layer_location

LAYERS = [layer_location(f"l{index}", "m.onnx", index) for index in range(5)]


def test_describe():
    assert describe(UNKNOWN_LOC) == ""
    assert describe(LAYERS[1]) == "layer 'l1', m.onnx node 1"
    assert describe(NameLoc(StringAttr("a"), NoneAttr())) == "layer 'a'"
    assert describe(FileLineColLoc(StringAttr("m.relay"), IntAttr(3), IntAttr(4))) == "m.relay:3:4"
    assert describe(fuse(LAYERS), limit=1) == "layer 'l0', m.onnx node 0; and 4 more"


def test_message():
    assert message("conv2d", "a 4-d input", "tensor<3xf32>", LAYERS[0]) == (
        "conv2d: expected a 4-d input, got tensor<3xf32> (layer 'l0', m.onnx node 0)"
    )
    assert message("conv2d", "this", "that", UNKNOWN_LOC) == "conv2d: expected this, got that"


def test_fail_names_op_and_layer():
    op = test.TestOp()
    op.location = LAYERS[2]
    with pytest.raises(VerifyException, match=r"test.op: expected a, got b \(layer 'l2', m.onnx node 2\)"):
        fail(op, "a", "b")


def test_an_operator_names_its_layer():
    data = test.TestOp(result_types=[TensorType(f32, [2, 3])]).results[0]
    with pytest.raises(VerifyException) as error:
        ReshapeOp(data, newshape=(4, 2), location=LAYERS[3])
    assert str(error.value) == (
        "relay.reshape: expected a newshape of 6 elements, got [4, 2] (layer 'l3', m.onnx node 3)"
    )


def test_culprits_are_found_beside_objects_whose_attributes_are_not_theirs():
    class Magic:
        @property
        def __dict__(self) -> dict[str, object]:  # pyright: ignore[reportIncompatibleVariableOverride]
            raise RuntimeError("no attributes")

    def broken(magic: Magic, op: test.TestOp) -> None:
        op.location = LAYERS[0]
        raise LookupError(type(magic).__name__)

    with pytest.raises(LookupError) as caught:
        broken(Magic(), test.TestOp())
    assert culprits(caught.traceback[-1].frame.raw) == ("", "layer 'l0', m.onnx node 0")
