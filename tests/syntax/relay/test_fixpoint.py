"""Expressions made of ops become the same ops and expressions again."""

from __future__ import annotations

import pytest

from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.view import view
from whence.syntax.text import fromtext, pretty_print

T = "Tensor[(2), float32]"
PROGRAMS = {
    "a call that gives nothing": f"""
      def @note(%r: ref({T}), %x: {T}) -> () {{ ref_write(%r, %x) }}
      def @main(%x: {T}) {{ let %r = ref(%x); let %a = @note(%r, %x); let %b = @note(%r, %x); (%b, ref_read(%r)) }}""",
    "a call of several results, behind others": f"""
      def @again(%n: int32, %x: {T}) -> ({T}, {T}) {{
        if (%n == 0) {{ (%x, %x) }} else {{
          let %r = ref(%x); let %s = ref_read(%r); let %v = exp(%s); let %w = @again(%n - 1, %v); %w }} }}
      def @main(%x: {T}) {{ @again(2, %x) }}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_stay(name: str) -> None:
    first = view(elaborate(fromtext('#[version = "0.0.5"]\n' + PROGRAMS[name])))
    text = pretty_print(first)
    again = view(elaborate(first))
    assert structural_equal(first, again), f"{text}\n{pretty_print(again)}"
