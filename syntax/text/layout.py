"""The step before the grammar: comments, which nest, become spaces, and the metadata section is cut off.

A comment that says a span, `/* ty=.. span=conv:0:0 */` or `/* si=[ a, b ] */`, stays.
"""

from __future__ import annotations

import re

from ...provenance.span import SequentialSpan, SourceName, Span
from ...support.names import shown
from .diagnostics import DiagnosticContext

METADATA = "#[metadata]"
_MARKS = re.compile(r'"[^"\n]*"|//[^\n]*|/\*|#\[metadata\]')
_NESTED = re.compile(r"/\*|\*/")
_SPAN = re.compile(r"/\* (?:ty=.*? )?span=(.*):([0-9]+):([0-9]+) \*/")
_SPANS = re.compile(r"/\* si=(?:\[(.*)\]|(.*)) \*/")
_PLACE = re.compile(r"(.*):([0-9]+):([0-9]+)")


def program_and_metadata(context: DiagnosticContext) -> tuple[str, str | None, int]:
    """The text without comments, each other character at its line and column; the metadata section, if there is one,
    and where it begins.

    Raises DiagnosticError for a comment without an end.
    """
    text = context.text
    pieces: list[str] = []
    done = 0
    while (mark := _MARKS.search(text, done)) is not None:
        start, end = mark.span()
        pieces.append(text[done:start])
        if text[start] == '"':
            pieces.append(mark.group())
        elif text[start] == "#":
            return "".join(pieces), text[end:], start
        else:
            end = end if text[start + 1] == "/" else _end_of_comment(context, start)
            comment = text[start:end]
            pieces.append(comment if says_span(comment) else re.sub(r"[^\n]", " ", comment))
        done = end
    pieces.append(text[done:])
    return "".join(pieces), None, len(text)


def _end_of_comment(context: DiagnosticContext, start: int) -> int:
    depth = 0
    for mark in _NESTED.finditer(context.text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    line = context.text.count("\n", 0, start) + 1
    column = start - (context.text.rfind("\n", 0, start) + 1) + 1
    context.emit("expected `*/` at the end of this comment, got the end of the file", context.at(line, column))
    context.fail()


def says_span(comment: str) -> bool:
    """Return whether a comment is one of those that a span is read from."""
    nested = "*/" in comment[:-2] or "/*" in comment[2:]
    return not nested and bool(_SPAN.fullmatch(comment) or _SPANS.fullmatch(comment))


def span_of(comment: str) -> Span | SequentialSpan:
    """The span that a comment says."""
    if (found := _SPAN.fullmatch(comment)) is not None:
        return _span(found[1], int(found[2]), int(found[3]))
    found = _SPANS.fullmatch(comment)
    assert found is not None
    if found[1] is None:
        return _placed(found[2])
    names = found[1].strip()
    return SequentialSpan([_placed(name) for name in names.split(", ")] if names else [])


def _span(name: str, line: int, column: int) -> Span:
    return Span(SourceName(name), line, line, column, column)


def _placed(text: str) -> Span:
    """`name`, or `name:line:column`."""
    found = _PLACE.fullmatch(text)
    return _span(found[1], int(found[2]), int(found[3])) if found is not None else _span(text, 0, 0)


def span_comments(span: Span | SequentialSpan | None) -> tuple[str, str]:
    """Return two texts of a span: the part behind the type in a comment, and a comment of its own; "" for nothing."""
    if isinstance(span, SequentialSpan):
        return "", f" /* si=[ {', '.join(map(spelled, span.spans))} ] */" if span.spans else " /* si=[] */"
    if span is None:
        return "", ""
    return f" span={spelled(span, always=True)}", ""


def spelled(span: Span, always: bool = False) -> str:
    """`name:line:column` as upstream, or `name`, of a layer of a file; a source map knows which file and where."""
    name = span.source_name.name if span.source_name else span.file
    # Neither may a name end the comment, nor a line, nor steer the terminal that shows it; the source map has it whole.
    name = shown(name).replace("*/", "* /").replace("/*", "/ *")
    if span.source_name and span.file:
        return f"{name}:0:0" if always else name
    return f"{name}:{span.line}:{span.column}" if always or span.line or span.column else name
