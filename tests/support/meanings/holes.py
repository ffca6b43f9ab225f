# pyright: basic
"""Holes in the net: meanings that few formats spell, and rows of the frontends that no meaning reaches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from meanings.meaning import FORMATS, format_of
from meanings.running import FAMILIES, sayable, table, written


@cache
def reached(form: str) -> frozenset[str]:
    """Return the operators of a format that spellings use."""
    operators: set[str] = set()
    for family in FAMILIES:
        for meaning in table(family):
            for way in meaning.spellings:
                if format_of(way) == form:
                    operators |= written(meaning, way, sayable(meaning, way)).operators
    return frozenset(operators)


def rows(form: str) -> set[str]:
    """Return the operators that a frontend has rows for."""
    match form:
        case "onnx":
            from whence.frontends.onnx.convert import DOMAINS

            return set(DOMAINS[""])
        case "keras":
            from whence.frontends.keras.convert import LAYERS, OPERATIONS

            return {*LAYERS, *OPERATIONS}
        case "tflite":
            from whence.frontends.tflite.convert import CONVERTERS as tflite

            return set(tflite)
        case "torch":
            from whence.frontends.torch.convert import CONVERTERS as torch

            return set(torch)
        case "tensorflow":
            from whence.frontends.tensorflow.convert import CONVERTERS as tensorflow

            return set(tensorflow)
        case _:
            from whence.frontends.stablehlo.convert import CONVERTERS as stablehlo

            return set(stablehlo)


def marks() -> Iterator[tuple[str, str, str, str]]:
    """Return family, name and note of each meaning, and a mark for each format.

    `x`: all cases are spelled, `p`: a part of them, `!`: known to be wrong, `o`: the frontend lacks the row,
    `-`: none.
    """
    for family in FAMILIES:
        for meaning in table(family):
            line = ""
            for form in FORMATS:
                if form not in meaning.spellings:
                    line += "o" if form in meaning.lacking else "-"
                elif form in meaning.wrong:
                    line += "!"
                else:
                    line += "x" if len(sayable(meaning, form)) == len(meaning.cases) else "p"
            yield family, meaning.name, line, meaning.note


def filled() -> list[str]:
    """Return the rows that tables say to be lacking, and that are there."""
    return [
        f"{meaning.name}: {form} {operator}"
        for family in FAMILIES
        for meaning in table(family)
        for form, operator in meaning.lacking.items()
        if operator in rows(form)
    ]


def text() -> str:
    """Return the holes as a text: a line for each meaning, then the rows that none reaches."""
    lines = [f"{'':14}{'':36}{' '.join(form[:4].ljust(4) for form in FORMATS)}"]
    for family, name, line, note in marks():
        lines.append(f"{family:14}{name:36}{'    '.join(line)}    {note}".rstrip())
    for form in FORMATS:
        left = sorted(rows(form) - reached(form))
        lines += [
            "",
            f"{form}: {len(rows(form)) - len(left)} of {len(rows(form))} rows are reached; not {' '.join(left)}",
        ]
    return "\n".join(lines)
