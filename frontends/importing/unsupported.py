"""The unsupported operators of a model, all in one error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr

from ...provenance.span import positions
from ...runtime.interpreting.flow import Region
from ...support.errors import FrontendError
from ...support.names import shown
from .node import node_of

_SHOWN = 3
"""The maximal number of layers of an operator that an error names."""
_VERSION = re.compile(r"(?<=[a-z])_?v[0-9]+$")
_LONG = 12
"""The minimal letters of a name that may be a misspelling of another."""


class Call(NamedTuple):
    """A layer that calls an operator."""

    operator: str
    """The name that `custom_ops` takes."""
    layer: str
    line: tuple[str, int] | None = None
    """The file and line of the user's source, if the model records them."""


def source_line(leaf: LocationAttr) -> tuple[str, int] | None:
    """Return the file and line of the user's Python code in a layer's leaf; None if it has a node of the model."""
    innermost = next(iter(positions(leaf)), None)
    return innermost[:2] if innermost is not None and innermost.file.endswith(".py") else None


def unsupported_calls(region: Region, supports: Callable[[str], bool]) -> list[Call]:
    """Return the calls of unsupported operators in a region and in the bodies in it."""
    calls: list[Call] = []
    waiting = [region]
    while waiting:
        for step in waiting.pop().steps:
            waiting += step.bodies.values()
            if not step.kind and not supports((node := node_of(step)).op_type):
                calls.append(Call(node.op_type, step.layer, source_line(node.leaf)))
    return calls


def plain_stem(name: str) -> str:
    """Return the stem that names of one operator share: `fusedbatchnorm` for `FusedBatchNormV3`."""
    return _VERSION.sub("", name.rpartition(".")[2].lower()).replace("_", "")


def refuse(
    file: str,
    frontend: str,
    calls: Sequence[Call],
    supported: Iterable[str],
    stem: Callable[[str], str] = plain_stem,
    instead: str = "",
    reason: Callable[[str], str] = lambda name: "",
    library: str = "",
) -> None:
    """Raise the `refusal` of calls, if there are any."""
    if calls:
        raise refusal(file, frontend, calls, supported, stem=stem, instead=instead, reason=reason, library=library)


def refusal(
    file: str,
    frontend: str,
    calls: Sequence[Call],
    supported: Iterable[str],
    stem: Callable[[str], str] = plain_stem,
    instead: str = "",
    reason: Callable[[str], str] = lambda name: "",
    library: str = "",
) -> FrontendError:
    """Return the error about calls of unsupported operators, with their layers and similar supported operators.

    supported: the names of operators that the frontend imports. stem: returns the common part of names of one operator
    in different versions, overloads or domains. instead: advice if Python functions cannot compute them. reason:
    returns the reason why an operator is not supported, or "". library: a library that can compute them.
    """
    layers: dict[str, list[str]] = {}
    for call in calls:
        line = "" if call.line is None else f" at {shown(call.line[0])}:{call.line[1]}"
        layers.setdefault(call.operator, []).append(shown(call.layer) + line)
    names = list(supported)
    parts: list[str] = []
    for operator, users in sorted(layers.items()):
        similar = nearest(operator, names, stem)
        hint = reason(operator) or (f"{similar} is supported" if similar else "")
        suffix = f"; {hint}" if hint else ""
        count = f"{len(users)} layer{'s' * (len(users) > 1)}"
        parts.append(f"{shown(operator)} ({count}: {_listed(users)}{suffix})")
    first, more = shown(min(layers)), ", .." * (len(layers) > 1)
    advice = instead or f'custom_ops={{"{first}": function{more}}} has functions of yours compute them'
    advice += f', fallback="{library}" that library' if library and not instead else ""
    text = f"The following operators are not supported for frontend {frontend}: {', '.join(parts)}"
    return FrontendError(f"{file}: {text}; {advice}")


def _listed(layers: Sequence[str]) -> str:
    more = f" and {len(layers) - _SHOWN} more" if len(layers) > _SHOWN else ""
    return ", ".join(layers[:_SHOWN]) + more


def nearest(operator: str, supported: Iterable[str], stem: Callable[[str], str] = plain_stem) -> str | None:
    """Return the supported form of an operator: another version, overload or domain, or another spelling of its name.

    None if there is none: a name that only looks similar, as `Asin` beside `Asinh`, is that of another operator.
    """
    root, domain = stem(operator), operator.rpartition(".")[0]
    names = [name for name in supported if name != operator]
    same = [name for name in names if stem(name) == root]
    if same:
        return min(same, key=lambda name: (name.count("."), _distance(name, operator), name))
    spellings = [name for name in names if name.rpartition(".")[0] == domain and _one_word(stem(name), root)]
    return min(spellings, default=None)


def _one_word(a: str, b: str) -> bool:
    """Return whether two names are spellings of one: long, with one letter more inside, or with s for z."""
    if min(len(a), len(b)) < _LONG or a[0] != b[0] or a[-1] != b[-1]:
        return False
    return a.replace("z", "s") == b.replace("z", "s") or (len(a) != len(b) and _distance(a, b) == 1)


def _distance(a: str, b: str) -> int:
    """Return the edit distance of two texts: insertions, deletions and replacements of letters."""
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, other_letter in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other_letter))
    return row[-1]
