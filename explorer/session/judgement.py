"""The verdict as data: what is said of a layer, or of a whole run, in a few answers of text and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .ranges import Amount, AmountOrNone, CallOrNone, Count, LayerOrNone, ProgramRow, StageOrNone

Phrase: TypeAlias = tuple[str, LayerOrNone, StageOrNone, Count, CallOrNone]
"""A text and where it leads: a layer to pin, or a stage with a line, from 1, as a call of its kernel has it."""
About: TypeAlias = Literal["time", "where", "bound by", "lines", "threads", "memory", "to try"]


@dataclass
class Answer:
    """The answer to one question."""

    about: About
    phrases: list[Phrase] = field(default_factory=list[Phrase])

    def say(self, text: str) -> Answer:
        """Append plain text."""
        self.phrases.append((text, -1, -1, 0, -1))
        return self

    def link(self, text: str, *, layer: int = -1, stage: int = -1, line: int = 0, call: int = -1) -> Answer:
        """Append text that leads somewhere."""
        self.phrases.append((text, layer, stage, line, call))
        return self

    @property
    def text(self) -> str:
        """The answer without its links."""
        return "".join(text for text, *_ in self.phrases)


@dataclass
class Verdict:
    """The verdict on a layer of a program, or on a run of all of it."""

    program: ProgramRow
    layer: LayerOrNone
    """The row of the layer; -1: the whole run."""
    seconds: AmountOrNone
    """CPU seconds per run; -1.0 where nothing was measured."""
    share: Amount
    """The part of the run's time."""
    estimated: bool
    """True where a part of the seconds is an estimate."""
    bound: str
    """The bound of the call that most of the time is in: a term of its roof, overhead or neither; "" where unknown."""
    reached: Amount
    """The part of the time that is below the roof."""
    answers: list[Answer] = field(default_factory=list[Answer])
