"""The ledger: why is this here, and where did it go?"""

from __future__ import annotations

import itertools

from xdsl.dialects.builtin import LocationAttr
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region

from whence.provenance.ledger import Ledger, clone_of, current_ledger, recording
from whence.provenance.numbers import number_all, number_of, numbered
from whence.provenance.span import fuse, layer_location

A, B, C = (layer_location(name, "m.onnx", index) for index, name in enumerate("abc"))
AB = fuse([A, B])


def op_at(location: LocationAttr, *inner: Operation) -> AnyOp:
    op = AnyOp(regions=[Region(Block(inner))] if inner else [])
    op.location = location
    return op


def filled() -> tuple[Ledger, dict[str, Operation]]:
    ledger = Ledger()
    ops: dict[str, Operation] = {name: op_at(at) for name, at in zip("abcxyz", (A, B, C, A, A, AB), strict=True)}
    with recording(ledger, "one"):
        ledger.record("Split", removed=[ops["a"]], created=[ops["x"], ops["y"]])
    with recording(ledger, "two"):
        ledger.record("Merge", removed=[ops["x"], ops["b"]], created=[ops["z"]], reason="cheaper")
        ledger.record("Tune", changed=[ops["c"]])
    with recording(ledger, "three"):
        ledger.record("Drop", removed=[ops["c"]], reason="nobody reads it")
    return ledger, ops


def made_by(ledger: Ledger, op: Operation) -> list[str]:
    return [entry.pattern for entry in ledger.history(number_of(op))]


def test_fate_follows_a_layer():
    ledger, _ = filled()
    assert [entry.pattern for entry in ledger.fate(A)] == ["Split", "Merge"]
    assert [entry.pattern for entry in ledger.fate(B)] == ["Merge"]
    assert [entry.pattern for entry in ledger.fate(C)] == ["Tune", "Drop"]
    assert ledger.fate(layer_location("unheard of", "m.onnx", 9)) == []


def test_history_walks_from_an_op_to_what_it_was_made_of():
    ledger, ops = filled()
    assert made_by(ledger, ops["x"]) == ["Split"]
    assert made_by(ledger, ops["z"]) == ["Split", "Merge"]
    assert made_by(ledger, ops["c"]) == ["Tune"]
    assert made_by(ledger, ops["b"]) == []


def test_an_op_of_the_same_name_and_layer_has_no_part_in_the_history():
    ledger, ops = filled()
    stranger = op_at(AB)
    assert made_by(ledger, stranger) == []
    ledger.record("Other", changed=[stranger])
    assert made_by(ledger, ops["z"]) == ["Split", "Merge"]


def test_a_copy_has_the_history_of_the_original_until_then():
    ledger, ops = filled()
    with recording(ledger, "four"):
        copy = clone_of(ops["z"])
        ledger.record("Original", changed=[ops["z"]])
        ledger.record("Copy", changed=[copy])
    assert made_by(ledger, copy) == ["Split", "Merge", "Copy"]
    assert made_by(ledger, ops["z"]) == ["Split", "Merge", "Original"]


def test_what_comes_in_an_op_is_made_with_it_and_what_moved_there_is_not():
    ledger = Ledger()
    moved, new = op_at(A), op_at(A)
    number_of(moved)
    ledger.record("Wrap", created=[loop := op_at(A, moved, new)])
    assert [made_by(ledger, op) for op in (loop, new, moved)] == [["Wrap"], ["Wrap"], []]
    after = op_at(A)
    ledger.record("Unwrap", removed=[loop], created=[after])
    assert made_by(ledger, after) == ["Wrap", "Unwrap"]


def test_a_ledger_goes_on_in_another():
    ledger, ops = filled()
    later = Ledger()
    with recording(later, "four"):
        copy = clone_of(ops["z"])
        later.record("Copy", changed=[copy])
    ledger.go_on(later)
    assert made_by(ledger, copy) == ["Split", "Merge", "Copy"]


def test_only_what_has_no_number_gets_one():
    ops = [op_at(A), op_at(B)]
    first = number_of(ops[0])
    assert (numbered(ops[0]), numbered(ops[1])) == (first, 0)
    assert number_all(op_at(C, *ops))[1:] == [ops[1]]
    assert number_of(ops[0]) == first != number_of(ops[1])


def test_explained_are_the_layers_of_removed_ops():
    assert filled()[0].explained() == {A, B, C}
    ledger = Ledger()
    ledger.record("Tune", changed=[op_at(C)])
    assert ledger.explained() == set()


def test_questions_may_come_between_entries():
    ledger = Ledger()
    first, second = op_at(A), op_at(AB)
    assert (ledger.fate(A), made_by(ledger, first), ledger.explained()) == ([], [], set())
    ledger.record("First", removed=[first])
    assert len(ledger.fate(A)) == 1
    ledger.record("Second", removed=[op_at(layer_location("a", "m.onnx", 0))], created=[second])
    assert [entry.pattern for entry in ledger.fate(A)] == ["First", "Second"]
    assert made_by(ledger, second) == ["Second"]


def test_text_of_entries():
    assert [str(entry) for entry in filled()[0].entries] == [
        "one: Split: test.op -> test.op, test.op",
        "two: Merge: test.op, test.op -> test.op (cheaper)",
        "two: Tune: changed in place",
        "three: Drop: test.op removed (nobody reads it)",
    ]


def test_scopes_nest():
    outer, inner = Ledger(), Ledger()
    assert current_ledger() is None
    with recording(outer, "outer"):
        with recording(inner, "inner"):
            assert current_ledger() is inner
        assert current_ledger() is outer
        with recording(outer, "part"):
            outer.record("P")
        outer.record("Q")
    assert current_ledger() is None
    assert [entry.pass_name for entry in outer.entries] == ["part", "outer"]
    assert outer.pass_name == ""


def test_a_long_ledger_answers():
    ledger = Ledger()
    layers = [layer_location(f"l{index}", "m.onnx", index) for index in range(2000)]
    ops = [op_at(layer) for layer in layers]
    for old, new in itertools.pairwise(ops):
        ledger.record("Step", removed=[old], created=[new])
    assert all(len(ledger.fate(layer)) == 1 for layer in layers[:-1])
    assert len(made_by(ledger, ops[-1])) == 1999
    assert ledger.explained() == set(layers[:-1])


def test_text_of_entries_steers_no_terminal():
    ledger = Ledger(pass_name="pass")
    ledger.note("Drop", removed=["op\x1b[31m"], reason="a\nb")
    assert str(ledger.entries[0]) == r"pass: Drop: op\x1b[31m removed (a\nb)"
