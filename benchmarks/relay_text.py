"""Chains of 9,000 and 90,000 additions as Relay text: CPU seconds to read, print, compare; us per addition.

Nothing recurses over the length of a chain, and everything is linear in it: the figures per addition stay the same.
`typed` is what a compiled module prints: with a comment per expression, and a source map.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects.builtin import TensorType, f32

from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import Function
from whence.syntax.relay.nodes import post_order
from whence.syntax.text import astext, parse_expr, pretty_print

T = TypeVar("T")
TYPE = TensorType(f32, [3, 2])


def chain(length: int) -> str:
    """The text of a function that adds a number `length` times."""
    lines = [f"  %{k} = add(%{k - 1}, 1e+11f);" if k else "  %0 = add(%x, 1e+11f);" for k in range(length - 1)]
    head = "fn (%x: Tensor[(3, 2), float32]) -> Tensor[(3, 2), float32] {"
    return "\n".join([head, *lines, f"  add(%{length - 2}, 1e+11f)", "}"])


def timed(rows: list[tuple[str, float]], what: str, work: Callable[[], T]) -> T:
    start = time.process_time()
    result = work()
    rows.append((what, time.process_time() - start))
    return result


def measured(length: int) -> list[tuple[str, float]]:
    """What each step takes."""
    rows: list[tuple[str, float]] = []
    text = chain(length)
    expr = timed(rows, "read", lambda: parse_expr(text))
    assert isinstance(expr, Function)
    timed(rows, "print", lambda: pretty_print(expr))
    for node in post_order(expr):
        node.type = TYPE
    long = timed(rows, "print, typed", lambda: astext(expr))
    again = timed(rows, "read, typed", lambda: parse_expr(long))
    same = timed(rows, "compare, typed", lambda: structural_equal(again, expr, spans=True))
    assert same
    return rows


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [9_000, 90_000]
    tables = [measured(size) for size in sizes]
    print(f"{'':14}  " + "  ".join(f"{f'{size:,} additions':>26}" for size in sizes))
    for row in zip(*tables, strict=True):
        times = [
            f"{taken:8.2f} s  {1e6 * taken / size:9.1f} us each" for (_, taken), size in zip(row, sizes, strict=True)
        ]
        print(f"{row[0][0]:14}  " + "  ".join(times))


if __name__ == "__main__":
    main()
