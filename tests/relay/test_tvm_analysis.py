"""TVM's analyses, visitors and `tvm.ir`, with its names, on expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, relay
from whence.relay import analysis, transform
from whence.relay.expr_functor import ExprMutator, ExprVisitor
from whence.support.errors import FrontendError, PipelineError
from whence.syntax.text import DiagnosticError

ops: Any = relay
VERSION = '#[version = "0.0.5"]\n'
LIST = VERSION + "type List[A] { Cons(A, List[A]), Nil }\n"


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


def test_hashes_go_with_equality() -> None:
    x, y = var("x", 2), var("y", 2)
    one, other = relay.Function([x], x + x), relay.Function([y], y + y)
    assert ir.structural_hash(one) == ir.structural_hash(other)
    ir.assert_structural_equal(one, other)
    shared = ops.exp(x)
    twice = (shared + shared, ops.exp(x) + ops.exp(x))
    assert ir.structural_hash(twice[0]) != ir.structural_hash(twice[1])
    assert ir.structural_hash(x + y) != ir.structural_hash(y + x)
    assert ir.structural_hash(x + y, map_free_vars=True) == ir.structural_hash(y + x, map_free_vars=True)
    windowed = [ops.nn.max_pool2d(x, pool_size=(2, 2), padding=padding) for padding in (1, (1, 1, 1, 1))]
    assert ir.structural_equal(*windowed)
    assert len(set(map(ir.structural_hash, windowed))) == 1
    with pytest.raises(ValueError, match="is not rhs"):
        ir.assert_structural_equal(one, relay.Function([x], x * x))
    text = LIST + "def @f[A](%x: List[A]) { match (%x) { Cons(%h, _) => 1, Nil => 2 } }"
    same = [ir.structural_hash(relay.parse(t)) for t in (text, text.replace("%h", "%k"), text.replace("=> 2", "=> 3"))]
    assert same[0] == same[1] != same[2]


def test_variables_of_types() -> None:
    a: Any = relay.TypeVar("a")
    b: Any = relay.TypeVar("b")
    general = relay.FuncType([a, relay.RefType(b)], b, [a])
    assert analysis.free_type_vars(general) == [b]
    assert analysis.bound_type_vars(general) == [a]
    assert analysis.all_type_vars(general) == [a, b]
    pair: Any = relay.TupleType([a, relay.scalar_type("int32")])
    x, y = relay.Var("x", pair), relay.Var("y")
    let = relay.Let(x, y, x)
    assert (analysis.free_vars(let), analysis.free_type_vars(let)) == ([y], [a])
    z: Any = relay.Var("z", b)
    assert analysis.bound_type_vars(ops.Function([z], z, b, [b])) == [b]


def test_kinds() -> None:
    mod = relay.parse(LIST)
    kind, item = relay.TypeKind, relay.scalar_type("int32")
    assert analysis.check_kind(relay.TupleType([item]), mod) == kind.Type
    assert analysis.check_kind(relay.GlobalTypeVar("List"), mod) == kind.AdtHandle
    assert analysis.check_kind(mod["List"], mod) == kind.TypeData
    for bad in (relay.TypeCall("List", []), relay.FuncType([relay.TypeCall("Tree", [item])], item)):
        with pytest.raises(FrontendError):
            analysis.check_kind(bad, mod)


def test_unmatched_cases() -> None:
    mod = relay.parse(LIST)
    _, cons, nil = mod.get_type("List")
    x, anything = relay.Var("x"), relay.PatternWildcard()

    def missing(*patterns: relay.Pattern) -> list[str]:
        match = relay.Match(x, [relay.Clause(pattern, relay.const(1)) for pattern in patterns])
        return [type(one).__name__ for one in analysis.unmatched_cases(match, mod)]

    assert missing(anything) == []
    assert missing(relay.PatternConstructor(nil)) == ["PatternConstructor"]
    assert missing(relay.PatternConstructor(nil), relay.PatternConstructor(cons, [anything, anything])) == []
    single = relay.PatternConstructor(cons, [anything, relay.PatternConstructor(nil)])
    assert missing(relay.PatternConstructor(nil), single) == ["PatternConstructor"]
    longer = relay.PatternConstructor(cons, [anything, relay.PatternConstructor(cons, [anything, anything])])
    assert len(missing(longer)) == 2
    assert missing(relay.PatternVar(relay.Var("v"))) == []
    pairs = [relay.PatternTuple([relay.PatternConstructor(nil), anything]), relay.PatternTuple([anything, single])]
    assert len(missing(*pairs)) == 2


def test_counts() -> None:
    x, w = var("x", 1, 4), var("w", 4, 4)
    first = ops.nn.dense(x, w)
    deep = ops.nn.dense(ops.nn.relu(first), w) + first
    assert analysis.count_layers(relay.Function([x, w], deep), ["nn.dense"]) == 2
    assert analysis.check_constant(relay.Tuple([relay.const(1)])) is True
    assert analysis.check_constant(relay.Tuple([x])) is False
    assert analysis.all_dtypes(relay.Function([x], ops.cast(x, "int8"))) == {"float32", "int8"}
    fused = transform.FuseOps(2)(relay.IRModule.from_expr(relay.Function([x], ops.exp(ops.tanh(x)))))
    (function,) = analysis.extract_fused_functions(fused).values()
    assert analysis.list_op_freqs(function) == {"exp": 1, "tanh": 1}
    other = var("y", 3)
    two = relay.IRModule.from_expr(relay.Tuple([ops.exp(ops.tanh(x)), ops.exp(ops.tanh(other))]))
    assert len(analysis.extract_fused_functions(two)) == 2  # their shapes differ
    assert analysis.search_fc_transpose(ops.nn.dense(x, ops.transpose(w))) == ["w"]


def test_fake_quantised_operators() -> None:
    x, w, zero = var("x", 1, 3, 8, 8, dtype="int8"), var("w", 4, 3, 3, 3, dtype="int8"), relay.const(0)
    one = relay.const(1.0)
    real = [ops.qnn.op.dequantize(value, one, zero) for value in (x, w)]
    conv = ops.nn.conv2d(ops.nn.max_pool2d(real[0], (3, 3), padding=1), real[1])
    whole = ops.qnn.op.quantize(conv, one, zero, out_dtype="int8")
    mod = relay.IRModule.from_expr(relay.Function([x, w], whole))
    assert analysis.list_fake_quantized_op_freqs(mod) == {"nn.conv2d": 1, "nn.max_pool2d": 1}
    y = var("y", 4)
    assert analysis.list_fake_quantized_op_freqs(ops.qnn.op.quantize(ops.nn.relu(y), one, zero)) == {}


def test_basic_blocks() -> None:
    x, c = var("x"), relay.var("c", "bool")
    shared = x + x
    graph = relay.Function([c, x], relay.If(c, shared, shared * shared))
    assert not analysis.check_basic_block_normal_form(graph)
    made = transform.ToBasicBlockNormalForm()(relay.IRModule.from_expr(graph))
    assert analysis.check_basic_block_normal_form(made["main"])


def test_features() -> None:
    x = var("x", 2)
    feature = analysis.Feature
    assert analysis.detect_feature(relay.Function([x], x + x)) == {
        feature[name] for name in ("fVar", "fFunction", "fOp", "fCall")
    }
    f, n = relay.Var("f"), relay.var("n", "int32")
    loop = relay.Let(f, relay.Function([n], f(n)), f(relay.const(1)))
    assert {feature.fLet, feature.fLetRec, feature.fConstant} <= analysis.detect_feature(loop)


def test_what_goes_in_and_out_of_parts() -> None:
    from whence.external import register_supported

    register_supported("calibrated", "tanh", lambda op: True)
    x = var("x", 4)
    mod = relay.IRModule.from_expr(relay.Function([x], ops.exp(ops.tanh(ops.sin(x)))))
    cut = transform.Sequential([transform.AnnotateTarget("calibrated"), transform.PartitionGraph()])(mod)
    data = np.linspace(0, 1, 4, dtype=np.float32)
    ((name, found),) = analysis.get_calibration_data(cut, {"x": data}).items()
    assert name.name_hint == "tvmgen_default_calibrated_main_0"
    whence.testing.assert_allclose(found["inputs"], [np.sin(data)], rtol=1e-6)
    whence.testing.assert_allclose(found["outputs"], [np.tanh(np.sin(data))], rtol=1e-6)


def test_what_goes_in_and_out_of_parts_of_several_results() -> None:
    x, y = var("x", 4), var("y", 4)
    mod = relay.IRModule({})
    part = relay.Function([a := var("a", 4), b := var("b", 4)], relay.Tuple([a + b, a - b]))
    mod["part"] = part.with_attr("Compiler", "calibrated")
    call = relay.Call(mod.get_global_var("part"), [x, y])
    mod["main"] = relay.Function([x, y], relay.TupleGetItem(call, 0) * relay.TupleGetItem(call, 1))
    data = [np.arange(4, dtype=np.float32), np.ones(4, np.float32)]
    ((_, found),) = analysis.get_calibration_data(mod, dict(zip("xy", data, strict=True))).items()
    np.testing.assert_array_equal([one.numpy() for one in found["inputs"]], data)
    np.testing.assert_array_equal([one.numpy() for one in found["outputs"]], [data[0] + data[1], data[0] - data[1]])
    with pytest.raises(PipelineError, match="expected inputs x, y, got no y"):
        analysis.get_calibration_data(mod, {"x": data[0]})


class Renamed(ExprMutator):
    def visit_op(self, op: relay.Expr) -> Any:
        return ops.op.get("multiply") if op == ops.op.get("add") else op


class Count(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        super().visit_call(call)
        self.calls += 1


def test_visitors_and_mutators_of_any_depth() -> None:
    x = var("x", 2)
    body: Any = x
    for _ in range(5_000):
        body = ops.add(body, x)
    counter = Count()
    counter.visit(relay.Function([x], body))
    assert counter.calls == 5_000
    changed = Renamed().visit(body)
    assert isinstance(changed, relay.Call)
    assert analysis.list_op_freqs(relay.Function([x], changed)) == {"multiply": 5_000}
    untouched = ops.tanh(x)
    assert Renamed().visit(untouched) is untouched
    text = LIST + "def @f(%x: List[int32]) -> int32 { match (%x) { Cons(%h, _) => %h + 1, Nil => 2 } }"
    matched = Renamed().visit(relay.parse(text)["f"])
    ir.assert_structural_equal(matched, relay.parse(text.replace("+", "*"))["f"])


@pytest.mark.parametrize(
    ("text", "caret"),
    [
        ("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4, 3), float32]) {\n  add(%x, %y)\n}", "  add(%x, %y)"),
        ("type T[A] { C(A) }\ndef @main() {\n  C(1, 2)\n}", "  C(1, 2)"),
    ],
)
def test_texts_are_typed(text: str, caret: str) -> None:
    with pytest.raises(DiagnosticError) as raised:
        relay.parse(VERSION + text)
    shown = str(raised.value).splitlines()
    at = next(i for i, line in enumerate(shown) if line.endswith(caret))
    assert shown[at + 1].count("^") == len(caret.strip())
    assert "expected" in raised.value.diagnostics[0].message


def test_names_of_the_package() -> None:
    assert whence.IRModule is relay.IRModule is ir.IRModule
    assert whence.TensorType((1,), "int8") == relay.ty.TensorType((1,), "int8")
    call: Any = ops.Call(relay.GlobalVar("f"), [relay.const(1)], None, None)
    assert str(call) == "@f(1)"
    attrs = ops.nn.conv2d(var("x", 1, 3, 8, 8), relay.var("w"), strides=2, channels=4, kernel_size=(3, 3)).attrs
    assert (attrs.get_int("groups"), attrs.get_int_tuple("strides"), attrs.get_str("data_layout")) == (
        1,
        (2, 2),
        "NCHW",
    )
    whence.testing.assert_allclose(np.ones(2), np.ones(2))
    with pytest.raises(AssertionError):
        whence.testing.assert_allclose(np.ones(2), np.ones(3))


def test_names_of_results_stay() -> None:
    x = var("x", 4)
    main = relay.Function([x], relay.Tuple([ops.exp(x), ops.tanh(x)]), output_names=["e", "t"])
    mod = relay.IRModule.from_expr(main)
    again = relay.IRModule(relay.IRModule.of(transform.FoldConstant()(mod).module).functions)
    assert list(again["main"].output_names) == ["e", "t"]
    assert 'output_names = ["e", "t"]' in str(again.module)
