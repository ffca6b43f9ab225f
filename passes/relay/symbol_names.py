"""Names for functions that are new in a module."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr


class SymbolNames:
    """Symbol names not taken in a module."""

    def __init__(self, module: ModuleOp):
        names = (op.properties.get("sym_name") for op in module.ops)
        self._taken = {name.data for name in names if isinstance(name, StringAttr)}
        self._count: dict[str, int] = {}

    def take(self, name: str) -> str:
        """`name`, or the first of `name_1`, `name_2`, ... that is free."""
        count = self._count.get(name, 0)
        unique = f"{name}_{count}" if count else name
        while unique in self._taken:
            count += 1
            unique = f"{name}_{count}"
        self._count[name] = count + 1
        self._taken.add(unique)
        return unique
