"""What differs between stages: ops by their numbers, texts as edits, names that stay."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from whence.dialects.relay.elementwise import AddOp
from whence.explorer.session.states import Ops, increasing
from whence.explorer.session.text import applied
from whence.explorer.session.texts import StagePrinter, Text, edits_of
from whence.passes.runner import pass_context
from whence.provenance.lost import mark_lost
from whence.provenance.numbers import number_of, same_module
from whence.provenance.walk import walk

TEXT = """
relay.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>) {
  %a = relay.negative %x : (tensor<2xf32>) -> tensor<2xf32>
  %b = relay.nn.relu %y : (tensor<2xf32>) -> tensor<2xf32>
  %c = relay.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %c : tensor<2xf32>
}
"""


@pytest.fixture
def module() -> ModuleOp:
    module = Parser(pass_context(), TEXT).parse_module()
    mark_lost(module, "test")
    return module


def numbers(module: ModuleOp) -> dict[str, int]:
    return {op.name.removeprefix("relay."): number_of(op) for op in walk(module)}


def test_nothing_differs_in_a_module_of_the_same_ops(module: ModuleOp):
    ops = Ops()
    assert ops.update(module)
    assert not ops.update(module)
    assert not ops.update(same_module(module))


def test_an_op_of_other_operands_changed_and_one_of_another_order_moved(module: ModuleOp):
    ops, number = Ops(), numbers(module)
    ops.update(module)
    add = next(op for op in walk(module) if isinstance(op, AddOp))
    add.operands[0], add.operands[1] = add.operands[1], add.operands[0]
    assert ops.update(module).changed == (number["add"],)
    add.result.name_hint = "other"
    assert not ops.update(module)
    negative = next(op for op in walk(module) if op.name == "relay.negative")
    relu = next(op for op in walk(module) if op.name == "relay.nn.relu")
    relu.detach()
    negative.parent_block().insert_op_before(relu, negative)  # pyright: ignore[reportOptionalMemberAccess]
    moved = ops.update(module)
    assert len(moved.moved) == 1
    assert moved.moved[0] in (number["negative"], number["nn.relu"])
    assert not moved.new + moved.gone + moved.changed


def test_an_op_that_is_in_another_one_is_a_difference():
    text = 'builtin.module { builtin.module { "test.a"() : () -> () \n "test.b"() : () -> () } }'
    context = pass_context()
    context.allow_unregistered = True
    module = Parser(context, text).parse_module()
    ops = Ops()
    ops.update(module)
    inner = module.body.block.first_op
    assert isinstance(inner, ModuleOp)
    last = inner.body.block.last_op
    assert last is not None
    last.detach()
    module.body.block.add_op(last)
    difference = ops.update(module)
    assert difference.nested
    assert not difference.moved


def test_the_longest_increasing_places_are_as_long_as_by_trial():
    chance = random.Random(3)
    for size in range(1, 8):
        values = chance.sample(range(100), size)
        places = increasing(values)
        assert [values[k] for k in places] == sorted(values[k] for k in places)
        trials = ([v for k, v in enumerate(values) if bits >> k & 1] for bits in range(1 << size))
        assert len(places) == max(len(trial) for trial in trials if trial == sorted(trial))


def test_edits_make_one_text_of_another():
    chance = random.Random(5)
    for _ in range(200):
        texts: list[Text] = []
        for _ in range(2):
            size = chance.randrange(8)
            ops = chance.sample(range(1, 9), size)
            texts.append(Text([f"op {op} {chance.randrange(2)}" if op % 3 else "}" for op in ops], ops, [None] * size))
        before, after = texts
        edits = edits_of(before, after)
        assert applied(edits, before.lines) == after.lines


def test_lines_of_ops_that_stay_are_no_edits():
    before = Text([f"op {k}" for k in range(100)], list(range(1, 101)), [None] * 100)
    keep = [k for k in range(100) if k not in (10, 50)]
    after = Text([before.lines[k] for k in keep], [before.ops[k] for k in keep], [None] * 98)
    assert edits_of(before, after) == [(10, 1, []), (49, 1, [])]


def test_a_value_keeps_its_name_and_only_what_changed_is_printed(module: ModuleOp, monkeypatch: pytest.MonkeyPatch):
    printer, ops = StagePrinter(), Ops()
    ops.update(module)
    first = printer(module, ())
    add = next(op for op in walk(module) if isinstance(op, AddOp))
    printed: list[str] = []
    before = AddOp.print

    def counted(op: AddOp, to: Printer) -> None:
        printed.append(op.name)
        before(op, to)

    monkeypatch.setattr(AddOp, "print", counted)
    assert printer(module, ()).lines == first.lines
    assert printed == []
    negative = next(op for op in walk(module) if op.name == "relay.negative")
    add.operands[0] = add.operands[1]
    difference = ops.update(module)
    second = printer(module, difference.changed)
    assert printed == ["relay.add"]
    negative.detach()
    negative.erase()
    third = printer(module, ())
    assert [line for line in second.lines if "negative" not in line] == third.lines
    assert len(set(second.lines) - set(first.lines)) == 1
