"""Two spellings of Relax's text: that of TVM 0.26 and later, where types are types, and that of 0.16 to 0.25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, cast

from ...dialects.sizes import SizeExpr
from .rows import Shape
from .types import size_text, tuple_text

_DTYPES = ("dtype", "out_dtype")


@dataclass(frozen=True)
class Spelling:
    """The spelling of a version of TVM, as far as versions differ."""

    version: str
    types: bool
    """True where struct info is a type, symbols are declared before the module, and numbers stand for themselves."""

    @property
    def constants(self) -> str:
        """The kind of constants in the metadata."""
        return "ir.GenericConst" if self.types else "relax.expr.Constant"

    @property
    def out_type(self) -> str:
        """The name of the argument that says the types of results."""
        return "out_ty" if self.types else "out_sinfo"

    @property
    def kernels(self) -> str:
        """The version whose TVMScript goes with it."""
        return "0.27" if self.types else "0.14"

    def signature(self, text: str, symbols: Sequence[str]) -> str:
        """Return the text of a type in a signature, where older versions quote sizes."""
        if self.types or not symbols or not text.startswith("R.Tensor(("):
            return text
        shape, end = text[len("R.Tensor((") :].split("), dtype", 1)
        parts = [part if part.strip().isdecimal() else f'"{part}"' for part in shape.rstrip(",").split(", ")]
        return f"R.Tensor({tuple_text(parts)}, dtype{end}"

    def value(self, name: str, value: Any) -> str:
        """Return the text of an argument that is no tensor."""
        match value:
            case Shape():
                return f"R.shape([{', '.join(map(size_text, value))}])"
            case None:
                return "None" if self.types or name not in _DTYPES else '"void"'
            case str():
                return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
            case tuple():
                return tuple_text(self.value("", item) for item in cast("tuple[Any, ...]", value))
            case list():
                return f"[{', '.join(self.value('', item) for item in cast('list[Any]', value))}]"
            case SizeExpr():
                return size_text(value)
            case float() if not isfinite(value):
                return f'T.float64("{value}")'
            case _:
                return repr(value)

    def number(self, value: Any) -> str:
        """Return the text of a number where an expression may stand."""
        text = self.value("", value)
        return text if self.types or value is None else f"R.prim_value({text})"


NEWEST = Spelling("0.27", True)
OLDER = Spelling("0.19", False)
SPELLINGS = {spelling.version: spelling for spelling in (NEWEST, OLDER)}
