"""The constants of a model: functions that decode them from the file, called when somebody needs the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...support.dtypes import Array


def held(array: Array) -> Callable[[], Array]:
    """Return the source of a constant that needs no decoding."""
    return lambda: array


class Constants(Mapping[str, Array]):
    """Constants by name, decoded on first access: `sources` has a function for each."""

    def __init__(self, sources: Mapping[str, Callable[[], Array]] | None = None) -> None:
        self.sources = dict(sources or {})
        self._decoded: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._decoded:
            self._decoded[name] = self.sources[name]()
        return self._decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.sources

    def __iter__(self) -> Iterator[str]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)
