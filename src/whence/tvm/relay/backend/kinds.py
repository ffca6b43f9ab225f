"""A kind by its name with options, TVM's description of a program's executor or runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from whence.support.errors import PipelineError, expectation


class Kind:
    """A name among those known, and its options, which are attributes, too."""

    _KNOWN: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init__(self, name: str, options: Mapping[str, Any] | None = None):
        what = type(self).__name__
        if name not in self._KNOWN:
            raise PipelineError(expectation(what, f"a name among {', '.join(self._KNOWN)}", repr(name)))
        unknown = sorted(set(options or {}) - set(self._KNOWN[name]))
        if unknown:
            names = ", ".join(self._KNOWN[name]) or "none"
            raise PipelineError(expectation(f"{what} {name}", f"options among {names}", ", ".join(unknown)))
        self.name = name
        self.options: dict[str, Any] = dict(options or {})

    def __getitem__(self, option: str) -> Any:
        """An option; raises KeyError for an unknown one."""
        if option not in self._KNOWN[self.name]:
            raise KeyError(f"Attribute '{option}' is not available on this {type(self).__name__}")
        return self.options.get(option)

    def __contains__(self, option: str) -> bool:
        return option in self.options

    def get_attr(self, option: str) -> Any:
        """An option; None for one that is not set."""
        return self.options.get(option)

    @property
    def attrs(self) -> dict[str, Any]:
        return dict(self.options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kind):
            return NotImplemented
        return (type(self), self.name, self.options) == (type(other), other.name, other.options)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def list_registered(cls) -> list[str]:
        """The names that are known."""
        return list(cls._KNOWN)

    @classmethod
    def list_registered_options(cls, name: str) -> Mapping[str, str]:
        """The options of a name."""
        return dict.fromkeys(cls._KNOWN[str(name)], "")
