"""The constants of models whose files say them in forms that take time to decode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...support.dtypes import Array


class Constants(Mapping[str, Array]):
    """Constants by name, decoded when they are asked for: `sources` has a function for each."""

    def __init__(self) -> None:
        self.sources: dict[str, Callable[[], Array]] = {}
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
