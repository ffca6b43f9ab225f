"""The depth to which text may nest: parsers, printers and passes go down into what is nested by calling themselves."""

from __future__ import annotations

import re

DEEPEST = 100
"""The number of brackets that may stand in each other, be it of regions, attributes, types or locations."""

_BRACKET = re.compile(r'"(?:\\.|[^"\\])*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|[(\[{]|(?<=\w)<|[)\]}]|(?<![-=])>(?!=)')
"""A bracket, or what may hold some that are none: a string, a comment."""


def too_deep(text: str, kinds: str = "([{<", most: int = DEEPEST) -> tuple[int, int] | None:
    """The line and column of the first bracket with `most` others around it; None where there is none.

    kinds: the opening brackets that count.
    """
    around: list[str] = []
    depth = 0
    for bracket in _BRACKET.finditer(text):
        token = bracket.group()
        if token in "([{<":
            around.append(token)
            depth += token in kinds
            if depth > most:
                at = bracket.start()
                return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        elif token in ")]}>":
            while around and around[-1] == "<" and token != ">":
                depth -= around.pop() in kinds
            if around and (token != ">" or around[-1] == "<"):
                depth -= around.pop() in kinds
    return None
