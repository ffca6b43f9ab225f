"""Views of a session document as text, as `whence explore --text` shows them: a function for each view of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..document import Session
from .choice import Choice
from .compared import compare
from .film import schedule
from .history import lineage, where, why
from .measured import lines, memory, tensors, timeline, times
from .model import model
from .overview import kernels, lost, passes, summary
from .query import query
from .texts import diff, stage
from .verdict import verdict

VIEWS: Mapping[str, Callable[[Session, Choice], str]] = {
    view.__name__: view
    for view in (
        summary,
        verdict,
        model,
        passes,
        stage,
        diff,
        lineage,
        why,
        where,
        kernels,
        schedule,
        times,
        lines,
        timeline,
        memory,
        tensors,
        compare,
        lost,
        query,
    )
}
"""Name -> text of a session, as it was asked for; raises PipelineError for what there is not."""
