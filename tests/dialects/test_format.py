"""The custom assembly that the dialects share, and what verifiers say that no text can reach."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, IndexType, ModuleOp, f32
from xdsl.ir import Block
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from whence.dialects import te
from whence.dialects.format import print_indices, value_name
from whence.dialects.tir import ForOp, IndexOp, PrimFuncOp, Tir

INDEX = IndexType()


def parse(text: str) -> ModuleOp:
    ctx = Context()
    ctx.load_dialect(Tir)
    ctx.load_dialect(Builtin)
    return Parser(ctx, text).parse_module()


def test_value_name_is_what_the_printer_shows() -> None:
    first, second, third = Block(arg_types=[INDEX] * 3).args
    first.name_hint = second.name_hint = "i"
    printer = Printer(StringIO())
    assert [value_name(printer, value) for value in (first, second, third)] == ["%i", "%i_1", "%0"]
    assert value_name(printer, first) == "%i"


def test_indices_are_spelled_as_formulas() -> None:
    i, j = Block(arg_types=[INDEX] * 2).args
    i.name_hint, j.name_hint = "i", "j"
    a, b = AffineExpr.dimension(0), AffineExpr.dimension(1)
    out = StringIO()
    print_indices(Printer(out), AffineMap(2, 0, (a * 2 + b - 3, (a + b) // 4, (a * 3) % 2 + 1, a * -1)), [i, j])
    assert out.getvalue() == "[%i * 2 + %j - 3, (%i + %j) floordiv 4, (%i * 3) mod 2 + 1, %i * -1]"


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(3)), st.lists(st.integers(-3, 3), min_size=3, max_size=3), st.integers(-5, 5))
def test_operands_are_in_order_of_first_use(order: list[int], factors: list[int], constant: int) -> None:
    """Text has no order of operands but that of their first use; reading it twice gives the same op."""
    terms = " + ".join(f"%v{i} * {factor}" for i, factor in zip(order, factors, strict=True))
    loops = "".join(f"tir.for %v{i} in 4 {{\n" for i in range(3))
    text = f"tir.prim_func @f() outputs 0 {{\n{loops}%x = tir.index [{terms} + {constant}] : index\n}}}}}}\n}}"
    module = parse(text)
    module.verify()
    (op,) = (op for op in module.walk() if isinstance(op, IndexOp))
    assert [value.name_hint for value in op.indices] == [f"v{i}" for i in order]
    again = parse(str(module))
    assert str(again) == str(module)
    (read,) = (op for op in again.walk() if isinstance(op, IndexOp))
    assert read.map == op.map
    assert op.map.data.eval([1, 2, 3], []) == (sum(f * v for f, v in zip(factors, (1, 2, 3), strict=True)) + constant,)


def test_empty_bodies_are_read_back() -> None:
    func = PrimFuncOp("f", [], 0)
    func.block.add_op(ForOp.make(4, "parallel", "i"))
    module = ModuleOp([func])
    again = parse(str(module))
    again.verify()
    assert again.is_structurally_equivalent(module)


def test_read_takes_indices_of_its_own_compute() -> None:
    func = te.FuncOp("f", [], [])
    compute, other = (te.ComputeOp.make(label, [4], f32) for label in ("a", "b"))
    read = te.ReadOp.make(compute.result, AffineMap.identity(1), [compute.block.args[0]])
    index = te.IndexOp.make(AffineMap.identity(1), [compute.block.args[0]])
    other.block.add_ops([read, index])
    func.block.add_ops([compute, other])
    for op in (read, index):
        with pytest.raises(VerifyException, match='axes of compute "b" or made inside, got index operand 0 of another'):
            op.verify_()


def test_read_takes_numbers_made_in_its_compute() -> None:
    func = te.FuncOp("f", [], [])
    first, second = (te.ComputeOp.make(label, [4], f32) for label in ("a", "b"))
    number = test.TestOp(result_types=[INDEX])
    read = te.ReadOp.make(first.result, AffineMap.identity(1), [number.results[0]])
    second.block.add_ops([number, read])
    func.block.add_ops([first, second])
    read.verify_()
