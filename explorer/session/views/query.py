"""The view of a query: its answer as a table."""

from __future__ import annotations

from ....support.errors import PipelineError, expectation
from ..document import Session
from ..query.answer import answer
from .choice import Choice


def query(session: Session, choice: Choice) -> str:
    """The answer to a query; raises QueryError for one that is wrong."""
    if choice.query is None:
        raise PipelineError(expectation("--text query", 'a query after it, such as "time by op"', "none"))
    return str(answer(session, choice.query))
