"""The options of `torch.compile(..., backend="whence", options={..})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from whence.executables.choice import Tier, check_tier
from whence.support.errors import PipelineError


@dataclass(frozen=True)
class Options:
    """The options and their defaults; all but `fallback` and `weights` are arguments of `whence.compile`."""

    fallback: Literal["eager", "error"] = "eager"
    """The way out for operators without support and graphs that do not compile: eager PyTorch, or an error."""
    weights: Literal["bound", "arguments"] = "bound"
    """Weights are packed once and watched for changes, or read at every call."""
    target: str = "native"
    opt_level: int = 3
    threads: int | None = None
    """None for torch's number of threads when the graph is compiled."""
    tier: Tier = "symbolic"
    precision: str | None = None
    tuned: Any = None
    audit: bool = False

    @staticmethod
    def of(options: Mapping[str, Any] | None, mode: str | None) -> Options:
        """Return the user's options; raises one PipelineError for all unknown options."""
        names = [field.name for field in fields(Options)]
        chosen = dict(options or {})
        if mode is not None:
            raise PipelineError(f"mode: expected none for backend 'whence', got {mode!r}")
        if unknown := [str(name) for name in chosen if name not in names]:
            raise PipelineError(f"options: expected some of {', '.join(names)}, got {', '.join(unknown)}")
        result = Options(**chosen)
        for name, choices in (("fallback", ("eager", "error")), ("weights", ("bound", "arguments"))):
            if getattr(result, name) not in choices:
                raise PipelineError(f"{name}: expected {' or '.join(choices)}, got {getattr(result, name)!r}")
        check_tier(result.tier)
        if result.opt_level not in range(5):
            raise PipelineError(f"opt_level: expected 0-4, got {result.opt_level!r}")
        return result
