"""Concatenations of many parts: right numbers, and work that grows as the number of parts does."""

from __future__ import annotations

import re
from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Attribute

import whence
from whence.dialects.relay.core import FuncOp, ReturnOp
from whence.dialects.relay.elementwise import ReluOp
from whence.dialects.relay.transform import ConcatenateOp
from whence.lowering.kernel.record import Kernel
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location


def network(extents: list[int], axis: int) -> ModuleOp:
    """The relu of tensors of 3 x 5, but for these extents along the axis, one after the other."""

    def type_of(extent: int) -> TensorType[Attribute]:
        return TensorType(f32, [extent if k == axis else wide for k, wide in enumerate((3, 5))])

    location = layer_location("joined", "net", 0)
    main = FuncOp("main", [type_of(extent) for extent in extents], [type_of(sum(extents))], location=location)
    for argument in main.block.args:
        argument.location = location
    builder = LocatedBuilder(main.block, location)
    joined = builder.add(ConcatenateOp(*main.block.args, axis=axis))
    with builder.located(layer_location("relu", "net", 1)):
        builder.add(ReturnOp(builder.add(ReluOp(joined.result)).result))
    return ModuleOp([main])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("count", [8, 9, 17, 73])
def test_many_parts(count: int, axis: int):
    rng = np.random.default_rng(count)
    extents = [int(extent) for extent in rng.integers(1, 4, count)]
    parts = [rng.standard_normal((extent, 5) if axis == 0 else (3, extent)).astype(np.float32) for extent in extents]
    exe = whence.compile(network(extents, axis), threads=1)
    np.testing.assert_array_equal(exe(*parts), np.maximum(np.concatenate(parts, axis), 0))
    assert exe.coverage()["tir"] == 1


def _longest_nest(count: int) -> int:
    """The lines of the longest loop nest: what is done for each element that it writes."""
    (kernel,) = cast("tuple[Kernel]", whence.compile(network([1] * count, 1), threads=1).artifact.kernels)
    return max(nest.count("\n") for nest in re.split(r"^  (?=tir\.for)", kernel.tir, flags=re.MULTILINE)[1:])


def test_an_element_is_not_chosen_among_all_parts():
    """Or the work, and the code of the choice, would grow with the square of their number."""
    assert _longest_nest(96) < 1.5 * _longest_nest(32)
