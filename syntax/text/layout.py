"""The step before the grammar: comments, which nest, become spaces, and the metadata section is cut off.

A comment with a span, `/* ty=.. span=conv:0:0 */` or `/* si=[ a, b ] */`, stays.
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
    """Return the text without comments, with all other characters at their lines and columns; the metadata section, if
    there is one, and its position.

    Raises DiagnosticError for a comment without an end.
    """
    text = context.text
    pieces: list[str] = []
    position = 0
    while (mark := _MARKS.search(text, position)) is not None:
        start, end = mark.span()
        pieces.append(text[position:start])
        if text[start] == '"':
            pieces.append(mark.group())
        elif text[start] == "#":
            return "".join(pieces), text[end:], start
        else:
            end = end if text[start + 1] == "/" else _end_of_comment(context, start)
            comment = text[start:end]
            pieces.append(comment if says_span(comment) else re.sub(r"[^\n]", " ", comment))
        position = end
    pieces.append(text[position:])
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
    """Return whether a comment has the form of one with a span."""
    nested = "*/" in comment[:-2] or "/*" in comment[2:]
    return not nested and bool(_SPAN.fullmatch(comment) or _SPANS.fullmatch(comment))


def span_of(comment: str) -> Span | SequentialSpan:
    """Return the span in a comment."""
    if (match := _SPAN.fullmatch(comment)) is not None:
        return _span(match[1], int(match[2]), int(match[3]))
    match = _SPANS.fullmatch(comment)
    assert match is not None
    if match[1] is None:
        return _placed(match[2])
    names = match[1].strip()
    return SequentialSpan([_placed(name) for name in names.split(", ")] if names else [])


def _span(name: str, line: int, column: int) -> Span:
    return Span(SourceName(name), line, line, column, column)


def _placed(text: str) -> Span:
    """Return the span for `name` or `name:line:column`."""
    match = _PLACE.fullmatch(text)
    return _span(match[1], int(match[2]), int(match[3])) if match is not None else _span(text, 0, 0)


def span_comments(span: Span | SequentialSpan | None) -> tuple[str, str]:
    """Return two texts for a span: the part after the type in a comment, and a separate comment; one or both are ""."""
    if isinstance(span, SequentialSpan):
        return "", f" /* si=[ {', '.join(map(spelled, span.spans))} ] */" if span.spans else " /* si=[] */"
    if span is None:
        return "", ""
    return f" span={spelled(span, always=True)}", ""


def spelled(span: Span, always: bool = False) -> str:
    """Return `name:line:column` as TVM does, or `name` for a layer of a file; the source map has its file and line."""
    name = span.source_name.name if span.source_name else span.file
    # A name must not end the comment or the line, nor control a terminal; the source map has the original name.
    name = shown(name).replace("*/", "* /").replace("/*", "/ *")
    if span.source_name and span.file:
        return f"{name}:0:0" if always else name
    return f"{name}:{span.line}:{span.column}" if always or span.line or span.column else name
