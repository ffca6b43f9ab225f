"""Types and sizes as Relax writes them: `R.Tensor((n, n * 2), dtype="float32")`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, TensorType, TupleType
from xdsl.ir import Attribute

from ...dialects.element_types import dtype_name
from ...dialects.relay.types import types_in
from ...dialects.sizes import Size, SizeExpr, same, symbols_of
from ...dialects.sizes.terms import Atom, Polynomial
from ...dialects.sizes.types import extents_of
from ...support.errors import FrontendError
from ..relay.type_text import spelled as relay_text


def is_unknown(size: Size) -> bool:
    """Return whether only a run decides an extent."""
    return same(size, DYNAMIC_INDEX)


def spelled(type_: Attribute) -> str:
    """Return the text of a type; raises FrontendError for one that Relax does not have."""
    match type_:
        case TensorType():
            extents, dtype = extents_of(type_), dtype_name(type_.element_type)
            if any(map(is_unknown, extents)):
                return f'R.Tensor(dtype="{dtype}", ndim={len(extents)})'
            return f'R.Tensor({tuple_text(map(size_text, extents))}, dtype="{dtype}")'
        case TupleType():
            return f"R.Tuple({', '.join(map(spelled, type_.types))})"
        case FunctionType():
            (result,) = type_.outputs
            return f"R.Callable({tuple_text(map(spelled, type_.inputs))}, {spelled(result)}, True)"
        case _:
            raise FrontendError(f"Relax: expected tensors, tuples and functions, got {relay_text(type_)}")


def tuple_text(parts: Iterable[str]) -> str:
    """Return a tuple of Python, with a comma for one part."""
    texts = list(parts)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def symbols_in(type_: Attribute) -> list[str]:
    """Return the symbols of all sizes in a type, each once, in order."""
    names: dict[str, None] = {}
    for part in (type_, *types_in(type_)):
        if isinstance(part, TensorType):
            for size in extents_of(cast("TensorType[Attribute]", part)):
                names.update(dict.fromkeys(symbols_of(size)))
    return list(names)


def size_text(size: Size) -> str:
    """Return a size as an expression of Python over its symbols, `n * 2 + 1`."""
    return _polynomial(size.terms) if isinstance(size, SizeExpr) else str(size)


_SIGNS = {"floordiv": "//", "mod": "%"}


def _polynomial(terms: Polynomial) -> str:
    text = ""
    for factors in sorted(terms, key=lambda factors: (-len(factors), factors)):
        number = terms[factors]
        parts = [_atom(atom, len(terms) > 1 or len(factors) > 1 or number != 1) for atom in factors]
        if abs(number) != 1 or not factors:
            parts.append(str(abs(number)))
        sign = (" - " if number < 0 else " + ") if text else "-" if number < 0 else ""
        text += sign + " * ".join(parts)
    return text or "0"


def _atom(atom: Atom, inner: bool) -> str:
    if not atom.kind:
        return atom.text
    first, *rest = map(_polynomial, atom.args)
    if atom.kind in _SIGNS:
        quotient = f"{_bracketed(first)} {_SIGNS[atom.kind]} {_bracketed(rest[0])}"
        return f"({quotient})" if inner else quotient
    for other in rest:
        first = f"T.{atom.kind}({first}, {other})"
    return first


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text
