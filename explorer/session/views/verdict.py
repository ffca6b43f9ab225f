"""The view of the verdict: what there is to say of a layer, or of a run, in a line for each question."""

from __future__ import annotations

from ....support.names import shown
from ...report import table
from ..document import Session
from ..judgement import Verdict
from ..text import text_of_stage
from ..verdicts import verdicts
from .choice import Choice, layer_of


def verdict(session: Session, choice: Choice) -> str:
    """The verdict on a layer in each program that serves it; without a layer that on each run."""
    row = session.layers.owner[layer_of(session, choice)] if choice.layer is not None else -1
    every = [each for each in verdicts(session) if each.layer == row]
    served = [each for each in every if len(each.answers) > 1] or every[:1]
    return "\n".join(_text(session, each) for each in served)


def _text(session: Session, each: Verdict) -> str:
    program = f" in program {shown(session.programs[each.program].name)}" if len(session.programs) > 1 else ""
    layers = session.layers
    name = f"{layers.name[each.layer]} ({layers.type[each.layer] or 'layer'})" if each.layer >= 0 else "the run"
    rows = [(answer.about, answer.text) for answer in each.answers]
    lines = [shown(f"{name}{program}"), table(rows)]
    texts: dict[int, list[str]] = {}
    for _, _, stage, line, _ in (phrase for answer in each.answers for phrase in answer.phrases if phrase[3]):
        text = texts.setdefault(stage, text_of_stage(session, stage))[line - 1]
        lines.append(f"    {session.stages[stage].level} {line}: {shown(text.strip().expandtabs(4))}")
    return "\n".join(lines)
