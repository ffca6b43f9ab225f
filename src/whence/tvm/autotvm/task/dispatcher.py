"""The configuration that a template gets: that of its task, that of a scope around it, or the first of each knob."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from whence.autotvm.task.space import Config, ConfigEntity, FallbackConfigEntity
from whence.lowering.llvm_to_native.target import Target
from whence.support.doors import door

_CONFIG: ContextVar[Config | None] = ContextVar("config", default=None)
"""The configuration of the template that runs."""


class DispatchContext:
    """A scope that has configurations for templates. What it has none for, the scope around it may have."""

    def __init__(self) -> None:
        self._configs: dict[Any, ConfigEntity] = {}
        self._tokens: list[Token[tuple[DispatchContext, ...]]] = []

    def query(self, target: Target | None, workload: Any) -> Config | None:
        """Return the configuration for a task's workload on a target; None where this scope has none."""
        return self._configs.get(workload)

    def update(self, target: Target | None, workload: Any, cfg: ConfigEntity) -> None:
        """Have a configuration for a workload from now on, whatever the records say."""
        self._configs[workload] = cfg

    def __enter__(self) -> Any:
        self._tokens.append(_CONTEXTS.set((self, *_CONTEXTS.get())))
        return self

    def __exit__(self, *_exception: object) -> None:
        _CONTEXTS.reset(self._tokens.pop())


_CONTEXTS: ContextVar[tuple[DispatchContext, ...]] = ContextVar("contexts", default=())
"""The scopes, the innermost first."""


class FallbackContext(DispatchContext):
    """A scope without configurations of its own but those of `update`."""


class ApplyConfig(DispatchContext):
    """A scope in which all templates get one configuration."""

    def __init__(self, config: Config):
        super().__init__()
        self._config = config

    def query(self, target: Target | None, workload: Any) -> Config | None:
        return self._config


@door()
def get_config(workload: Any = None) -> Any:
    """Return the configuration of the template that runs; of a workload that of the innermost scope that has one."""
    if (config := _CONFIG.get()) is not None:
        return config
    target = Target.current()
    for context in _CONTEXTS.get():
        if (own := context.query(target, workload)) is not None:
            return own
    return FallbackConfigEntity()


@contextmanager
def applied(config: Config) -> Generator[None]:
    """A scope in which `get_config` returns a configuration."""
    token = _CONFIG.set(config)
    try:
        yield
    finally:
        _CONFIG.reset(token)
