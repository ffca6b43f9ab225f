"""The examples of the further passes' docstrings, where every location goes, and what the ledger says."""

from __future__ import annotations

import re
from inspect import cleandoc

import pytest
from test_contracts import context, kernel, located, parse
from xdsl.dialects.builtin import ModuleOp

from whence.passes.pipelines import available_passes, run_passes
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_location

NAMES = (
    "tir-common-subexpr-elimination",
    "tir-hoist-if-then-else",
    "tir-instrument-bound-checkers",
    "tir-loop-partition",
    "tir-lower-intrin",
    "tir-storage-rewrite",
    "tir-verify-memory",
)
PASSES = {name: available_passes()[name] for name in NAMES}


def example(text: str, types: str) -> ModuleOp:
    """A whole kernel as it is; loops become one over the buffers that they and `types` name."""
    if text.startswith("tir.prim_func"):
        return parse(text)
    buffers = re.findall(r"%(\w+)\[.*?(!tir\.buffer<[^>]*>)", types)
    return parse(kernel(text, ", ".join(f"%{name}: {type}" for name, type in dict(buffers).items())))


@pytest.mark.parametrize("name", [name for name in PASSES if name != "tir-lower-intrin"])
def test_docstring_example(name: str) -> None:
    text = cleandoc(PASSES[name]().__doc__ or "")
    found = re.search(r"```mlir\n(.*?)// becomes\n(.*?)```", text, re.DOTALL)
    assert found is not None
    module = example(found[1], found[1])
    PASSES[name]()().apply(context(), module)
    module.verify()
    assert str(module) == str(example(found[2], found[1]))


@pytest.mark.parametrize("name", PASSES)
def test_every_op_is_located_and_every_vanished_layer_explained(name: str) -> None:
    module = located()
    run_passes(module, [PASSES[name]()()], audit=True)
    module.verify()


BODY = """
tir.prim_func @f(%a: !tir.buffer<16xf32>, %n: !tir.buffer<4xi32>, %out: !tir.buffer<16xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<16xf32>
  %u = tir.alloc : !tir.buffer<16xf32>
  tir.for %i in 16 {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<16xf32> -> f32
    %1 = math.asinh %0 : f32
    tir.store %1, %t[%i] : f32, !tir.buffer<16xf32>
  }
  tir.for %i in 4 {
    %2 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
    %3 = arith.index_cast %2 : i32 to index
    tir.for %j in 4 {
      %4 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
      %5 = arith.index_cast %4 : i32 to index
      %6 = tir.load %t[%i * 4 + %j] : !tir.buffer<16xf32> -> f32
      tir.store %6, %u[%i * 4 + %j] : f32, !tir.buffer<16xf32>
      tir.if [%i - 2] >= 0 {
        %7 = tir.load %a[%5] : !tir.buffer<16xf32> -> f32
        tir.store %7, %out[%3] : f32, !tir.buffer<16xf32>
      }
    }
  }
  tir.for %i in 16 {
    %8 = tir.load %u[%i] : !tir.buffer<16xf32> -> f32
    tir.if likely [14 - %i] >= 0 {
      tir.store %8, %out[%i + 1] : f32, !tir.buffer<16xf32>
    }
  }
}
"""


def located_body() -> ModuleOp:
    module = parse(BODY)
    for index, op in enumerate(module.walk()):
        if not isinstance(op, ModuleOp):
            op.location = layer_location(f"{op.name}.{index}", "model.onnx", index)
    return module


def test_ledger_says_why() -> None:
    ledger = Ledger()
    for load in PASSES.values():
        run_passes(located_body(), [load()()], ledger=ledger, audit=True)
    said = {(entry.pass_name, entry.pattern, entry.reason) for entry in ledger.entries}
    assert said >= {
        ("tir-common-subexpr-elimination", "CommonSubexpression", "equal ops merged"),
        ("tir-hoist-if-then-else", "Hoist", "its guard does not depend on the loop"),
        ("tir-loop-partition", "Partition", "no guard in passes 1 to 15 of 16"),
        ("tir-loop-partition", "Partition", "no guard in passes 0 to 14 of 16"),
        ("tir-lower-intrin", "ExpandIntrin", "LLVM has no vector form of it"),
        (
            "tir-storage-rewrite",
            "ShareStorage",
            "shares memory with buffers that are not in use at the same time",
        ),
    }


@pytest.mark.parametrize("name", PASSES)
def test_layers_of_a_kernel_with_work_for_each_pass(name: str) -> None:
    module = located_body()
    before = str(module)
    run_passes(module, [PASSES[name]()()], audit=True)
    module.verify()
    assert (str(module) == before) == (name == "tir-verify-memory")
