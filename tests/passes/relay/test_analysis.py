"""What passes ask of programs: ways through them, their variables, equality, features, purity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import Operation

from whence.dialects.relay.binding import LetOp
from whence.dialects.relay.core import CallOp, FuncOp, ReturnOp
from whence.dialects.relay.elementwise import ExpOp, LogOp, NegativeOp
from whence.dialects.relay.functions import FnOp, InvokeOp
from whence.passes.relay.analysis.features import Feature, detect_feature, list_op_freqs
from whence.passes.relay.analysis.mac_count import get_total_mac_number
from whence.passes.relay.analysis.purity import analyse_purity, mark_calls
from whence.passes.relay.analysis.traversal import functions_of, post_order, pre_order
from whence.passes.relay.analysis.variables import free_type_vars, free_vars
from whence.passes.relay.analysis.visitor import Mutator, Result, Visitor
from whence.passes.relay.analysis.well_formed import well_formed
from whence.syntax.relay.equal import structural_equal, structural_hash
from whence.syntax.relay.view import view

Parse = Callable[[str], ModuleOp]
LANGUAGE = Path(__file__).parents[2] / "filecheck/dialects/relay/language.mlir"
T = "tensor<4xf32>"


def first(module: ModuleOp, kind: type[Operation]) -> Operation:
    return next(op for op in pre_order(module) if isinstance(op, kind))


@pytest.fixture
def language(parse: Parse) -> ModuleOp:
    return parse(LANGUAGE.read_text())


def test_orders_meet_every_op_once(language: ModuleOp) -> None:
    before, after = list(pre_order(language)), list(post_order(language))
    assert before == list(language.walk())
    assert after == list(language.walk(region_first=True))


class Names(Visitor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit(self, op: Operation) -> None:
        self.seen.append(op.name.removeprefix("relay."))

    def enter_let(self, let: LetOp) -> None:
        self.seen.append("let {")

    def visit_binding(self, op: Operation, let: LetOp) -> None:
        self.seen.append(f"{op.results[0].name_hint} =")

    def leave_let(self, let: LetOp) -> None:
        self.seen.append("}")


def test_a_visitor_meets_bindings_one_by_one(parse: Parse) -> None:
    module = parse(f"""
      relay.func @main(%x: {T}) -> ({T}) {{
        %b = relay.let pure {{
          %a = relay.exp %x : ({T}) -> {T}
          %0 = relay.log %a : ({T}) -> {T}
          %b = relay.negative %0 : ({T}) -> {T}
          relay.yield %b : {T}
        }}
        relay.return %b : {T}
      }}""")
    names = Names()
    names.run(functions_of(module)["main"])
    assert names.seen == ["let {", "a =", "log", "b =", "yield", "}", "return", "func"]


class LogForExp(Mutator):
    def rewrite(self, op: Operation, operands: object) -> Result:
        values = [self.memo.get(value, value) for value in op.operands]
        return LogOp(values[0]) if isinstance(op, ExpOp) else None


def test_a_mutator_leaves_its_input_as_it_is(language: ModuleOp) -> None:
    text = str(language)
    made = LogForExp().run(language)
    made.verify()
    assert str(language) == text
    assert str(made) == text.replace("relay.exp", "relay.log")
    assert [op.location for op in made.walk()] == [op.location for op in language.walk()]
    assert structural_equal(view(Mutator().run(language)), view(language))


def chain(length: int) -> ModuleOp:
    type_ = TensorType(f32, [4])
    main = FuncOp("main", [type_], [type_])
    value = main.block.args[0]
    for _ in range(length):
        main.block.add_op(op := NegativeOp(value))
        value = op.result
    main.block.add_op(ReturnOp(value))
    return ModuleOp([main])


def test_long_programs_do_not_recurse() -> None:
    module = chain(1200)
    program = view(module)
    assert structural_equal(program, view(Mutator().run(module)))
    assert structural_hash(program) == structural_hash(view(chain(1200))) != structural_hash(view(chain(1201)))


CLOSURE = f"""
  relay.func @main(%x: {T}, %b: {T}) -> ({T}) {{
    %f = relay.fn["A"] (%p: {T}, %q: !relay.type_var<"A">) -> {T} {{
      %s = relay.add %p, %b : ({T}, {T}) -> {T}
      relay.yield %s : {T}
    }}
    relay.return %x : {T}
  }}"""


def test_variables(parse: Parse) -> None:
    fn = first(parse(CLOSURE), FnOp)
    assert [value.name_hint for value in free_vars(fn)] == ["b"]
    assert free_type_vars(fn) == []
    module = parse('relay.func @f(%x: !relay.type_var<"A">) -> () { relay.return }')
    assert free_type_vars(module) == ["A"]


def function(parse: Parse, body: str) -> ModuleOp:
    return parse(f"relay.func @main(%x: {T}, %y: {T}) -> ({T}) {{\n{body}\n}}")


EXP = f"relay.exp %x : ({T}) -> {T}"
LOG = f"relay.log %x : ({T}) -> {T}"
SUM = f"%c = relay.add %a, %b : ({T}, {T}) -> {T} relay.return %c : {T}"


@pytest.mark.parametrize(
    ("lhs", "rhs", "equal"),
    [
        pytest.param(f"%a = {EXP} relay.return %a : {T}", f"%b = {EXP} relay.return %b : {T}", True, id="names"),
        pytest.param(
            f"%a = {EXP} relay.return %a : {T}",
            f"%a = relay.exp %y : ({T}) -> {T} relay.return %a : {T}",
            False,
            id="args",
        ),
        pytest.param(
            f"%a = {EXP} %b = {LOG} {SUM}",
            f"%b = {LOG} %a = {EXP} {SUM}",
            True,
            id="order of what only computes",
        ),
        pytest.param(
            f"%a = {EXP} %c = relay.add %a, %a : ({T}, {T}) -> {T} relay.return %c : {T}",
            f"%a = {EXP} %b = {EXP} {SUM}",
            False,
            id="shared or computed twice",
        ),
        pytest.param(
            f"%a = relay.let pure {{ %b = {EXP} relay.yield %b : {T} }} relay.return %a : {T}",
            f"%a = relay.let pure {{ %b = relay.let pure {{ %c = {EXP} relay.yield %c : {T} }} "
            f"relay.yield %b : {T} }} relay.return %a : {T}",
            True,
            id="let-blocks that could be one",
        ),
        pytest.param(
            f"%a = relay.let pure {{ %b = {EXP} %c = {LOG} relay.yield %b : {T} }} relay.return %a : {T}",
            f"%a = relay.let pure {{ %c = {LOG} %b = {EXP} relay.yield %b : {T} }} relay.return %a : {T}",
            False,
            id="order of bindings",
        ),
        pytest.param(
            f"%a = relay.let pure {{ %b = {EXP} relay.yield %b : {T} }} relay.return %a : {T}",
            f"%a = {EXP} relay.return %a : {T}",
            False,
            id="bound or not",
        ),
    ],
)
def test_ops_compare_as_the_expressions_that_they_are_shown_as(parse: Parse, lhs: str, rhs: str, equal: bool) -> None:
    mine, other = view(function(parse, lhs)), view(function(parse, rhs))
    assert structural_equal(mine, other) is equal
    assert (structural_hash(mine) == structural_hash(other)) is equal


def test_features(language: ModuleOp) -> None:
    assert detect_feature(language) == frozenset(Feature)
    assert list_op_freqs(language) == {"add": 1, "exp": 1, "negative": 1}


def test_well_formed(language: ModuleOp) -> None:
    assert well_formed(language)
    main = functions_of(language)["main"]
    exp = first(language, ExpOp)
    exp.detach()
    last = main.block.last_op
    assert last is not None
    main.block.insert_op_before(exp, last)
    assert not well_formed(language)


def test_macs(parse: Parse) -> None:
    module = parse("""
      relay.func @main(
        %x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %d: tensor<2x5xf32>, %e: tensor<7x5xf32>
      ) -> () {
        %a = relay.nn.conv2d %x, %w {groups = 2, padding = [1, 1], channels = 6, kernel_size = [3, 3]}
          : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x8x8xf32>
        %b = relay.nn.dense %d, %e : (tensor<2x5xf32>, tensor<7x5xf32>) -> tensor<2x7xf32>
        relay.return
      }""")
    assert get_total_mac_number(module) == 6 * 8 * 8 * 2 * 9 + 2 * 7 * 5


PURITY = f"""
  relay.func @even(%x: {T}) -> ({T}) {{ %y = relay.call impure @odd(%x) : ({T}) -> {T} relay.return %y : {T} }}
  relay.func @odd(%x: {T}) -> ({T}) {{ %y = relay.call @even(%x) : ({T}) -> {T} relay.return %y : {T} }}
  relay.func @reads(%r: !relay.ref<{T}>) -> ({T}) {{
    %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
    relay.return %v : {T}
  }}
  relay.func @indirect(%r: !relay.ref<{T}>) -> ({T}) {{
    %y = relay.call @reads(%r) : (!relay.ref<{T}>) -> {T}
    relay.return %y : {T}
  }}
  relay.func @drops(%x: {T}) -> ({T}) {{
    %y, %mask = relay.nn.dropout %x : ({T}) -> ({T}, {T})
    relay.return %y : {T}
  }}
  relay.func @makes(%r: !relay.ref<{T}>) -> (() -> {T}) {{
    %f = relay.fn () -> {T} {{
      %v = relay.ref_read %r : !relay.ref<{T}> -> {T}
      relay.yield %v : {T}
    }}
    relay.return %f : () -> {T}
  }}
  relay.func @unknown(%f: ({T}) -> {T}, %x: {T}) -> ({T}) {{
    %y = relay.invoke %f(%x) : (({T}) -> {T}, {T}) -> {T}
    relay.return %y : {T}
  }}
  relay.func @known(%x: {T}, %c: tensor<i1>) -> ({T}) {{
    %f = relay.let rec (%self: ({T}) -> {T}) {{
      %fn = relay.fn (%p: {T}) -> {T} {{
        %again = relay.invoke %self(%p) : (({T}) -> {T}, {T}) -> {T}
        relay.yield %again : {T}
      }}
      relay.yield %fn : ({T}) -> {T}
    }}
    %g = relay.global @even : ({T}) -> {T}
    %h = relay.if %c : tensor<i1> -> ({T}) -> {T} {{
      relay.yield %f : ({T}) -> {T}
    }} else {{
      relay.yield %g : ({T}) -> {T}
    }}
    %y = relay.invoke impure %h(%x) : (({T}) -> {T}, {T}) -> {T}
    relay.return %y : {T}
  }}"""


def test_purity_of_functions(parse: Parse) -> None:
    module = parse(PURITY)
    impure = {f.sym_name.data for f in analyse_purity(module).impure if isinstance(f, FuncOp)}
    assert impure == {"reads", "indirect", "drops", "unknown"}


def test_marks_are_set_and_cleared(parse: Parse) -> None:
    module = parse(PURITY)
    mark_calls(module)
    marks = {
        (around.sym_name.data, op.callee.string_value() if isinstance(op, CallOp) else "")
        for around in functions_of(module).values()
        for op in pre_order(around)
        if isinstance(op, CallOp | InvokeOp) and op.impure is not None
    }
    assert marks == {("indirect", "reads"), ("unknown", "")}
    assert mark_calls(module) == []
