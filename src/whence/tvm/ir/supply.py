"""Names of a module that nothing else has, by TVM's names."""

from __future__ import annotations

from collections.abc import Sequence

from whence.relay.backend.name_transforms import sanitize_name
from whence.relay.module import IRModule
from whence.support.errors import PipelineError, expectation
from whence.syntax.relay.expr import GlobalVar


class NameSupply:
    """Names that are given once each; `prefix` and `_` stand before those that ask for it."""

    def __init__(self, prefix: str = ""):
        self.prefix = prefix
        self._numbers: dict[str, int] = {}
        """Each name that is given, with the last number that made a new one of it."""

    def fresh_name(self, name: str, add_prefix: bool = True) -> str:
        """Return the name, with a number if it is given already."""
        stem = fresh = self._whole(name, add_prefix)
        while fresh in self._numbers:
            self._numbers[stem] += 1
            fresh = f"{stem}_{self._numbers[stem]}"
        self._numbers[fresh] = 0
        return fresh

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Return the name; `fresh_name` does not return it from now on."""
        whole = self._whole(name, add_prefix)
        self._numbers.setdefault(whole, 0)
        return whole

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Return whether the name is given already."""
        return self._whole(name, add_prefix) in self._numbers

    def _whole(self, name: str, add_prefix: bool) -> str:
        clean = sanitize_name(name)
        return f"{self.prefix}_{clean}" if add_prefix and self.prefix else clean


class GlobalVarSupply:
    """Variables of functions of a module.

    value: a supply of names, or modules, whose functions are reserved and the name of the first of which, `mod_name`,
    is part of the prefix.
    """

    def __init__(self, value: NameSupply | IRModule | Sequence[IRModule] | None = None):
        modules = [value] if isinstance(value, IRModule) else value
        if modules is None or isinstance(modules, NameSupply):
            self.name_supply = modules or NameSupply()
            modules = ()
        else:
            prefix = f"tvmgen_{modules[0].get_attr('mod_name') or 'default'}" if modules else ""
            self.name_supply = NameSupply(prefix)
        self._variables: dict[str, GlobalVar] = {}
        for module in modules:
            for variable in module.get_global_vars():
                self.reserve_global(variable, allow_conflict=True)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a variable of a name that no other has."""
        fresh = self.name_supply.fresh_name(name, add_prefix)
        return self._variables.setdefault(fresh, GlobalVar(fresh))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the variable of a name, which is reserved with it if it is new."""
        whole = self.name_supply.reserve_name(name, add_prefix)
        return self._variables.setdefault(whole, GlobalVar(whole))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Reserve a variable; raises PipelineError if its name is given already, unless that is allowed."""
        name = global_var.name_hint
        if not allow_conflict and name in self._variables:
            raise PipelineError(expectation("GlobalVarSupply", "a variable of a new name", name))
        self.name_supply.reserve_name(name, add_prefix=False)
        self._variables[name] = global_var
