"""Types follow from one another, and errors say where they cannot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.utils.exceptions import VerifyException

from whence import relay
from whence.dialects.located_parser import LocatedParser
from whence.passes.pipelines import run_passes
from whence.passes.relay.analysis.traversal import functions_of
from whence.passes.relay.infer_type import InferTypePass, infer_types
from whence.passes.runner import pass_context
from whence.support.errors import FrontendError

Parse = Callable[[str], ModuleOp]
LANGUAGE = Path(__file__).parents[2] / "filecheck/dialects/relay/language.mlir"
T = "tensor<4xf32>"
WIDE = "tensor<2x4xf32>"

PROGRAM = """
  relay.func @half(%x: {t}) -> ({t}) {{
    %y = relay.negative %x : ({t}) -> {t}
    relay.return %y : {t}
  }}
  relay.func @main(%x: {t}, %c: tensor<i1>, %z: tensor<4xf32>) -> ({t}) {{
    %untouched = relay.exp %z : (tensor<4xf32>) -> tensor<4xf32>
    %a = relay.let pure {{
      %a = relay.exp %x : ({t}) -> {t}
      relay.yield %a : {t}
    }}
    %f = relay.fn (%p: tensor<i32>) -> {t} {{
      relay.yield %a : {t}
    }}
    %one = relay.constant dense<1> : tensor<i32>
    %b = relay.invoke %f(%one) : ((tensor<i32>) -> {t}, tensor<i32>) -> {t}
    %t = relay.tuple %b, %c : tuple<{t}, tensor<i1>>
    %m = relay.match %t : tuple<{t}, tensor<i1>> -> {t} {{
    case (%q: {t}, _) {{
      %n = relay.log %q : ({t}) -> {t}
      relay.yield %n : {t}
    }}
    }}
    %r = relay.ref_create %m : {t} -> !relay.ref<{t}>
    %v = relay.ref_read %r : !relay.ref<{t}> -> {t}
    %w = relay.if %c : tensor<i1> -> {t} {{
      relay.yield %v : {t}
    }} else {{
      %g = relay.tuple_get_item %t[0] : tuple<{t}, tensor<i1>>
      relay.yield %g : {t}
    }}
    relay.return %w : {t}
  }}
"""


def test_a_program_that_is_typed_stays(parse: Parse) -> None:
    module = parse(LANGUAGE.read_text())
    text = str(module)
    run_passes(module, [InferTypePass()], audit=True)
    assert str(module) == text


def widen(module: ModuleOp, name: str) -> None:
    """Give the first parameter of a function one more dimension."""
    block = functions_of(module)[name].block
    old = block.args[0]
    new = block.insert_arg(TensorType(f32, [2, 4]), 0, old.location)
    new.name_hint = old.name_hint
    old.replace_all_uses_with(new)
    block.erase_arg(old)


def test_a_change_goes_through_all_that_depends_on_it(parse: Parse) -> None:
    module, expected = parse(PROGRAM.format(t=T)), parse(PROGRAM.format(t=WIDE))
    widen(module, "half")
    widen(module, "main")
    run_passes(module, [InferTypePass()], audit=True)
    module.verify()
    assert str(module) == str(expected)


def test_only_what_depends_on_a_change_is_inferred(parse: Parse) -> None:
    module = parse(PROGRAM.format(t=T))
    whole = infer_types(module)
    assert infer_types(module, []) == 0
    widen(module, "half")
    assert infer_types(module, [functions_of(module)["half"].block.args[0]]) == 3
    widen(module, "main")
    some = infer_types(module, [functions_of(module)["main"].block.args[0]])
    module.verify()
    assert 3 < some < whole - 3


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            f"""%y = relay.if %c : tensor<i1> -> {WIDE} {{ relay.yield %x : {T} }} else {{ relay.yield %w : {WIDE} }}
            relay.return %y : {WIDE}""",
            "relay.if: expected a false branch of tensor<4xf32>, as the true one, got tensor<2x4xf32>",
        ),
        (
            f"""%f = relay.fn (%p: {T}) -> {T} {{ relay.yield %p : {T} }}
            %y = relay.invoke %f(%w) : (({T}) -> {T}, {WIDE}) -> {WIDE}
            relay.return %y : {WIDE}""",
            "relay.invoke: expected arguments tensor<4xf32>, got tensor<2x4xf32>",
        ),
        (
            f"%y = relay.nn.dense %x, %w : ({T}, {WIDE}) -> {WIDE} relay.return %y : {WIDE}",
            "relay.nn.dense: expected",
        ),
    ],
)
def test_types_that_do_not_fit_are_named(body: str, error: str) -> None:
    text = f"relay.func @main(%x: {T}, %w: {WIDE}, %c: tensor<i1>) -> ({WIDE}) {{\n{body}\n}}"
    module = LocatedParser(pass_context(), text, "net.mlir").parse_module()
    with pytest.raises(VerifyException) as caught:
        infer_types(module)
    assert str(caught.value).startswith(error)
    assert "net.mlir" in str(caught.value)


OPEN = "Tensor[(?), float32]"
BRANCHING = {
    "if": f"def @main(%c: bool, %x: Tensor[(2), float32], %y: {OPEN}) {{ if (%c) {{ %x }} else {{ %y }} }}",
    "the same name": f"def @main(%c: bool, %x: {OPEN}, %y: {OPEN}) {{ exp(if (%c) {{ %x }} else {{ %y }}) }}",
    "match": f"""
      type Either {{ Two(Tensor[(2), float32]), Any({OPEN}) }}
      def @main(%e: Either) {{ exp(match (%e) {{ Two(%a) => %a, Any(%b) => %b }}) }}""",
    "a closure that calls itself": f"""
      def @main(%n: int32, %a: Tensor[(2), float32]) {{
        let %f = fn (%k: int32) -> {OPEN} {{
          if (%k == 0) {{ %a }} else {{ let %b = %f(%k - 1); concatenate((%b, %b)) }} }};
        %f(%n) }}""",
}


@pytest.mark.parametrize("name", BRANCHING)
def test_expressions_have_the_types_that_follow_on_ops(name: str) -> None:
    module = relay.fromtext('#[version = "0.0.5"]\n' + BRANCHING[name]).module
    text = str(module)
    infer_types(module)
    assert str(module) == text
    assert functions_of(module)["main"].function_type.outputs.data == (TensorType(f32, [DYNAMIC_INDEX]),)


def test_branches_of_one_size_keep_its_name() -> None:
    c, x, y = relay.var("c", "bool"), relay.var("x", shape=("n", 2, "k")), relay.var("y", shape=("n", 3, "m"))
    with pytest.raises(FrontendError, match=r"if: expected .*, got "):
        assert relay.IRModule.from_expr(relay.Function([c, x, y], relay.If(c, x, y))).module
    y = relay.var("y", shape=("n", 2, "m"))
    module = relay.IRModule.from_expr(relay.Function([c, x, y], relay.If(c, x, y))).module
    (output,) = functions_of(module)["main"].function_type.outputs.data
    assert str(output) == "tensor<?x2x?xf32, #relay.sizes<n, ?>>"
