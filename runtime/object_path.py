"""`ObjectPath`: the way from an object to a part of it, as in TVM 0.14."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, repr=False)
class ObjectPath:
    """Steps from a root: attributes, elements of arrays, and values of maps. Begin with `ObjectPath.root()`."""

    parent: ObjectPath | None = None
    key: Any = None
    """The name, number or object of the last step."""

    @staticmethod
    def root(name: str | None = None) -> ObjectPath:
        """The path of an object itself."""
        return RootPath(None, name)

    def attr(self, name: str | None) -> ObjectPath:
        """The path of an attribute; None for an unknown one."""
        return UnknownAttributeAccessPath(self) if name is None else AttributeAccessPath(self, name)

    def array_index(self, index: int) -> ObjectPath:
        """The path of an element."""
        return ArrayIndexPath(self, index)

    def missing_array_element(self, index: int) -> ObjectPath:
        """The path of an element that is missing."""
        return MissingArrayElementPath(self, index)

    def map_value(self, key: Any) -> ObjectPath:
        """The path of a value in a map."""
        return MapValuePath(self, key)

    def missing_map_entry(self) -> ObjectPath:
        """The path of an entry that is missing."""
        return MissingMapEntryPath(self)

    @property
    def steps(self) -> list[ObjectPath]:
        """The paths from the root to this one."""
        found: list[ObjectPath] = []
        path: ObjectPath | None = self
        while path is not None:
            found.append(path)
            path = path.parent
        return found[::-1]

    def __len__(self) -> int:
        return len(self.steps)

    def get_prefix(self, length: int) -> ObjectPath:
        """The path of the first `length` steps. Raises IndexError for a number that the path does not have."""
        if length < 1:
            raise IndexError("Prefix length must be at least 1")
        if length > len(self):
            raise IndexError("Attempted to get a prefix longer than the path itself")
        return self.steps[length - 1]

    def is_prefix_of(self, other: ObjectPath) -> bool:
        """Return whether another path goes through this one."""
        return len(self) <= len(other) and self == other.get_prefix(len(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        ours, theirs = self.steps, other.steps
        return len(ours) == len(theirs) and all(
            type(a) is type(b) and (a.key is b.key or bool(a.key == b.key)) for a, b in zip(ours, theirs, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(map(type, self.steps)))

    def __str__(self) -> str:
        return "".join(step.written() for step in self.steps)

    __repr__ = __str__

    def written(self) -> str:
        """The text of the last step."""
        raise NotImplementedError


class RootPath(ObjectPath):
    """An object itself."""

    def written(self) -> str:
        return self.key or "<root>"


class AttributeAccessPath(ObjectPath):
    """An attribute."""

    def written(self) -> str:
        return f".{self.key}"


class UnknownAttributeAccessPath(ObjectPath):
    """An attribute without a known name."""

    def written(self) -> str:
        return ".<unknown attribute>"


class ArrayIndexPath(ObjectPath):
    """An element of an array."""

    def written(self) -> str:
        return f"[{self.key}]"


class MissingArrayElementPath(ObjectPath):
    """An element that an array does not have."""

    def written(self) -> str:
        return f"[<missing element #{self.key}>]"


class MapValuePath(ObjectPath):
    """A value in a map."""

    def written(self) -> str:
        return f'["{self.key}"]' if isinstance(self.key, str) else f"[{self.key!r}]"


class MissingMapEntryPath(ObjectPath):
    """An entry that a map does not have."""

    def written(self) -> str:
        return "[<missing entry>]"
