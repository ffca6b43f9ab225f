"""The examples of the tir passes' docstrings, where every location goes, and what the ledger says."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, math, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from whence.dialects.tir import PrimFuncOp, Tir
from whence.passes.pipelines import available_passes, run_passes
from whence.passes.tir.pipeline import TIR_PIPELINE, run_tir_passes
from whence.passes.tir.unroll import TirUnrollPass
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_location

NAMES = ("tir-simplify", "tir-vectorize", "tir-unroll", "tir-flatten-buffer", "tir-remove-no-op")
PASSES = {name: available_passes()[name] for name in NAMES}


def context() -> Context:
    ctx = Context()
    for dialect in (Tir, arith.Arith, builtin.Builtin, math.Math, vector.Vector):
        ctx.load_dialect(dialect)
    return ctx


def parse(text: str) -> ModuleOp:
    return Parser(context(), text).parse_module()


def make(name: str) -> ModulePass:
    """A pass as the examples and tests of one have it."""
    return TirUnrollPass(explicit=True) if name == "tir-unroll" else available_passes()[name]()()


def pipeline() -> list[ModulePass]:
    return [available_passes()[name]()() for name, _ in TIR_PIPELINE]


def kernel(body: str, arguments: str) -> str:
    return f"tir.prim_func @f({arguments}) outputs 0 {{\n{body}\n}}"


@pytest.mark.parametrize("name", PASSES)
def test_docstring_example(name: str) -> None:
    text = dedent(PASSES[name]().__doc__ or "")
    examples = re.findall(r"```mlir\n(.*?)// becomes(?: nothing)?\n(.*?)```", text, re.DOTALL)
    assert len(examples) == text.count("```mlir") > 0
    for before, after in examples:
        buffers = dict(re.findall(r"%(\w+)\[.*?(!tir\.buffer<\S*>)", before))
        results = dict(re.findall(r"%(\w+)\[.*?(!tir\.buffer<\S*>)", after))
        module = parse(kernel(before, ", ".join(f"%{buffer}: {type}" for buffer, type in buffers.items())))
        make(name).apply(context(), module)
        module.verify()
        expected = parse(kernel(after, ", ".join(f"%{b}: {results.get(b, type)}" for b, type in buffers.items())))
        assert str(module) == str(expected)


BODY = """
  %t = tir.alloc : !tir.buffer<4x16xf32, local>
  %c = arith.constant 0.0 : f32
  tir.for parallel %i in 4 {
    tir.for %one in 1 {
      tir.for vectorized %j in 16 {
        %0 = tir.load %a[%i + %one, %j] : !tir.buffer<4x16xf32> -> f32
        %1 = arith.maximumf %0, %c : f32
        tir.store %1, %t[%i, %j] : f32, !tir.buffer<4x16xf32, local>
      }
    }
    tir.for unrolled %k in 2 {
      tir.if [%k] >= 0 {
        tir.for vectorized %j in 16 {
          %2 = tir.load %t[%i, %j] if [%j + 1] >= 0 else 0.0 : f32 : !tir.buffer<4x16xf32, local> -> f32
          %3 = tir.load %a[%i, %j] if [%k - 2] >= 0 else 0.0 : f32 : !tir.buffer<4x16xf32> -> f32
          %4 = arith.addf %2, %3 : f32
          tir.store %4, %out[%i, %j] : f32, !tir.buffer<4x16xf32>
        }
      }
    }
    tir.for %none in 0 {
      tir.store %c, %out[%none, 0] : f32, !tir.buffer<4x16xf32>
    }
    tir.if [%i - 4] >= 0 {
      tir.store %c, %out[%i, 0] : f32, !tir.buffer<4x16xf32>
    }
    tir.for vectorized %uneven in 5 {
      %5 = tir.load %a[%i, %uneven] : !tir.buffer<4x16xf32> -> f32
    }
  }
"""


def located() -> ModuleOp:
    """A kernel with a layer of its own at each op."""
    module = parse(kernel(BODY, "%a: !tir.buffer<4x16xf32>, %out: !tir.buffer<4x16xf32>"))
    for index, op in enumerate(module.walk()):
        if not isinstance(op, ModuleOp):
            op.location = layer_location(f"{op.name}.{index}", "model.onnx", index)
    return module


@pytest.mark.parametrize("names", [*([name] for name in PASSES), [name for name, _ in TIR_PIPELINE]])
def test_every_op_is_located_and_every_vanished_layer_explained(names: list[str]) -> None:
    module = located()
    run_passes(module, [make(name) for name in names], audit=True)
    module.verify()


def test_ledger_says_why() -> None:
    ledger = Ledger()
    run_passes(located(), pipeline(), ledger=ledger)
    said = {(entry.pass_name, entry.pattern, entry.reason) for entry in ledger.entries}
    assert said >= {
        ("tir-simplify", "UnitLoop", "a loop of extent 1"),
        ("tir-simplify", "EmptyLoop", "a loop of extent 0"),
        ("tir-simplify", "DecidedIf", "its guard always holds"),
        ("tir-simplify", "NeverTaken", "its guard never holds"),
        ("tir-simplify", "NeverRead", "its guard never holds"),
        ("tir-vectorize", "Vectorize", "16 lanes"),
        ("tir-vectorize", "Serialize", "it stores nothing"),
        ("tir-remove-no-op", "DeadCode", "nobody reads its result"),
        ("tir-remove-no-op", "DeadCode", "it has no effect"),
    }


def test_pipeline_function_is_the_passes_in_order() -> None:
    by_passes, by_function = located(), located()
    run_passes(by_passes, pipeline())
    func = by_function.body.block.first_op
    assert isinstance(func, PrimFuncOp)
    run_tir_passes(func)
    assert str(by_passes) == str(by_function)
    assert "vectorized" not in str(by_function)
