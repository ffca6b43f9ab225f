"""The input of a job: a model, and the options of `whence explore` for it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from whence.support.errors import PipelineError, expectation

OPTIONS = (
    *(
        "opt-level",
        "target",
        "input-shapes",
        "signature",
        "desired-layout",
        "desired-layout-ops",
        "passes",
        "precision",
        "tuned",
        "fallback",
    ),
    *("pass-config", "disabled-pass", "input", "fill-mode", "seed", "seconds", "films", "sizes"),
)
FLAGS = ("no-times", "tensors", "reference", "sources")
"""The options of `whence explore` that a session depends on, with values and without; a page may choose no others."""
MOST = 1 << 15
"""Letters of an option: those of a process are limited."""
Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Request:
    """A model and options, as the command line has them."""

    model: str
    """A path, or the name of a shipped model."""
    options: Values = field(default_factory=dict[str, tuple[str, ...]])
    """Long option without its dashes -> its values, one per time that it is given."""

    def words(self) -> list[str]:
        """Return the arguments of `whence explore`; no value can be taken for another option."""
        model = f"./{self.model}" if self.model.startswith("-") else self.model
        pairs = [(name, value) for name, values in self.options.items() for value in values]
        return [model, *(f"--{name}" if name in FLAGS else f"--{name}={value}" for name, value in pairs)]

    def command(self, *more: str) -> str:
        """Return the command that compiles it, fit for a shell."""
        return shlex.join(["whence", "explore", *self.words(), *more])

    def without(self, *names: str) -> Request:
        """Return the request without some of its options."""
        return replace(self, options={name: values for name, values in self.options.items() if name not in names})

    def changed(self, changes: Mapping[str, object]) -> Request:
        """Return the request with other options: text, a number, or a list of those; None takes an option away.

        For an option without a value any text is one.

        Raises PipelineError for anything else.
        """
        options = dict(self.options)
        for name, value in changes.items():
            if name not in (*OPTIONS, *FLAGS):
                raise PipelineError(expectation("options", f"one of {', '.join((*OPTIONS, *FLAGS))}", repr(name)))
            listed = cast("list[object]", value) if isinstance(value, list) else [value]
            values = [each for each in listed if each is not None]
            if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in values):
                raise PipelineError(expectation(f"option {name}", "text or numbers", "other JSON"))
            if any("\0" in str(each) or len(str(each)) > MOST for each in values):
                raise PipelineError(expectation(f"option {name}", f"at most {MOST} letters without NUL", "others"))
            options.pop(name, None)
            if values:
                options[name] = tuple(map(str, values))
        return replace(self, options=options)

    @property
    def title(self) -> str:
        """The name of the file."""
        return Path(self.model).name
