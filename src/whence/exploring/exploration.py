"""A session as a user has it in Python and in notebooks: checked, written, asked, shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from whence.explorer.report_file import report, write_report
from whence.explorer.session import file
from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.exports import EXPORTS
from whence.explorer.session.judgement import Verdict
from whence.explorer.session.places import Step, with_tour
from whence.explorer.session.query.answer import Answer, answer
from whence.explorer.session.query.tables import Tables
from whence.explorer.session.strip import stripped
from whence.explorer.session.verdicts import verdicts
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice
from whence.exploring.record import record
from whence.support.doors import door, doors
from whence.support.errors import PipelineError, expectation
from whence.support.markup import preformatted

_HEIGHT = 800
_MOST = 1_000_000
"""Letters of a page that a notebook shows as a whole."""


@doors()
class Exploration:
    """A recorded compilation: the session document, and questions to it. A notebook shows it as the page."""

    def __init__(self, session: Session):
        self.session = session

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Exploration:
        """Return what `write`, `report` or `whence explore -o` wrote; errors as `file.read`."""
        return Exploration(file.read(path))

    def check(self) -> None:
        """Check the document. Raises FrontendError with one sentence if it is damaged."""
        check(self.session)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the session document, as gzip if the name ends in .gz."""
        file.write(path, self.session)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page with the session as one file, which needs no network."""
        write_report(self.session, path)

    def text(self, view: str, **choice: Any) -> str:
        """Return a view, the output of `whence explore --text`. choice: its options, the fields of `Choice`."""
        return _of("view", VIEWS, view)(self.session, Choice(**choice))

    def query(self, query: str) -> Answer:
        """Answer a query, `time where op=Conv by scope`; raises QueryError for one that is wrong."""
        return answer(self.session, query, self._tables)

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self.session)

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each run, each followed by those on its layers, the longest ones first."""
        return verdicts(self.session)

    def export(self, kind: str, **choice: Any) -> str:
        """Return the session in the format of another tool, as `whence explore --export` writes it."""
        return _of("export", EXPORTS, kind)(self.session, Choice(**choice))

    def with_tour(self, title: str, steps: Sequence[Step]) -> Exploration:
        """Return the session with a tour, which the page leads through.

        steps: pairs of a sentence and a place, the options of `Place` or an address that the page had (from `#` on).
        Raises PipelineError, which names the step, for a place that the session does not have.
        """
        return Exploration(with_tour(self.session, title, steps))

    def stripped(self) -> Exploration:
        """Return the session without weights, and with hashes instead of names."""
        return Exploration(stripped(self.session))

    def _repr_html_(self) -> str:
        """Return the page, or, where that is large, a summary: a notebook keeps what it shows in its own file."""
        text = report(self.session)
        if len(text) > _MOST:
            size = f"The page has {len(text) / 1e6:.1f} MB: report('net.html') writes it as a file of its own, and "
            return preformatted(f"{self.text('summary')}\n{size}whence explore net.html opens that.")
        page = escape(text.encode("utf-8", "backslashreplace").decode())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {_HEIGHT}px; border: 1px solid"></iframe>'


def _of(what: str, table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        raise PipelineError(expectation(what, f"one of {', '.join(table)}", repr(name)))
    return table[name]


@door()
def explore(model: Any, inputs: Mapping[str, Any] | None = None, **options: Any) -> Exploration:
    """Compile a model, and take down all that became of it; arguments and errors as `record`."""
    return Exploration(record(model, inputs, **options))
