"""What the llvm form keeps of a kernel: the layers of each op, and the kernel itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import LocationAttr, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

import whence
from whence import relay, te
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.elementwise import ErfOp
from whence.dialects.tir import PrimFuncOp
from whence.lowering.relay_to_te import lower
from whence.lowering.tir_to_llvm.convert import convert
from whence.provenance.span import is_known, layer_names
from whence.reading.textio import context as reading_context

Parse = Callable[[str], ModuleOp]

KERNEL = """
tir.prim_func @f(%x: !tir.buffer<6x8xf32>, %o: !tir.buffer<6x8xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<6x8xf32>
  %half = arith.constant 0.5 : f32
  tir.for parallel %i in 6 {
    %acc = tir.alloc : !tir.buffer<8xf32, local>
    tir.for unrolled %j in 8 {
      %a = tir.load %x[%i, %j - 1] if [%j - 1, (%i + %j) mod 3 - 1] >= 0 else 0.0 : f32 : !tir.buffer<6x8xf32> -> f32
      %b = math.tanh %a : f32
      tir.store %b, %acc[%j] : f32, !tir.buffer<8xf32, local>
    }
    tir.if [%i - 2] >= 0 {
      %v = tir.load %acc[0] : !tir.buffer<8xf32, local> -> vector<8xf32>
      %w = math.erf %v : vector<8xf32>
      tir.store %w, %t[%i, 0] : vector<8xf32>, !tir.buffer<6x8xf32>
    } else {
      tir.store %half, %t[%i, 0] : f32, !tir.buffer<6x8xf32>
    }
  }
  tir.for %i in 48 {
    %a = tir.load %t[%i floordiv 8, %i mod 8] : !tir.buffer<6x8xf32> -> f32
    tir.store %a, %o[%i floordiv 8, %i mod 8] : f32, !tir.buffer<6x8xf32>
  }
}"""


def prim_func(module: ModuleOp) -> PrimFuncOp:
    func = module.body.block.first_op
    assert isinstance(func, PrimFuncOp)
    return func


def locate(func: PrimFuncOp, name: Callable[[Operation], str]) -> None:
    """Give every op and loop variable a layer of its own."""
    for op in func.walk():
        location: LocationAttr = NameLoc(StringAttr(name(op)), NoneAttr())
        op.location = location
        for region in op.regions:
            for argument in region.block.args:
                argument.location = location


def test_every_op_and_block_argument_has_a_location_and_a_line(parse: Parse):
    func = prim_func(parse(KERNEL))
    locate(func, lambda op: op.name)
    lines = {op: number for number, op in enumerate(func.walk(), 1)}
    kernel = convert(func, lines)
    functions = list(kernel.module.body.block.ops)
    assert len(functions) == 6
    for op in kernel.module.walk():
        assert is_known(op.location), op
        for region in op.regions if op is not kernel.module else ():
            for block in region.blocks:
                assert all(is_known(argument.location) for argument in block.args)
    inner = [op for function in functions for op in function.walk() if op is not function]
    assert all(op in kernel.lines for op in inner)
    assert set(kernel.lines.values()) <= set(lines.values())


def test_layers_are_those_of_the_tir_ops(parse: Parse):
    func = prim_func(parse(KERNEL))
    numbers = {op: str(number) for number, op in enumerate(func.walk())}
    locate(func, lambda op: numbers[op])
    kernel = convert(func, {})
    assert kernel.lines == {}
    by_name = {numbers[op]: op.name for op in func.walk()}
    for op in kernel.module.walk():
        layers = [by_name[name] for name in layer_names(op.location)]
        match op.name:
            case "llvm.return":
                assert layers in (["tir.prim_func"], ["tir.for"])
            case "llvm.store":
                assert set(layers) <= {"tir.store", "tir.for"}
            case "llvm.insertelement":
                assert layers == ["math.erf"]
            case _:
                assert layers


def test_the_kernel_is_kept(parse: Parse):
    module = parse(KERNEL)
    before = str(module)
    convert(prim_func(module), {})
    assert str(module) == before


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ('"test.op"() : () -> ()', "expected an op with a lowering to LLVM"),
        (
            """tir.for parallel %i in 4 {
                 %t = tir.alloc : !tir.buffer<4xf32>
               }""",
            "tir.alloc: expected a global buffer outside of parallel loops",
        ),
        (
            """%v = arith.constant dense<1.0> : vector<4xf32>
               tir.store %v, %o[0] stride 0 : vector<4xf32>, !tir.buffer<4xf32>""",
            "tir.store: expected a stride other than 0",
        ),
        (
            """%c = arith.constant 1.0 : f32
               %a = tir.call_extern "f"(%c) : (f32) -> f32
               %b = tir.call_extern "f"(%c) : (f32) -> f64""",
            "expected one signature of f",
        ),
    ],
)
def test_what_has_no_lowering_is_an_error_with_its_layer(op: str, message: str):
    from xdsl.context import Context
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.builtin import Builtin
    from xdsl.parser import Parser

    from whence.dialects.tir import Tir

    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Tir):
        context.load_dialect(dialect)
    module = Parser(context, f"tir.prim_func @f(%o: !tir.buffer<4xf32>) outputs 1 {{ {op} }}").parse_module()
    func = prim_func(module)
    locate(func, lambda op: "conv1")
    with pytest.raises(VerifyException, match=message) as caught:
        convert(func, {})
    assert "layer 'conv1'" in str(caught.value)


TWICE = """
tir.prim_func @twice(%p: !tir.buffer<5x11xf32>, %out: !tir.buffer<5x11xf32>) outputs 1 {
  tir.for %i in 5 {
    tir.for %j in 11 {
      %0 = tir.load %p[%i, %j] : !tir.buffer<5x11xf32> -> f32
      %1 = arith.addf %0, %0 : f32
      tir.store %1, %out[%i, %j] : f32, !tir.buffer<5x11xf32>
    }
  }
}
"""


def test_a_kernel_with_places_of_its_own_is_its_layers_and_names_them(monkeypatch: pytest.MonkeyPatch):
    (twice,) = LocatedParser(reading_context(), TWICE, "twice.mlir").parse_module().ops
    assert isinstance(twice, PrimFuncOp)

    def compute(op: Operation, x: te.Tensor) -> te.Tensor:
        return te.extern_primfunc([x], twice)

    monkeypatch.setitem(lower.TABLE, ErfOp, compute)
    x = relay.var("x", shape=(5, 11))
    body = relay.tanh(relay.set_span(relay.erf(x), "own"))
    executable = whence.compile(relay.IRModule.from_expr(relay.Function([x], body)))
    data = np.random.default_rng(0).standard_normal((5, 11)).astype(np.float32)
    np.testing.assert_allclose(executable(data), np.tanh(2 * data), rtol=1e-5)
    (part,) = executable.where("own").kernels
    (number,) = (number for number, text in part.lines if "arith.addf" in text)
    line = executable.why(part.call, line=number).line
    assert line is not None
    assert line.places == ("twice.mlir:6:7",)
    assert line.layers == ((part.call, ("own",)),)
    assert "  from twice.mlir:6:7\n  serves own\n" in str(line)
