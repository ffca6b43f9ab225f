"""Pairs of layers of two sessions that are the same: by name, else guessed by their position or their shapes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from ..report import percent
from .document import Session

_NO_LAYER = -1
_FEW = 0.5
"""The share of common names below which two sessions are hardly of one model."""


@dataclass(frozen=True)
class Match:
    """A layer in two sessions, by row; -1 for what a session lacks."""

    first: int
    second: int
    how: Literal["", "name", "position", "shape"]


def aligned(a: Session, b: Session) -> list[Match]:
    """Match layers of one name, then those of one operator at the same position between matched ones, then by shapes.

    Layers match by shapes if their operator, their weights and their results are the same, in order.
    """
    names = _rows_by_name(a), _rows_by_name(b)
    matches = [Match(row, names[1][name], "name") for name, row in names[0].items() if name in names[1]]
    first, second = _places(a, {match.first for match in matches}), _places(b, {match.second for match in matches})
    matches += [Match(row, second.pop(key), "position") for key, row in first.items() if key in second]
    rest = [row for row in first.values() if row not in {match.first for match in matches}]
    others = _shapes(b, list(second.values()))
    for key, row in _shapes(a, rest).items():
        matches.append(Match(row, others.pop(key, _NO_LAYER), "shape"))
    with_shape = {match.first for match in matches}
    matches = [match if match.second >= 0 else Match(match.first, _NO_LAYER, "") for match in matches]
    matches += [Match(row, _NO_LAYER, "") for row in rest if row not in with_shape]
    used = {match.second for match in matches}
    return matches + [Match(_NO_LAYER, row, "") for row in second.values() if row not in used]


def doubt(a: Session, b: Session, matches: list[Match]) -> str:
    """Ask in a sentence whether two sessions are of other models, where few layers have a common name; else ""."""
    fewest = min(len(layer_rows(a)), len(layer_rows(b)))
    common = sum(match.how == "name" for match in matches)
    if not fewest or common >= _FEW * fewest:
        return ""
    return f"{percent(common / fewest)} of the layers have a common name: are these other models?"


def layer_rows(session: Session) -> list[int]:
    """Return the rows of layers, in the order of their sources; tensors belong to theirs."""
    layers = session.layers
    rows = [row for row, owner in enumerate(layers.owner) if owner == row and layers.kind[row] in ("layer", "unknown")]
    return sorted(rows, key=lambda row: (layers.source[row], layers.ordinal[row], row))


def _rows_by_name(session: Session) -> dict[str, int]:
    """Return the first layer of each name."""
    names = session.layers.name
    return {names[row]: row for row in reversed(layer_rows(session)) if names[row]}


def _places(session: Session, matched: set[int]) -> dict[tuple[str, str, int], int]:
    """Place of a layer that no name matches -> its row: the matched layer before it, its operator, and its number."""
    places: dict[tuple[str, str, int], int] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    before, layers = "", session.layers
    for row in layer_rows(session):
        if row in matched:
            before = layers.name[row]
            continue
        key = before, layers.type[row]
        places[*key, numbers[key]] = row
        numbers[key] += 1
    return places


def _shapes(session: Session, rows: list[int]) -> dict[tuple[str, str, int], int]:
    """Operator, shapes of a layer, and its number -> its row; of those rows that a graph has the shapes of."""
    texts: dict[int, str] = {}
    for nodes in (graph.nodes for graph in session.graphs if graph.level == "model"):
        for set_, about, attributes in zip(nodes.set, nodes.about, nodes.attributes, strict=True):
            gives = [text for key, text in attributes if key == "gives"]
            if gives and set_ >= 0:
                texts |= {row: f"{about} -> {gives}" for row in session.sets[set_][:1]}
    shapes: dict[tuple[str, str, int], int] = {}
    numbers: Counter[tuple[str, str]] = Counter()
    for row in rows:
        if row in texts:
            key = session.layers.type[row], texts[row]
            shapes[*key, numbers[key]] = row
            numbers[key] += 1
    return shapes
