"""Walks written as generators, which yield the nodes whose answers they need, driven without recursion."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar, cast

NodeT = TypeVar("NodeT")
AnswerT = TypeVar("AnswerT")


def _needs_walk(node: object) -> None:
    return None


def driven(
    root: NodeT,
    visit: Callable[[NodeT], Generator[NodeT, AnswerT, AnswerT]],
    at_hand: Callable[[NodeT], AnswerT | None] = _needs_walk,
) -> AnswerT:
    """Return the answer of the walk of `root`; the nodes that it yields are walked first, and it is sent their answers.

    at_hand: returns the answer for a node that needs no walk, or None.
    """
    answer = at_hand(root)
    stack = [visit(root)] if answer is None else []
    while stack:
        try:
            child = stack[-1].send(cast(AnswerT, answer))
        except StopIteration as stop:
            answer = cast(AnswerT, stop.value)
            stack.pop()
            continue
        if (answer := at_hand(child)) is None:
            stack.append(visit(child))
    assert answer is not None
    return answer


def each(nodes: Iterable[NodeT]) -> Generator[NodeT, Any, list[Any]]:
    """Ask for the answers of several nodes, one after the other."""
    answers: list[Any] = []
    for node in nodes:
        answers.append((yield node))
    return answers
