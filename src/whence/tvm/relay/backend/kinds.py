"""A kind by its name with options, TVM's description of a program's executor or runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from whence.support.errors import PipelineError

_TYPES: dict[type, str] = {bool: "IntImm", int: "IntImm", str: "runtime.String"}
"""TVM's names of the types of options."""


class Kind:
    """A name among those known, and its options, which are attributes, too."""

    _KNOWN: ClassVar[Mapping[str, Mapping[str, type]]] = {}
    """Name -> option -> the type of its values."""

    def __init__(self, name: str, options: Mapping[str, Any] | None = None):
        types, what = self._options(name), type(self).__name__
        for option, value in (options or {}).items():
            if option not in types:
                known = ", ".join(types) or "none"
                text = f'Attribute "{option}" is not available on this {what}'
                raise PipelineError(f"{text}: expected options of {name} among {known}, got {option}")
            if not isinstance(value, types[option]):
                kind = cast("type[object]", type(value))
                wanted, actual = _TYPES[types[option]], _TYPES.get(kind, kind.__name__)
                text = f'Attribute "{option}" should have type "{wanted}" but instead found "{actual}"'
                raise PipelineError(f"{text}: expected {types[option].__name__}, got {value!r}")
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
        """The options of a name, with TVM's names of their types."""
        return {option: _TYPES[type_] for option, type_ in cls._options(str(name)).items()}

    @classmethod
    def _options(cls, name: str) -> Mapping[str, type]:
        if name not in cls._KNOWN:
            expected = f"a name among {', '.join(cls._KNOWN)}"
            raise PipelineError(f'{cls.__name__} "{name}" is not defined: expected {expected}, got {name}')
        return cls._KNOWN[name]
