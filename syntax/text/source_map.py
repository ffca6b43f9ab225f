"""The parts of spans that comments cannot express: a layer's file and line, ends of pieces of text, and the spans of
expressions without comments. The source map is an entry of the metadata section, and valid only for its own text.

    {"digest": .., "sources": [[name, file], ..], "spans": [[source, line, end line, column, end column], ..],
     "nodes": [..], "names": {"v1": "1"}}

`nodes` has the index of a span, or a list of indices, or null, for each expression, in the order of their ends in the
text. A text that somebody edited keeps only the spans of its comments.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...provenance.span import SequentialSpan, SourceName, Span
from ...support.errors import FrontendError
from ..relay.expr import AnySpan, Expr, Var
from .metadata import Entry

SOURCE_MAP = "whence.SourceMap"


def digest(text: str) -> str:
    """Return a digest that tells whether a text is unchanged."""
    return hashlib.sha256("\n".join(text.split("\n")).strip().encode()).hexdigest()[:16]


@dataclass
class _Writer:
    sources: dict[tuple[str | None, str], int] = field(default_factory=dict[tuple[str | None, str], int])
    spans: dict[Span, int] = field(default_factory=dict[Span, int])

    def index(self, span: AnySpan) -> int | list[int] | None:
        if span is None:
            return None
        if isinstance(span, SequentialSpan):
            return [self._index(part) for part in span.spans]
        return self._index(span)

    def _index(self, span: Span) -> int:
        return self.spans.setdefault(span, len(self.spans))

    def rows(self) -> list[list[int]]:
        return [[self._source(span), span.line, span.end_line, span.column, span.end_column] for span in self.spans]

    def _source(self, span: Span) -> int:
        key = (span.source_name.name if span.source_name else None, span.file)
        return self.sources.setdefault(key, len(self.sources))


def written(text: str, nodes: Sequence[Expr], names: Mapping[str, str]) -> str:
    """Return the source map of a text and its expressions; `names` are the names that the text changes."""
    writer = _Writer()
    indices = [writer.index(node.span) for node in nodes]
    rows = writer.rows()
    source_map = {
        "digest": digest(text),
        "sources": list(writer.sources),
        "spans": rows,
        "nodes": indices,
        "names": dict(names),
    }
    return json.dumps(source_map, separators=(",", ":"))


def restore(entries: Sequence[Entry] | None, text: str, nodes: Sequence[Expr]) -> None:
    """Restore the spans and names of expressions in `text` from its source map, if it has a valid one.

    Raises FrontendError for an entry that is no source map.
    """
    for entry in entries or ():
        try:
            source_map: dict[str, Any] = json.loads(str(entry))
            if source_map["digest"] != digest(text) or len(source_map["nodes"]) != len(nodes):
                continue
            spans = [_span(source_map["sources"], *row) for row in source_map["spans"]]
            for node, index in zip(nodes, source_map["nodes"], strict=True):
                node.span = _spans(spans, index)
                if isinstance(node, Var):
                    node.name_hint = source_map["names"].get(node.name_hint, node.name_hint)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise FrontendError(
                f"metadata: expected a source map in {SOURCE_MAP}, got {type(error).__name__}"
            ) from error


def _span(sources: Sequence[Any], source: int, line: int, end_line: int, column: int, end_column: int) -> Span:
    name, file = sources[source]
    return Span(SourceName(str(name)) if name is not None else None, line, end_line, column, end_column, str(file))


def _spans(spans: Sequence[Span], index: int | Sequence[int] | None) -> AnySpan:
    if index is None:
        return None
    return spans[index] if isinstance(index, int) else SequentialSpan([spans[number] for number in index])
