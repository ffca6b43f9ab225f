"""The requests of the page: a job, the list of passes, the sessions that there are, a file to keep."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from difflib import SequenceMatcher
from functools import partial
from typing import Any, cast

from whence.explorer.report_file import report
from whence.explorer.session.document import Session
from whence.explorer.session.exports import EXPORTS
from whence.explorer.session.views.choice import Choice
from whence.exploring.guard import Refusal
from whence.exploring.jobs import Jobs
from whence.exploring.request import MOST, Request
from whence.exploring.schedules import measured_schedule, schedule_loops, schedule_next
from whence.exploring.store import Kept, Store
from whence.exploring.uploads import Uploads
from whence.passes.registry import PASSES
from whence.reading.models import model_path, shipped_models
from whence.reading.pipeline_text import PipelineTextError, parse_passes, pieces
from whence.support.errors import PipelineError, WhenceError, expectation
from whence.universe import multiverse

FILES = {
    "json": "session.json",
    "report": "report.html",
    "model-explorer": "graphs.json",
    "node-data": "node-data.json",
    "chrome-trace": "trace.json",
    "speedscope": "speedscope.json",
    "folded": "stacks.txt",
    "dot": "graph.dot",
    "svg": "graph.svg",
    "film": "film.svg",
}
"""Kind of a file to keep -> its name."""
_PASSES = 1000
_LINES = 512
"""The greatest number of lines that a schedule may have beyond the session's."""
_LINE = 400
"""Letters of a line of a schedule, on average."""
_WORKERS = 2
_PATIENCE = 20.0
"""Requests that may work at a time, and the seconds that others wait for one of them to be done."""
_SHOWN = 3
"""Passes that are named, not counted."""
_KEYS = {"session", "pipeline", "model", "upload", "text", "suffix", "options"}


class Orders:
    """The answers to requests of the page that are more than a look into a table."""

    def __init__(self, store: Store, jobs: Jobs, uploads: Uploads) -> None:
        self._store, self.jobs, self._uploads = store, jobs, uploads
        self._turns = threading.BoundedSemaphore(_WORKERS)

    def run(self, body: dict[str, object]) -> dict[str, object]:
        """Start a job; refuses a bad request, such as a bad pipeline, whose column the answer states.

        session: the source of the model and options that the body leaves out. pipeline: the relay passes, as text.
        model, upload, or text and suffix: another model. options: other options of `whence explore`.
        """
        if unknown := sorted(body.keys() - _KEYS):
            raise Refusal(400, f"expected {', '.join(sorted(_KEYS))}, got {', '.join(unknown)}")
        request, about = self._model(body)
        options = body.get("options", {})
        if not isinstance(options, dict):
            raise Refusal(400, "expected options as an object")
        options = cast("dict[str, object]", options)
        try:
            changed = request.changed(options)
            if (text := body.get("pipeline")) is not None:
                changed = changed.changed({"passes": _checked(text)})
                about.append(self._edits(body, str(text)))
        except PipelineTextError as error:
            raise Refusal(400, error.reason, {"column": error.column}) from error
        except PipelineError as error:
            raise Refusal(400, str(error)) from error
        about += [f"{name} {', '.join(changed.options.get(name, ['as usual']))}" for name in options]
        same = not body.keys() & {"model", "upload", "text"}
        base = self._kept(body.get("session", 0)).session if same else None
        return {"job": self.jobs.start(changed, "; ".join(filter(None, about)) or "the same once more", base)}

    def _model(self, body: dict[str, object]) -> tuple[Request, list[str]]:
        """Return the model and the options of a job, and a description of the changes."""
        if "upload" in body:
            return Request(str(self._uploads.path(body["upload"]))), ["a model that was sent"]
        if (text := body.get("text")) is not None:
            if not isinstance(text, str):
                raise Refusal(400, "expected a text")
            return Request(str(self._uploads.write(text, str(body.get("suffix", ".relay"))))), ["a text"]
        if (model := body.get("model")) is not None:
            try:
                model_path(str(model))
            except WhenceError as error:
                raise Refusal(400, str(error)) from error
            return Request(str(model)), [f"model {model}"]
        request = self._kept(body.get("session", 0)).request
        if request is None:
            raise Refusal(400, "expected a model: this session came out of a file")
        return request, []

    def _kept(self, number: object) -> Kept:
        try:
            return self._store.get(number if isinstance(number, int) else -1)
        except KeyError:
            raise Refusal(400, "expected a session that is kept") from None

    def _edits(self, body: dict[str, object], text: str) -> str:
        """Return a description of the passes that a pipeline adds to that of the session, or lacks."""
        try:
            before = current_pipeline(self._kept(body.get("session", 0)))
        except Refusal:
            return "another pipeline"
        after = [piece for _, piece in pieces(text)]
        gone: list[str] = []
        new: list[str] = []
        for tag, i, j, k, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                gone += before[i:j]
                new += after[k:end]
        return "; ".join(f"{word} {_some(passes)}" for word, passes in (("without", gone), ("with", new)) if passes)

    def schedule_loops(self, body: dict[str, object]) -> dict[str, Any]:
        """Return the loops of a schedule; refuses another text with 400.

        session: the last one by default. schedule: its number in the session. text: the whole schedule.
        """
        return self._of_schedule(body, schedule_loops)

    def schedule_next(self, body: dict[str, object]) -> dict[str, Any]:
        """Return the possible next lines of a schedule; body, refusals: as `schedule_loops` has them."""
        return self._of_schedule(body, schedule_next)

    def measure_schedule(self, body: dict[str, object]) -> dict[str, Any]:
        """Return the times of a text of a schedule and of the session's, and whether they compute the same.

        body, refusals: as `schedule_loops` has them; 409 while another one is measured.
        """
        return self._of_schedule(body, partial(measured_schedule, self.jobs.warm))

    def _of_schedule(
        self, body: dict[str, object], answer: Callable[[Session, int, str], dict[str, Any]]
    ) -> dict[str, Any]:
        session = self._kept(body.get("session", 0)).session
        number, text = body.get("schedule"), body.get("text")
        if not isinstance(number, int) or not 0 <= number < len(session.schedules):
            raise Refusal(400, "expected the number of a schedule of the session")
        if not isinstance(text, str):
            raise Refusal(400, "expected a text")
        most = session.schedules[number].text.count("\n") + _LINES
        if text.count("\n") > most or len(text) > max(len(session.schedules[number].text), most * _LINE):
            raise Refusal(413, f"expected a schedule of at most {most} lines")
        try:
            with self._working():
                return answer(session, number, text)
        except WhenceError as error:
            raise Refusal(400, str(error)) from error

    @contextmanager
    def _working(self) -> Generator[None]:
        """A scope of work; refuses with 503 where others work and go on."""
        if not self._turns.acquire(timeout=_PATIENCE):
            raise Refusal(503, f"expected at most {_WORKERS} requests at work")
        try:
            yield
        finally:
            self._turns.release()

    def sessions(self) -> dict[str, object]:
        """Return the sessions, the oldest first: model, changes, passes, options, and whether it can be run again."""
        rows = [
            {
                "number": kept.number,
                "model": kept.session.made_by.model,
                "about": kept.about,
                "pipeline": current_pipeline(kept),
                "runnable": kept.request is not None,
                "options": dict(kept.request.without("passes").options) if kept.request is not None else {},
            }
            for kept in self._store.all()
        ]
        return {"sessions": rows}

    def passes(self) -> dict[str, object]:
        """Return the relay passes that a pipeline may have, and the models that come along."""
        rows = [{"name": row.name, "help": row.help} for row in PASSES if row.name.startswith("relay-")]
        return {"passes": rows, "models": shipped_models(), "files": list(FILES)}

    def export(self, number: int, kind: str) -> tuple[str, bytes]:
        """Return the name and the bytes of a file of a session, the last one for 0; refuses unknown kinds."""
        session = self._kept(number).session
        if kind not in FILES:
            raise Refusal(404, f"expected one of {', '.join(FILES)}")
        try:
            with self._working():
                text = report(session) if kind == "report" else EXPORTS[kind](session, Choice())
        except WhenceError as error:
            raise Refusal(404, str(error)) from error
        return FILES[kind], text.encode("utf-8", "backslashreplace")


def _some(passes: list[str]) -> str:
    return ", ".join(passes) if len(passes) <= _SHOWN else f"{len(passes)} passes"


def current_pipeline(kept: Kept) -> list[str]:
    """Return the relay passes of a session as text, one by one: the requested ones, else those that ran."""
    asked = kept.request.options.get("passes") if kept.request is not None else None
    if asked is not None:
        return [piece for _, piece in pieces(asked[0])] if asked[0].strip() else []
    return [run.spec for run in kept.session.passes if run.program == 0 and run.kernel < 0]


def _checked(text: object) -> str:
    """Return the text of a pipeline that can be read; raises PipelineError."""
    if not isinstance(text, str):
        raise PipelineError("pipeline: expected a text")
    if len(text) > MOST or text.count(",") >= _PASSES:
        raise PipelineError(expectation("pipeline", f"at most {_PASSES} passes in {MOST} letters", "more"))
    parse_passes(text, multiverse().all_passes)
    return text
