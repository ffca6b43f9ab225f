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
    "tir-inject-double-buffer",
    "tir-inject-prefetch",
    "tir-instrument-bound-checkers",
    "tir-interleave-stores",
    "tir-loop-partition",
    "tir-lower-intrin",
    "tir-lower-tiles",
    "tir-narrow-datatype",
    "tir-rewrite-unsafe-select",
    "tir-storage-rewrite",
    "tir-tile-products",
    "tir-transpose-loads",
    "tir-verify-memory",
)
PASSES = {name: available_passes()[name] for name in NAMES}


def example(text: str, types: str) -> ModuleOp:
    """A whole kernel as it is; loops become one over the buffers that they and `types` name."""
    if text.startswith("tir.prim_func"):
        return parse(text)
    local = set(re.findall(r"%(\w+) = tir.alloc", types))
    buffers = dict(re.findall(r"%(\w+)\[.*?(!tir\.buffer<[^>]*>)", types))
    return parse(kernel(text, ", ".join(f"%{name}: {type}" for name, type in buffers.items() if name not in local)))


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
  tir.for %i in 16 attributes {prefetch = [["u", 2], ["a", 1]]} {
    %8 = tir.load %u[%i] : !tir.buffer<16xf32> -> f32
    tir.if likely [14 - %i] >= 0 {
      tir.store %8, %out[%i + 1] : f32, !tir.buffer<16xf32>
    }
  }
  tir.for %i in 4 {
    %w = arith.index_cast %i : index to i64
    %x = arith.addi %w, %w : i64
    %y = arith.sitofp %x : i64 to f32
    tir.store %y, %out[%i] : f32, !tir.buffer<16xf32>
    %v = tir.alloc {double_buffer} : !tir.buffer<4xf32, local>
    tir.for %j in 4 {
      %9 = tir.load %a[%i * 4 + %j] : !tir.buffer<16xf32> -> f32
      %10 = arith.cmpf ogt, %9, %9 : f32
      %11 = tir.load %n[%i] : !tir.buffer<4xi32> -> i32
      %12 = arith.index_cast %11 : i32 to index
      %13 = tir.load %a[%12] : !tir.buffer<16xf32> -> f32
      %14 = arith.select %10, %13, %9 : f32
      tir.store %14, %v[%j] : f32, !tir.buffer<4xf32, local>
    }
    tir.for %j in 4 {
      %15 = tir.load %v[3 - %j] : !tir.buffer<4xf32, local> -> f32
      tir.store %15, %out[%i * 4 + %j] : f32, !tir.buffer<16xf32>
    }
  }
  tir.for %i in 4 {
    %16 = tir.load %u[%i] stride 4 : !tir.buffer<16xf32> -> vector<4xf32>
    tir.store %16, %out[%i * 4] : vector<4xf32>, !tir.buffer<16xf32>
  }
  tir.for unrolled %i in 2 {
    %17 = tir.load %u[%i * 4] : !tir.buffer<16xf32> -> vector<4xf32>
    tir.store %17, %out[%i] stride 2 : vector<4xf32>, !tir.buffer<16xf32>
  }
  %s = tir.alloc : !tir.buffer<1x4xi32, local>
  tir.tile_config rows [1, 0, 0, 0, 0, 0, 0, 0] words [4, 0, 0, 0, 0, 0, 0, 0]
  tir.tile_zero 0 as [1, 4]
  tir.tile_store 0, %s[0, 0] step 4 as [1, 4] : !tir.buffer<1x4xi32, local>
  tir.for %j in 4 {
    tir.for %k in 2 attributes {"pragma_tiles" = 1 : i64} {
      %18 = tir.load %s[0, %j] : !tir.buffer<1x4xi32, local> -> i32
      %19 = tir.load %n[%k] : !tir.buffer<4xi32> -> i32
      %20 = tir.load %n[%j] : !tir.buffer<4xi32> -> i32
      %21 = tir.dot4 %19, %20 : i32
      %22 = arith.addi %18, %21 : i32
      tir.store %22, %s[0, %j] : i32, !tir.buffer<1x4xi32, local>
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
        ("tir-loop-partition", "Partition", "no guard in iterations 1 to 15 of 16"),
        ("tir-loop-partition", "Partition", "no guard in iterations 0 to 14 of 16"),
        ("tir-inject-double-buffer", "DoubleBuffer", "computed one iteration ahead, in turns into two copies"),
        ("tir-rewrite-unsafe-select", "UnsafeSelect", "it is guarded by the condition of its select"),
        ("tir-narrow-datatype", "Narrow", "32 bits are enough"),
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
