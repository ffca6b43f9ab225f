"""PassContext: the switches of one compilation, with TVM's option names, types and error texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar, Token
from types import TracebackType

from .diagnostics import PipelineError

Option = bool | int | str

_OPTIONS: dict[str, tuple[type[bool] | type[int] | type[str], Option]] = {
    "ir.enable_si_builder": (bool, True),
    "relay.FuseOps.max_depth": (int, 256),
    "relay.fallback_device_type": (int, 1),
    "relay.frontend.fill_span": (bool, True),
    "te.keep_schedule_record": (bool, True),
    "tir.instrument_bound_checkers": (bool, False),
}


def _known(name: str) -> tuple[type[bool] | type[int] | type[str], Option]:
    if name not in _OPTIONS:
        candidates = ", ".join(sorted(_OPTIONS))
        raise PipelineError(f"Invalid config option '{name}' candidates are: {candidates}")
    return _OPTIONS[name]


class PassContext:
    """Options of the passes run inside its `with` scope.

    opt_level: 0-4; a pass of a higher level is left out. Default 3.
    required_pass, disabled_pass: pass names that run, or do not, whatever their level.
    config: option name -> value; unknown names and wrong types raise PipelineError.
    """

    def __init__(
        self,
        opt_level: int = 3,
        required_pass: tuple[str, ...] = (),
        disabled_pass: tuple[str, ...] = (),
        config: Mapping[str, Option] | None = None,
    ):
        for name, value in (config or {}).items():
            expected, _ = _known(name)
            if type(value) is not expected:
                raise PipelineError(
                    f"config option '{name}': expected {expected.__name__}, got {type(value).__name__} ({value!r})"
                )
        if opt_level not in range(5):
            raise PipelineError(f"opt_level: expected 0-4, got {opt_level!r}")
        self.opt_level = opt_level
        self.required_pass = required_pass
        self.disabled_pass = disabled_pass
        self.config = dict(config or {})
        self._tokens: list[Token[PassContext]] = []

    def __enter__(self) -> PassContext:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        _current.reset(self._tokens.pop())

    @staticmethod
    def current() -> PassContext:
        """The context of the innermost `with` scope; outside of any, the defaults."""
        return _current.get(_DEFAULT)

    def option(self, name: str) -> Option:
        """The value of an option, its default where none was given; raises PipelineError for an unknown name."""
        _, default = _known(name)
        return self.config.get(name, default)

    def enables(self, name: str, level: int) -> bool:
        """Whether the pass `name` of opt level `level` runs."""
        if name in self.disabled_pass:
            return False
        return name in self.required_pass or self.opt_level >= level

    @staticmethod
    def list_configs() -> dict[str, str]:
        """Option name -> type name."""
        return {name: kind.__name__ for name, (kind, _) in _OPTIONS.items()}


_current: ContextVar[PassContext] = ContextVar("pass_context")
_DEFAULT = PassContext()


def spans_enabled() -> bool:
    """Whether frontends give locations: `relay.frontend.fill_span` on, and TVM_SPANFILLING not 0 in the environment."""
    return PassContext.current().option("relay.frontend.fill_span") is True and os.environ.get("TVM_SPANFILLING") != "0"
