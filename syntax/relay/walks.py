"""Walks written as generators, which yield what they need an answer for, driven without recursion."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar, cast

NodeT = TypeVar("NodeT")
AnswerT = TypeVar("AnswerT")


def driven(root: NodeT, visit: Callable[[NodeT], Generator[NodeT, AnswerT, AnswerT]]) -> AnswerT:
    """Return what the walk of `root` returns, never None; what it yields is walked first, and the answer sent to it."""
    answer: AnswerT | None = None
    stack = [visit(root)]
    while stack:
        try:
            child = next(stack[-1]) if answer is None else stack[-1].send(answer)
        except StopIteration as stop:
            answer = cast(AnswerT, stop.value)
            stack.pop()
            continue
        answer = None
        stack.append(visit(child))
    assert answer is not None
    return answer
