"""TVM's classes for expressions of te: `isinstance`, constructors, texts, structural equality and hash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, te, tir
from whence.runtime import ObjectPath
from whence.support.errors import WhenceError
from whence.tir.kinds import KINDS

M, J, X = te.var("i"), te.var("j"), te.var("x", "float32")
A = te.placeholder((4, 5), name="A")
ROOT = ObjectPath.root()

WRITTEN: list[tuple[Any, str, str]] = [
    (M * 4 + J, "Add", "i * 4 + j"),
    ((M + 1) * 4, "Mul", "(i + 1) * 4"),
    (M - (J - 1), "Sub", "i - (j - 1)"),
    (M // 4 % 3, "FloorMod", "i // 4 % 3"),
    (M // (J * 2), "FloorDiv", "i // (j * 2)"),
    (tir.max(M, J), "Max", "T.max(i, j)"),
    (X / 2.0, "Div", "x / T.float32(2)"),
    (te.truncmod(M, J), "Mod", "T.truncmod(i, j)"),
    (te.all(M < J, J > 3), "And", "i < j and j > 3"),
    (te.any(te.all(M < J, J > 3), M >= 2), "Or", "i < j and j > 3 or i >= 2"),
    (te.all(te.any(M < J, J > 3), M >= 2), "And", "(i < j or j > 3) and i >= 2"),
    (~(M < J), "Not", "not i < j"),
    (M.equal(J), "EQ", "i == j"),
    (tir.Select(M < J, M, J), "Select", "T.Select(i < j, i, j)"),
    (te.if_then_else(M < J, M, J), "Call", "T.if_then_else(i < j, i, j)"),
    (X.astype("int32"), "Cast", 'T.Cast("int32", x)'),
    (te.exp(X), "Call", "T.exp(x)"),
    (M << 2, "Call", "T.shift_left(i, 2)"),
    (~M, "Call", "T.bitwise_not(i)"),
    (A[M, J] * 0.5, "Mul", "A[i, j] * T.float32(0.5)"),
    (A[M, J], "ProducerLoad", "A[i, j]"),
    (te.const(3), "IntImm", "3"),
    (te.const(3, "int64"), "IntImm", "T.int64(3)"),
    (te.const(float("-inf")), "FloatImm", 'T.float32("-inf")'),
    (te.const(True), "IntImm", "T.bool(True)"),
    (M, "Var", "i"),
]


@pytest.mark.parametrize(("expr", "kind", "text"), WRITTEN)
def test_expressions_are_of_one_kind_and_print_as_tvm_prints_them(expr: Any, kind: str, text: str):
    assert str(expr) == text
    kinds = {name for name in KINDS if isinstance(expr, getattr(tir, name))}
    assert kinds - {"SizeVar", "EqualOp", "NotEqualOp"} == {kind}


def test_a_text_says_what_is_computed():
    values = {"i": 7, "j": 3}
    plain = [(expr, text) for expr, _, text in WRITTEN if not any(letter in text for letter in "TxA")]
    assert len(plain) > 8
    for expr, text in plain:
        computed = computed_by(te.if_then_else(expr, 1, 0) if expr.dtype == "bool" else expr, values)
        # What stands in the text is an expression of Python.
        assert computed == eval(text, {}, values), text


def computed_by(expr: Any, values: dict[str, int]) -> int:
    t = te.compute((1,), lambda _: expr)
    out = np.zeros(1, np.int32)
    whence.build(te.create_schedule(t.op, sizes=values), [t])(out)
    return out[0]


def test_an_expression_that_doubles_has_a_short_text():
    x = M
    for _ in range(200):
        x = x + x
    assert len(str(x)) < 20_000
    assert ir.structural_equal(x, x)
    assert ir.structural_hash(x) == ir.structural_hash(x)


def test_constructors_do_not_fold():
    assert str(tir.Add(M, 0)) == "i + 0"
    assert str(tir.Mul(te.const(2), te.const(3))) == "2 * 3"
    node = tir.Sub(M, J)
    assert node.a is M
    assert node.b is J
    assert tir.Cast("int64", M).value is M
    chosen = tir.Select(M < J, M, J)
    assert (chosen.true_value, chosen.false_value) == (M, J)
    with pytest.raises(WhenceError, match=r"tir.Reduce: expected a function that makes it, such as te.sum"):
        tir.Reduce()


def loop(name: str, add: int) -> tir.PrimFunc:
    buffer = tir.decl_buffer((8,), name="B")
    var = tir.Var(name)
    body = tir.BufferStore(buffer, buffer[var] + float(add), [var])
    return tir.PrimFunc([buffer], tir.For(var, 0, 8, "serial", body))


EQUAL: list[tuple[Callable[[], Any], Callable[[], Any], bool, bool]] = [
    # Two objects; equal; equal where free variables may stand for one another.
    (lambda: M + 1, lambda: M + 1, True, True),
    (lambda: M + 1, lambda: J + 1, False, True),
    (lambda: M + M, lambda: J + M, False, False),
    (lambda: M + J, lambda: J + M, False, True),
    (lambda: te.const(1), lambda: te.const(1, "int64"), False, False),
    (lambda: M + 1, lambda: M - 1, False, False),
    (lambda: A[M, 0], lambda: A[M, 1], False, False),
    (lambda: loop("i", 1), lambda: loop("k", 1), True, True),
    (lambda: loop("i", 1), lambda: loop("i", 2), False, False),
    (lambda: [M, 1, "a"], lambda: [M, 1, "a"], True, True),
    (lambda: {"x": [1, 2], "y": 2}, lambda: {"y": 2, "x": [1, 2]}, True, True),
    (lambda: {"x": [1, 2]}, lambda: {"x": [1, 2, 3]}, False, False),
    (lambda: np.arange(10), lambda: np.arange(10), True, True),
    (lambda: np.arange(10), lambda: np.arange(10).reshape(2, 5), False, False),
]


@pytest.mark.parametrize(("one", "other", "equal", "mapped"), EQUAL)
def test_structures_are_equal_and_have_equal_hashes(
    one: Callable[[], Any], other: Callable[[], Any], equal: bool, mapped: bool
):
    for free, wanted in ((False, equal), (True, mapped)):
        a, b = one(), other()
        assert ir.structural_equal(a, b, free) == ir.structural_equal(b, a, free) == wanted
        assert (ir.structural_hash(a, free) == ir.structural_hash(b, free)) == wanted
        assert (ir.get_first_structural_mismatch(a, b, free) is None) == wanted


def test_the_first_mismatch_is_named_by_its_path():
    seqs = [tir.SeqStmt([tir.Evaluate(M), tir.Evaluate(M + 2)]), tir.SeqStmt([*map(tir.Evaluate, (M, M + 99, J))])]
    path = ROOT.attr("seq").array_index(1).attr("value").attr("b").attr("value")
    assert ir.get_first_structural_mismatch(seqs[0], seqs[1]) == (path, path)
    assert str(path) == "<root>.seq[1].value.b.value"
    longer = tir.SeqStmt([tir.Evaluate(M), tir.Evaluate(M + 2), tir.Evaluate(J)])
    end = ROOT.attr("seq")
    assert ir.get_first_structural_mismatch(seqs[0], longer) == (end.missing_array_element(2), end.array_index(2))
    loops = [loop("i", 1), loop("k", 2)]
    where = ir.get_first_structural_mismatch(loops[0], loops[1])
    assert where is not None
    assert str(where[0]) == "<root>.body.body.value.b.value"


def test_a_chain_of_a_hundred_thousand_sums_is_compared_and_printed():
    chains: list[Any] = []
    for _ in range(2):
        x = M
        for _ in range(100_000):
            x = x + J
        chains.append(x)
    assert ir.structural_equal(*chains)
    assert ir.structural_hash(chains[0]) == ir.structural_hash(chains[1])
    assert len(str(chains[0])) < 20_000


def test_substitution_reaches_indices_and_statements():
    buffer = tir.decl_buffer((8,), name="B")
    assert str(tir.stmt_functor.substitute(A[M, J + M] + M, {M: 3})) == 'A[3, j + 3] + T.Cast("float32", 3)'
    inner = tir.Var("k")
    body = tir.For(inner, 0, M, "serial", tir.BufferStore(buffer, buffer[inner] + A[M, inner], [inner + M]))
    new = tir.stmt_functor.substitute(body, {M: 5})
    assert (str(new.extent), str(new.body.value), str(new.body.indices[0])) == ("5", "B[k] + A[5, k]", "k + 5")
    assert new.location == body.location
    assert new.body.location == body.body.location
    assert tir.stmt_functor.substitute(body, {J: 5}) is body


def test_ir_transform_changes_what_it_is_asked_about():
    stmt = tir.SeqStmt([tir.Evaluate(te.exp(X) + 1.0), tir.Evaluate(te.log(te.exp(X)))])
    seen: list[str] = []

    def before(node: Any) -> Any:
        return te.const(2.0) if node.name == "log" else None

    def after(node: Any) -> Any:
        seen.append(str(node))
        return te.sqrt(node)

    new = tir.stmt_functor.ir_transform(stmt, before, after, ["tir.Call"])
    assert [str(one.value) for one in new.seq] == ["T.sqrt(T.exp(x)) + T.float32(1)", "T.float32(2)"]
    assert seen == ["T.exp(x)"]


def test_a_deep_expression_is_substituted():
    x = M
    for _ in range(50_000):
        x = x + J
    assert ir.structural_equal(tir.stmt_functor.substitute(x, {J: J}), x)


def test_intrinsics_are_called_by_name():
    for made in (tir.call_intrin("int32", "tir.shift_left", 1, M), tir.Call("int32", "tir.shift_left", [1, M])):
        assert str(made) == "T.shift_left(1, i)"
    assert str(tir.call_intrin("float32", "tir.fabs", X)) == "T.fabs(x)"
    assert str(tir.call_intrin("int32", "tir.reinterpret", X)) == 'T.reinterpret("int32", x)'
    # A rule may lower what te has no function for.
    assert "tir.mine" in str(tir.call_intrin("float32", "tir.mine", X))
    with pytest.raises(WhenceError, match=r"expected tir\.exp as float32, which its operands have, got int32"):
        tir.call_intrin("int32", "tir.exp", X)
