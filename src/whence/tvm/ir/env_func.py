"""Functions of the registry as parts of programs, by TVM's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whence.relay.op.custom import RELATIONS
from whence.runtime.values.registry import get_global_func

_RELATION = "tvm.relay.type_relation."


@dataclass(frozen=True)
class EnvFunc:
    """A registered function, or a relation of types, which its name stands for: two of one name are equal."""

    name: str

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function of a name; raises ValueError for an unknown one."""
        function = EnvFunc(name)
        _ = function.func
        return function

    @property
    def func(self) -> Any:
        """The function; raises ValueError if the name was removed."""
        relation = RELATIONS.get(self.name.removeprefix(_RELATION)) if self.name.startswith(_RELATION) else None
        return relation or get_global_func(self.name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
