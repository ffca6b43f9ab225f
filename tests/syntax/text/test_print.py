"""The text of expressions, letter by letter."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import TensorType, f32

from whence import relay
from whence.frontends.onnx import from_onnx
from whence.provenance.span import SequentialSpan, SourceName, Span, layer_names
from whence.syntax.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Program,
    RefCreate,
    Tuple,
    TupleGetItem,
    Var,
    VirtualDevice,
)
from whence.syntax.relay.view import view
from whence.syntax.text import DiagnosticError, astext, fromtext, parse_expr, pretty_print

VERSION = '#[version = "0.0.5"]\n'
FLOAT = TensorType(f32, [])


def const(value: object, dtype: str = "int32") -> Constant:
    return Constant(np.array(value, dtype))


def call(op: str, *args: Expr, **attrs: object) -> Call:
    return Call(Op(op), list(args), attrs)


def named(name: str) -> Span:
    """The span of a layer."""
    return Span(SourceName(name), 3, 3, 0, 0, "model.onnx")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (42, "int16", "42i16"),
        (42, "int32", "42"),
        (42, "int64", "42i64"),
        (3, "float16", "3f16"),
        (3, "float32", "3f"),
        (3, "float64", "3f64"),
        (10e10, "float32", "1e+11f"),
        (0.1, "float32", "0.1f"),
        (1 / 3, "float64", "0.3333333333333333f64"),
        (-np.inf, "float32", "-inff"),
        (np.nan, "float32", "nanf"),
        (True, "bool", "True"),
    ],
)
def test_scalars(value: float, dtype: str, text: str):
    assert astext(const(value, dtype)) == VERSION + text


def test_arguments_stand_before_what_is_called():
    x, y = Var("x"), Var("y")
    program = Call(Function([x], x), [Call(Function([y], y), [const(1)])])
    assert astext(program) == (VERSION + "%0 = fn (%y) {\n  %y\n};\n%1 = %0(1);\n%2 = fn (%x) {\n  %x\n};\n%2(%1)")


def test_what_is_read_once_needs_no_variable_where_there_is_room():
    x, pair = Var("x"), Tuple([const(0), const(0)])
    assert astext(Let(x, pair, pair)) == VERSION + "%0 = (0, 0);\nlet %x = %0;\n%0"
    assert astext(Let(x, pair, x)) == VERSION + "let %x = (0, 0);\n%x"


def test_numbers_go_on_and_statements_stay_in_their_scopes():
    x, y, cond, v = Var("x", FLOAT), Var("y", FLOAT), Var("cond"), Var("v")
    shared = Let(v, y, v)
    inner, outer = Var("v"), Var("v")
    then = Let(inner, const(1, "float32"), Let(outer, x, call("subtract", inner, outer)))
    text = pretty_print(Function([x, y, cond], If(cond, then, call("add", shared, shared))))
    assert text == (
        "fn (%x: float32, %y: float32, %cond) {\n"
        "  if (%cond) {\n"
        "    let %v = 1f;\n"
        "    let %v1 = %x;\n"
        "    subtract(%v, %v1)\n"
        "  } else {\n"
        "    %0 = (\n"
        "      let %v2 = %y;\n"
        "      %v2\n"
        "    );\n"
        "    add(%0, %0)\n"
        "  }\n"
        "}"
    )


def test_what_several_scopes_read_stands_around_them():
    x = Var("x")
    both = call("exp", x)
    text = pretty_print(Function([x], If(const(True, "bool"), call("add", both, both), call("tanh", both))))
    assert text == ("fn (%x) {\n  %0 = exp(%x);\n  if (True) {\n    add(%0, %0)\n  } else {\n    tanh(%0)\n  }\n}")


def test_free_variables_are_declared_where_they_are_read():
    x, y = Var("x", TensorType(f32, [3, 2])), Var("y")
    assert pretty_print(call("add", x, y)) == "free_var %x: Tensor[(3, 2), float32];\nfree_var %y;\nadd(%x, %y)"
    assert pretty_print(Function([x], call("add", x, y))) == (
        "fn (%x: Tensor[(3, 2), float32]) {\n  free_var %y;\n  add(%x, %y)\n}"
    )


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ("x", "%x"),
        ("1", "%v1"),
        ("", "%v"),
        ("_param_1", "%v_param_1"),
        ("base/x", "%base/x"),
        ("dense.weight", "%dense_weight"),
        ("a b", "%a_b"),
        ("x/", "%x_"),
        ("ä", "%v_"),
    ],
)
def test_names(hint: str, text: str):
    var = Var(hint)
    assert pretty_print(var) == f"free_var {text};\n{text}"
    again = parse_expr(astext(var))
    assert isinstance(again, Var)
    assert again.name_hint == hint or f"v{hint}" == again.name_hint


def test_names_are_unique_in_a_module():
    program = Program({name: Function([x := Var("x")], x) for name in ("b", "a")})
    assert pretty_print(program) == "def @a(%x) {\n  %x\n}\n\ndef @b(%x1) {\n  %x1\n}\n"


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call("nn.softmax", const(1), axis=-1), "nn.softmax(1)"),
        (call("nn.softmax", const(1), axis=2), "nn.softmax(1, axis=2)"),
        (call("expand_dims", const(1), num_newaxis=2, axis=2), "expand_dims(1, axis=2, num_newaxis=2)"),
        (call("nn.batch_norm", const(1), epsilon=1e-5), "nn.batch_norm(1)"),
        (call("nn.batch_norm", const(1), epsilon=1e-6, scale=False), "nn.batch_norm(1, epsilon=1e-06f, scale=False)"),
        (
            call("nn.conv2d", const(1), padding=(0, 0, 0, 0), channels=8, data_layout="NHWC"),
            'nn.conv2d(1, padding=[0, 0, 0, 0], channels=8, data_layout="NHWC")',
        ),
        (call("nn.conv2d", const(1), padding=(0, 0), channels=None), "nn.conv2d(1)"),
        (call("nn.dense", const(1)), "nn.dense(1, units=None)"),
        (call("transpose", const(1)), "transpose(1, axes=None)"),
        (
            call("nn.avg_pool2d", const(1), count_include_pad=True, pool_size=[2, 2], ceil_mode=True),
            "nn.avg_pool2d(1, pool_size=[2, 2], ceil_mode=True, count_include_pad=True)",
        ),
        (call("clip", const(1), a_min=-np.inf, a_max=np.float32(0.5)), "clip(1, a_min=-inff, a_max=0.5f)"),
        (Function([], Tuple([]), attrs={"T": None, "n": 1}), "fn (T=None, n=1) {\n  ()\n}"),
        (RefCreate(TupleGetItem(Tuple([const(1)]), 0)), "%0 = (1,);\n%1 = %0.0;\nref(%1)"),
    ],
)
def test_attributes(expr: Expr, text: str):
    assert pretty_print(expr) == text


def typed_network() -> Program:
    """A convolution with bias and an activation, as the import of a model names them."""

    def spanned(expr: Expr, name: str, *shape: int) -> Expr:
        expr.span, expr.type = named(name), TensorType(f32, shape)
        return expr

    x = Var("x", TensorType(f32, [1, 3, 8, 8]))
    spanned(x, "conv.x", 1, 3, 8, 8)
    weight = spanned(const(np.zeros((4, 3, 3, 3)), "float32"), "conv.w", 4, 3, 3, 3)
    bias = spanned(const(np.zeros(4), "float32"), "conv.b", 4)
    conv = call("nn.conv2d", x, weight, padding=(0, 0, 0, 0), channels=4, kernel_size=(3, 3))
    added = spanned(call("nn.bias_add", spanned(conv, "conv", 1, 4, 6, 6), bias), "conv", 1, 4, 6, 6)
    body = spanned(call("nn.relu", added), "act", 1, 4, 6, 6)
    return Program({"main": Function([x], body, TensorType(f32, [1, 4, 6, 6]), span=named("graph"))})


def test_types_and_layers():
    data, out = "Tensor[(1, 3, 8, 8), float32]", "Tensor[(1, 4, 6, 6), float32]"
    assert pretty_print(typed_network()) == (
        f"def @main(%x: {data} /* ty={data} span=conv.x:0:0 */) -> {out} {{\n"
        "  %0 = nn.conv2d(%x, meta[relay.Constant][0] /* ty=Tensor[(4, 3, 3, 3), float32] span=conv.w:0:0 */,"
        f" padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3]) /* ty={out} span=conv:0:0 */;\n"
        "  %1 = nn.bias_add(%0, meta[relay.Constant][1] /* ty=Tensor[(4), float32] span=conv.b:0:0 */)"
        f" /* ty={out} span=conv:0:0 */;\n"
        f"  nn.relu(%1) /* ty={out} span=act:0:0 */\n"
        "}\n"
    )


def test_functions_that_passes_made():
    main = typed_network().functions["main"]
    shapes = ([1, 3, 8, 8], [4, 3, 3, 3], [4])
    params = [Var(f"p{index}", TensorType(f32, shape)) for index, shape in enumerate(shapes)]
    conv = call("nn.conv2d", *params[:2], padding=(0, 0, 0, 0), channels=4, kernel_size=(3, 3))
    body = call("nn.relu", call("nn.bias_add", conv, params[2]))
    fused = Function(params, body, main.ret_type, attrs={"Primitive": 1})
    weights = [const(np.zeros(shape), "float32") for shape in shapes[1:]]
    x = Var("x", TensorType(f32, shapes[0]))
    assert pretty_print(Program({"main": Function([x], Call(fused, [x, *weights]), main.ret_type)})) == (
        "def @main(%x: Tensor[(1, 3, 8, 8), float32]) -> Tensor[(1, 4, 6, 6), float32] {\n"
        "  %2 = fn (%p0: Tensor[(1, 3, 8, 8), float32], %p1: Tensor[(4, 3, 3, 3), float32], "
        "%p2: Tensor[(4), float32], Primitive=1) -> Tensor[(1, 4, 6, 6), float32] {\n"
        "    %0 = nn.conv2d(%p0, %p1, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3]);\n"
        "    %1 = nn.bias_add(%0, %p2);\n"
        "    nn.relu(%1)\n"
        "  };\n"
        "  %2(%x, meta[relay.Constant][0], meta[relay.Constant][1])\n"
        "}\n"
    )


def test_several_layers():
    expr = call("exp", Var("x"))
    expr.span, expr.type = SequentialSpan([named("act"), named("bn")]), TensorType(f32, [4])
    assert pretty_print(expr).endswith("exp(%x) /* ty=Tensor[(4), float32] */ /* si=[ act, bn ] */")


def test_a_type_is_said_with_each_use_of_a_constant():
    one = const(1)
    one.type = FLOAT
    both = call("add", one, one)
    both.type = FLOAT
    assert pretty_print(both) == "add(1 /* ty=float32 */, 1 /* ty=float32 */) /* ty=float32 */"


def test_a_caller_may_say_other_things():
    program = typed_network()
    text = astext(program, annotate=lambda expr: " /* here */" if isinstance(expr, Call) else "")
    assert text.count("/* here */") == 3
    assert "span=" not in text


def test_a_text_without_its_metadata_says_so():
    program = typed_network()
    assert "#[metadata]" not in pretty_print(program)
    short = astext(program, show_meta_data=False)
    assert "#[metadata]" not in short
    assert "not shown" in short
    with pytest.raises(DiagnosticError, match=r"no entry in the meta table for `relay\.Constant`"):
        fromtext(short)


def test_devices():
    device = VirtualDevice(1, 0, "global")
    x = Var("x", FLOAT, virtual_device=device)
    text = astext(Function([x], x))
    assert "fn (%x {virtual_device=meta[VirtualDevice][0]}: float32) {" in text
    again = parse_expr(text)
    assert isinstance(again, Function)
    assert again.params[0].virtual_device == device


@pytest.mark.parametrize("name", ["evil\n*/ pwn /*", "a\r\x1b[31m*\n/", "/\n*", "*/", "\u2028x"])
def test_a_name_ends_no_comment_and_no_line(name: str):
    """Of a layer, and of the tensors beside it; the text gives the name back whole."""
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", [f"{name}x"], ["y"], name), helper.make_node("Neg", ["y"], ["z"], f"{name}2")]
    inputs, outputs = value(f"{name}x", TensorProto.FLOAT, [3]), value("z", TensorProto.FLOAT, [3])
    model = helper.make_model(
        helper.make_graph(nodes, name, [inputs], [outputs]), opset_imports=[helper.make_opsetid("", 21)]
    )
    text = astext(view(from_onnx(model)))
    lines = text[: text.index("#[metadata]")].splitlines()
    assert len(lines) == 6
    assert not any(ord(letter) < 32 for line in lines for letter in line)
    assert all(line.count("/*") == line.count("*/") for line in lines)
    again = relay.fromtext(text).module
    assert {f"{name}", f"{name}2"} <= {found for op in again.walk() for found in layer_names(op.location)}


def test_names_with_double_slashes_are_no_comments():
    value = helper.make_tensor_value_info("a//b", TensorProto.FLOAT, [3])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    graph = helper.make_graph([helper.make_node("Relu", ["a//b"], ["y"])], "g", [value], [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert "%a_/b" in astext(relay.fromtext(astext(view(from_onnx(model)), show_meta_data=False)).program)
