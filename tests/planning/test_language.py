"""Programs of the language as steps: what is gathered, what waits, what dies when."""

from __future__ import annotations

from pathlib import Path

import language_programs as programs
import pytest

from whence.planning.language import Program, translate
from whence.runtime.interpreting.flow import Region
from whence.runtime.interpreting.language import Call, Choose, Instruction, Match, Native


def translated(text: str, folder: Path) -> Program:
    return translate(programs.module_of(text, folder))


def kinds(region: Region) -> list[str]:
    return [type(step).__name__ for step in region.steps]


AROUND = """
relay.func @main(%x: $V, %y: $V) -> ($V) {
  %a = relay.exp %x : ($V) -> $V
  %t = relay.tuple %a, %y : tuple<$V, $V>
  %unread = relay.negative %a : ($V) -> $V
  %b = relay.call @f(%y) : ($V) -> $V
  %c = relay.tuple_get_item %t[0] : tuple<$V, $V>
  %d = relay.add %b, %c : ($V, $V) -> $V
  %e = relay.call @f(%d) : ($V) -> $V
  %g = relay.add %e, %c : ($V, $V) -> $V
  relay.return %g : $V
}
relay.func @f(%x: $V) -> ($V) {
  relay.return %x : $V
}
"""


def test_operators_are_gathered_around_what_does_not_read_them(tmp_path: Path):
    main = translated(AROUND, tmp_path).functions["main"]
    # Neither the tuple, which is taken apart again, nor what nobody reads is left.
    assert kinds(main) == ["Call", "Native", "Call", "Native"]
    _, first, call, second = main.steps
    assert (first.inputs, first.outputs) == (("x", "b"), ("a", "d"))
    assert (call.inputs, second.inputs) == (("d",), ("e", "a"))


def test_values_die_with_their_last_reader(tmp_path: Path):
    main = translated(AROUND, tmp_path).functions["main"]
    dying = [step.dying for step in main.steps if isinstance(step, Instruction)]
    assert dying == [("y",), ("b", "x"), ("d",), ("a", "e")]


def test_what_only_the_other_branch_reads_dies_first(tmp_path: Path):
    text = """
    relay.func @main(%c: $B, %x: $V, %y: $V, %z: $V) -> ($V) {
      %r = relay.if %c : $B -> $V {
        %a = relay.add %x, %z : ($V, $V) -> $V
        relay.yield %a : $V
      } else {
        relay.yield %y : $V
      }
      %s = relay.add %r, %z : ($V, $V) -> $V
      relay.return %s : $V
    }
    """
    choice, _ = translated(text, tmp_path).functions["main"].steps
    assert isinstance(choice, Choose)
    assert choice.unread == (("c", "y"), ("c", "x"))
    (inner,) = choice.regions[0].steps
    assert isinstance(inner, Native)
    # `z` is read again behind the branches.
    assert inner.dying == ("x",)


@pytest.mark.parametrize(("function", "tail"), [("onto", True), ("copy", False)])
def test_calls_in_tail_position(function: str, tail: bool, tmp_path: Path):
    region = translated(programs.REVERSE, tmp_path).functions[function]
    (match,) = region.steps
    assert isinstance(match, Match)
    assert match.tail
    (call,) = (step for step in match.regions[0].steps if isinstance(step, Call))
    assert call.tail == tail


def test_clauses_bind_what_they_read(tmp_path: Path):
    main = translated(programs.PATTERNS, tmp_path).functions["main"]
    match = next(step for step in main.steps if isinstance(step, Match))
    first, second, third, _ = match.clauses
    assert first.opened == ((0, None), (1, None), (2, 0), (3, 0), (6, 0), (8, 1))
    assert [len(clause.bound) for clause in (first, second, third)] == [3, 2, 1]
    text = programs.PATTERNS.replace("%a, %b : ($I, $I)", "%b, %b : ($I, $I)")
    match = next(step for step in translated(text, tmp_path).functions["main"].steps if isinstance(step, Match))
    assert len(match.clauses[0].bound) == len(match.regions[0].inputs) == 2


def test_every_region_has_its_own_constants(tmp_path: Path):
    text = """
    relay.func @main(%x: $V) -> (($V) -> $V) {
      %w = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : $V
      %f = relay.fn (%y: $V) -> $V {
        %z = relay.add %y, %w : ($V, $V) -> $V
        relay.yield %z : $V
      }
      relay.return %f : ($V) -> $V
    }
    """
    (closures,) = translated(text, tmp_path).functions["main"].steps
    assert closures.inputs == ()
