"""Schedules of te functions: stages, primitives, bounds and their record."""

from typing import Any

from ...support.rooms import homes_in, name_in

_HOMES = {
    "AutoInlineBroadcast": (".auto_inline", "auto_inline_broadcast"),
    "AutoInlineElemWise": (".auto_inline", "auto_inline_elemwise"),
    "AutoInlineElemwise": (".auto_inline", "auto_inline_elemwise"),
    "AutoInlineInjective": (".auto_inline", "auto_inline_injective"),
    "Buffer": ("..language.statements", "Buffer"),
    "Fuse": (".itervar", "Fuse"),
    "IterVar": (".itervar", "IterVar"),
    "Schedule": (".schedule", "Schedule"),
    "Singleton": (".itervar", "Singleton"),
    "Split": (".itervar", "Split"),
    "Stage": (".stage", "Stage"),
    "attribute": (".python_text", "attribute"),
    "create_schedule": (".create", "create_schedule"),
    "least": (".choices", "least"),
    "looked_at": (".choices", "looked_at"),
    "size": ("...dialects.sizes.text", "parse_size"),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        home, its_name = _HOMES[name]
        return getattr(import_module(home, __package__), its_name)
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted({*_HOMES, *homes_in(__name__)})
