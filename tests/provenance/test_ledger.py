"""The ledger: why is this here, and where did it go?"""

from __future__ import annotations

from whence.provenance.ledger import Ledger, current_ledger, recording
from whence.provenance.span import fuse, layer_location

A, B, C = (layer_location(name, "m.onnx", index) for index, name in enumerate("abc"))
AB = fuse([A, B])


def filled() -> Ledger:
    ledger = Ledger()
    with recording(ledger, "one"):
        ledger.record("Split", removed=["op.a"], created=["op.x", "op.y"], before=[A], after=[A, A])
    with recording(ledger, "two"):
        ledger.record("Merge", removed=["op.x", "op.b"], created=["op.z"], before=[A, B], after=[AB], reason="cheaper")
        ledger.record("Tune", before=[C], after=[C])
    with recording(ledger, "three"):
        ledger.record("Drop", removed=["op.c"], before=[C], reason="nobody reads it")
    return ledger


def test_fate_follows_a_layer():
    ledger = filled()
    assert [entry.pattern for entry in ledger.fate(A)] == ["Split", "Merge"]
    assert [entry.pattern for entry in ledger.fate(B)] == ["Merge"]
    assert [entry.pattern for entry in ledger.fate(C)] == ["Tune", "Drop"]
    assert ledger.fate(layer_location("unheard of", "m.onnx", 9)) == []


def test_why_finds_what_made_an_op_or_parts_of_it():
    ledger = filled()
    assert [entry.pattern for entry in ledger.why(A)] == ["Split"]
    assert [entry.pattern for entry in ledger.why(AB)] == ["Split", "Merge"]
    assert ledger.why(B) == []


def test_explained_are_the_layers_of_removed_ops():
    assert filled().explained() == {A, B, C}
    ledger = Ledger()
    ledger.record("Tune", before=[C], after=[C])
    assert ledger.explained() == set()


def test_questions_may_come_between_entries():
    ledger = Ledger()
    assert (ledger.fate(A), ledger.why(A), ledger.explained()) == ([], [], set())
    ledger.record("First", removed=["op.a"], before=[A])
    assert len(ledger.fate(A)) == 1
    ledger.record("Second", removed=["op.a"], before=[layer_location("a", "m.onnx", 0)], after=[AB])
    assert [entry.pattern for entry in ledger.fate(A)] == ["First", "Second"]
    assert [entry.pattern for entry in ledger.why(AB)] == ["Second"]


def test_text_of_entries():
    assert [str(entry) for entry in filled().entries] == [
        "one: Split: op.a -> op.x, op.y",
        "two: Merge: op.x, op.b -> op.z (cheaper)",
        "two: Tune: changed in place",
        "three: Drop: op.c removed (nobody reads it)",
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
    for layer in layers:
        ledger.record("Split", removed=["op"], created=["op"], before=[layer], after=[layer])
    assert all(len(ledger.fate(layer)) == 1 and len(ledger.why(layer)) == 1 for layer in layers)
    assert ledger.explained() == set(layers)


def test_text_of_entries_steers_no_terminal():
    ledger = Ledger(pass_name="pass")
    ledger.record("Drop", removed=["op\x1b[31m"], reason="a\nb")
    assert str(ledger.entries[0]) == r"pass: Drop: op\x1b[31m removed (a\nb)"
