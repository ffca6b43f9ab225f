"""Names as other languages spell them, with TVM's prefixes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whence.support.errors import FrontendError

_PREFIXES = {"tvm": "TVM", "tvmgen": "TVMGen"}


def to_c_function_style(original_name: str) -> str:
    """The name of a C function, each word with a capital: `tvmgen_my_model` -> `TVMGenMyModel`.

    Raises FrontendError for an empty name and for one without the prefix `tvm` or `TVM`.
    """
    first, *words = [word for word in re.split("[_-]", _prefixed("Function", original_name)) if word]
    return _PREFIXES.get(first.lower(), first) + "".join(word[0].upper() + word[1:] for word in words)


def to_c_variable_style(original_name: str) -> str:
    """The name of a C variable, in small letters; errors as of `to_c_function_style`."""
    return _prefixed("Variable", original_name).lower()


def to_c_constant_style(original_name: str) -> str:
    """The name of a C constant, in capitals; errors as of `to_c_function_style`."""
    return _prefixed("Constant", original_name).upper()


def prefix_name(names: str | Sequence[str]) -> str:
    """Return a name, or several joined, behind `TVM_`; raises FrontendError for empty ones."""
    return f"TVM_{_joined(names)}"


def prefix_generated_name(names: str | Sequence[str]) -> str:
    """Return a name, or several joined, behind `TVMGen_`; raises FrontendError for empty ones."""
    return f"TVMGen_{_joined(names)}"


def mangle_module_name(mod_name: str | None) -> str:
    """Return the prefix of the names of a module's functions; raises ValueError for letters that are not ASCII."""
    if mod_name is not None and not mod_name.isascii():
        raise ValueError(f"mangle_module_name: expected letters of ASCII, got {mod_name!r}")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"


def sanitize_name(original_name: str) -> str:
    """Return the name with `_` for characters that no C name has; raises FrontendError for an empty one."""
    return re.sub("[^a-zA-Z0-9]", "_", _full("Name", original_name))


def _full(what: str, name: str) -> str:
    if not name:
        raise FrontendError(f"{what} is empty: expected a name, got ''")
    return name


def _prefixed(kind: str, name: str) -> str:
    if not _full(f"{kind} name", name).lower().startswith("tvm"):
        raise FrontendError(f"{kind} not TVM prefixed: expected a name with the prefix TVM or tvm, got {name!r}")
    return name


def _joined(names: str | Sequence[str]) -> str:
    if isinstance(names, str):
        return _full("Name", names)
    if not names:
        raise FrontendError("Name segments empty: expected names, got none")
    return "_".join(_full("Name segment", name) for name in names)
