"""Sources of Relax modules: layers of `nn`, and models of other frameworks by `relay.frontend`."""

from __future__ import annotations

from typing import Any

from whence.support.rooms import homes_in, name_in


def __getattr__(name: str) -> Any:
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted(homes_in(__name__))
