"""A chain much longer than the default recursion limit: depth is no limit anywhere.

benchmarks/chain.py shows that time is linear, with chains of 10,000 and more.
"""

from __future__ import annotations

import sys
from io import StringIO

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.parser import Parser
from xdsl.printer import Printer

import whence
from whence.dialects.relay import Relay
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.elementwise import AddOp, ReluOp
from whence.provenance.audit import check_located, surviving_leaves
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location
from whence.support.instrument import PassInfo, PassInstrument

LENGTH = 1_020
STEP = np.float32(0.001)


@pytest.fixture
def chain() -> ModuleOp:
    """`x` through additions of 0.001 and relus in turn, each a layer."""
    type_ = TensorType(f32, [1, 16])
    module = ModuleOp([])
    main = FuncOp("main", [type_], [type_], location=layer_location("main", "chain", 0))
    module.body.block.add_op(main)
    main.block.args[0].location = main.location
    builder = LocatedBuilder(main.block, main.location)
    step = builder.add(ConstantOp.of(np.asarray(STEP), module, "step")).result
    value = main.block.args[0]
    for index in range(LENGTH):
        with builder.located(layer_location(f"layer{index}", "chain", index)):
            value = builder.add(ReluOp(value) if index % 2 else AddOp(value, step)).result
    builder.add(ReturnOp(value))
    return module


def test_the_recursion_limit_is_the_default_one():
    assert sys.getrecursionlimit() <= 1000


def test_print_and_parse(chain: ModuleOp):
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(chain)
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Relay)
    again = Parser(context, stream.getvalue()).parse_module()
    again.verify()
    assert again.is_structurally_equivalent(chain)
    assert surviving_leaves(again) == surviving_leaves(chain)


class Verified(PassInstrument):
    """What every pass of the graph leaves is valid, with all layers where ops are."""

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        if isinstance(mod, ModuleOp):
            mod.verify()
            check_located(mod, info.name)


@pytest.mark.parametrize("level", [0, 3])
def test_compile_and_run(chain: ModuleOp, level: int):
    layers = surviving_leaves(chain)
    with whence.PassContext(opt_level=level, instruments=[Verified()] if level else []):
        exe = whence.compile(chain, threads=1)
    (fused,) = (snapshot.module for snapshot in exe.artifact.snapshots if snapshot.stage == "fused")
    assert surviving_leaves(fused) == layers
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 16)
    want = x.copy()
    for index in range(LENGTH):
        want = np.maximum(want, np.float32(0)) if index % 2 else want + STEP
    np.testing.assert_array_equal(exe(x), want)
