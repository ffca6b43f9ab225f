"""Answers to queries as JSON, of Python and of the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from node import node

from whence.explorer.session.document import Session
from whence.explorer.session.file import write
from whence.explorer.session.query.answer import answer
from whence.explorer.session.query.language import QueryError
from whence.explorer.session.query.part import tables_part
from whence.explorer.session.query.tables import Tables

_SCRIPT = Path(__file__).with_name("asked_queries.mjs")


def answers_of_page(session: Session, queries: Sequence[str], folder: Path) -> list[dict[str, Any]]:
    """Return what the page, run by node, answers to queries about a session, as JSON values. folder: for its files."""
    files = [folder / name for name in ("session.json", "tables.json", "queries.json")]
    write(files[0], session)
    files[1].write_text(tables_part(session))
    files[2].write_text(json.dumps(queries))
    return cast("list[dict[str, Any]]", json.loads(node(_SCRIPT, *files)))


def answers(session: Session, queries: Sequence[str]) -> list[dict[str, Any]]:
    """Return what Python answers to the same."""
    tables = Tables(session)
    return [cast("dict[str, Any]", json.loads(json.dumps(_answer(session, query, tables)))) for query in queries]


def _answer(session: Session, query: str, tables: Tables) -> dict[str, Any]:
    try:
        result = answer(session, query, tables)
    except QueryError as error:
        return {
            "query": query,
            "error": str(error).splitlines()[0].removeprefix("query: "),
            "at": _in_utf16(query[: error.at]),
        }
    return {
        "query": query,
        "subject": result.subject,
        "count": result.count,
        "columns": [column.name for column in result.columns],
        "rows": result.rows,
        "layers": result.layers,
        "places": result.places,
    }


def _in_utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
