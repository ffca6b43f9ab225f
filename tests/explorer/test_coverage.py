"""Coverage says the truth about models that know nothing, or only a part, of their layers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from onnx import ModelProto
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp

import whence
from whence.explorer.code import MainCode, kernel_of, machine_lines
from whence.explorer.coverage import LEVELS, coverage
from whence.support.context import PassContext


@pytest.fixture
def unlocated(compiled: whence.Executable) -> ModuleOp:
    """The imported model without locations."""
    module = compiled.artifact.snapshots[0].module.clone()
    for op in module.walk():
        op.location = UNKNOWN_LOC
        for region in op.regions:
            for argument in region.block.args:
                argument.location = UNKNOWN_LOC
    return module


def test_nothing_is_covered_without_locations(unlocated: ModuleOp):
    blind = whence.compile(unlocated)
    assert blind.coverage() == dict.fromkeys(LEVELS, 0.0)
    assert blind.layers == ()
    assert "lost by pass import" in str(blind.why(0))


def test_kernels_are_the_same_without_locations(compiled: whence.Executable, unlocated: ModuleOp):
    blind = whence.compile(unlocated)
    assert [kernel.symbol for kernel in blind.artifact.kernels] == [k.symbol for k in compiled.artifact.kernels]
    assert [kernel.object for kernel in blind.artifact.kernels] == [k.object for k in compiled.artifact.kernels]


def test_switching_spans_off_uncovers_everything(source: ModelProto):
    with PassContext(config={"relay.frontend.fill_span": False}):
        blind = whence.compile(source)
    assert blind.coverage() == dict.fromkeys(LEVELS, 0.0)


def test_programs_are_counted_together(compiled: whence.Executable, unlocated: ModuleOp):
    artifact, blind = compiled.artifact, whence.compile(unlocated).artifact
    alone = coverage(artifact)
    for level, fraction in coverage(artifact, artifact, blind).items():
        # The same ops and instructions, twice with their layers and once without.
        assert fraction == pytest.approx(2 * alone[level] / 3)


def test_an_instruction_counts_only_if_every_call_knows_its_layer(compiled: whence.Executable):
    artifact = compiled.artifact
    call = next(one for one in artifact.calls if "conv2d" in one.name)
    kernel = kernel_of(artifact, call.kernel)
    lost = 0
    blind = -1
    for slot in range(len(call.layers)):
        alone = {number for number, slots in enumerate(kernel.lines, 1) if slots == (slot,)}
        served = sum(count for line, count in machine_lines(kernel, exact=True).items() if line in alone)
        if served > lost:
            blind, lost = slot, served
    layers = tuple(UNKNOWN_LOC if slot == blind else at for slot, at in enumerate(call.layers))
    partly = replace(artifact, calls=tuple(replace(c, layers=layers) if c is call else c for c in artifact.calls))
    total = sum(machine_lines(kernel_of(artifact, index)).total() for index in range(len(artifact.kernels)))
    total += len(MainCode.of(artifact).instructions)
    before, after = coverage(artifact), coverage(partly)
    assert lost > 0
    assert before["native"] - after["native"] == pytest.approx(lost / total)
    assert 0 < after["tir"] < before["tir"]
