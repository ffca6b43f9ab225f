"""Pipelines as text: `relay-fold-constant,relay-fuse-ops{max-depth=4}`; errors say where in it they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from whence.passes.registry import own_name
from whence.support.errors import PipelineError
from whence.support.names import did_you_mean

_CLOSING = {"{": "}", "[": "]", '"': '"'}


class PipelineTextError(PipelineError):
    """A bad text of a pipeline."""

    def __init__(self, text: str, column: int, reason: str) -> None:
        """column: the place that the reason is about, from 0."""
        super().__init__(f'pipeline "{text}", column {column + 1}: {reason}')
        self.column, self.reason = column, reason


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a pipeline between its commas, each with the column (from 0) at which it starts."""
    start, closing, previous = 0, "", ""
    for at, letter in enumerate(f"{text},"):
        if closing:
            # An unfinished bracket runs to the end; parsing the piece then says what is missing.
            if letter == closing and not (closing == '"' and previous == "\\"):
                closing = ""
            elif at == len(text):
                yield _piece(text, start, at)
        elif letter in _CLOSING:
            closing = _CLOSING[letter]
        elif letter == ",":
            yield _piece(text, start, at)
            start = at + 1
        previous = letter


def _piece(text: str, start: int, end: int) -> tuple[int, str]:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), part.strip()


def parse_passes(text: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> tuple[ModulePass, ...]:
    """The passes of a pipeline.

    Raises PipelineTextError for bad syntax, unknown passes and options, and values of the wrong type.
    """
    if not text.strip():
        return ()
    return tuple(_pass(text, column, piece, available) for column, piece in pieces(text))


def _pass(text: str, column: int, piece: str, available: Mapping[str, Callable[[], type[ModulePass]]]) -> ModulePass:
    if not piece:
        raise PipelineTextError(text, column, "expected a pass, got nothing")
    try:
        spec = parse_spec(piece)
    except ArgSpecParseError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise PipelineTextError(text, column, f"cannot read '{piece}': {reason}") from error
    spec = ArgSpec(own_name(spec.name), spec.parameters)
    if spec.name not in available:
        raise PipelineTextError(text, column, f"unknown pass '{spec.name}'" + did_you_mean(spec.name, available))
    try:
        kind = available[spec.name]()
    except Exception as error:
        reason = f"{spec.name}: cannot be loaded: {type(error).__name__}: {error}"
        raise PipelineTextError(text, column, reason) from error
    return _made(text, column, spec, kind)


def _made(text: str, column: int, spec: ArgSpec, kind: type[ModulePass]) -> ModulePass:
    options = {info.name.replace("_", "-"): info.expected_type.strip("'") for info in get_pass_option_infos(kind)}
    for name, values in spec.parameters.items():
        dashed = name.replace("_", "-")
        if dashed not in options:
            names = ", ".join(options) or "none"
            reason = f"unknown option '{name}'{did_you_mean(dashed, options)}; it has {names}"
            raise PipelineTextError(text, column, f"{spec.name}: {reason}")
        try:
            kind.from_spec(ArgSpec(spec.name, {**_required(kind, spec), name: values}))
        except ValueError as error:
            got = ",".join(map(str, values)) or "nothing"
            raise PipelineTextError(
                text, column, f"{spec.name}: {dashed}: expected {options[dashed]}, got {got}"
            ) from error
    try:
        return kind.from_spec(spec)
    except ValueError as error:
        raise PipelineTextError(text, column, str(error)) from error


def _required(kind: type[ModulePass], spec: ArgSpec) -> dict[str, tuple[str | int | bool | float, ...]]:
    """The given options that the pass cannot do without."""
    needed = {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    return {name: values for name, values in spec.parameters.items() if name.replace("-", "_") in needed}
