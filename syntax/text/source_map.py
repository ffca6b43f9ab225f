"""The parts of spans that comments cannot say: a layer's file and line, where a piece of text ends, and the spans of
what has no comment. It is an entry of the metadata section, and holds for the text that it was written with.

    {"digest": .., "sources": [[name, file], ..], "spans": [[source, line, end line, column, end column], ..],
     "nodes": [..], "names": {"v1": "1"}}

`nodes` has the index of a span, or a list of such, or null, for each expression in the order in which they end in the
text. A text that was changed by hand keeps what its comments say.
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
    """Return a digest that tells whether a text is as it was written."""
    return hashlib.sha256("\n".join(text.split("\n")).strip().encode()).hexdigest()[:16]


@dataclass
class _Writer:
    sources: dict[tuple[str | None, str], int] = field(default_factory=dict[tuple[str | None, str], int])
    spans: dict[Span, int] = field(default_factory=dict[Span, int])

    def index(self, span: AnySpan) -> int | list[int] | None:
        if span is None:
            return None
        if isinstance(span, SequentialSpan):
            return [self._one(one) for one in span.spans]
        return self._one(span)

    def _one(self, span: Span) -> int:
        return self.spans.setdefault(span, len(self.spans))

    def rows(self) -> list[list[int]]:
        return [[self._source(span), span.line, span.end_line, span.column, span.end_column] for span in self.spans]

    def _source(self, span: Span) -> int:
        key = (span.source_name.name if span.source_name else None, span.file)
        return self.sources.setdefault(key, len(self.sources))


def written(text: str, nodes: Sequence[Expr], names: Mapping[str, str]) -> str:
    """The source map of a text and its expressions; `names` are those that the text does not spell as they are."""
    writer = _Writer()
    indices = [writer.index(node.span) for node in nodes]
    rows = writer.rows()
    made = {
        "digest": digest(text),
        "sources": list(writer.sources),
        "spans": rows,
        "nodes": indices,
        "names": dict(names),
    }
    return json.dumps(made, separators=(",", ":"))


def restore(entries: Sequence[Entry] | None, text: str, nodes: Sequence[Expr]) -> None:
    """Give expressions that were read from `text` the spans and names of its source map, if it has one that holds.

    Raises FrontendError for an entry that is none.
    """
    for entry in entries or ():
        try:
            found: dict[str, Any] = json.loads(str(entry))
            if found["digest"] != digest(text) or len(found["nodes"]) != len(nodes):
                continue
            spans = [_span(found["sources"], *row) for row in found["spans"]]
            for node, index in zip(nodes, found["nodes"], strict=True):
                node.span = _spans(spans, index)
                if isinstance(node, Var):
                    node.name_hint = found["names"].get(node.name_hint, node.name_hint)
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
