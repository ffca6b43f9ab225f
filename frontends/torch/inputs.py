"""The types of a program's inputs: what the exporter knew, completed by the shapes that the user gives.

A symbol of the exporter, `s77`, has the name of its `torch.export.Dim`, or is called after the input and axis where it
is first met, `x_0`: no file keeps names of `Dim`s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...dialects.sizes import RESERVED, Size, symbol
from ...dialects.sizes.text import identifier
from ...runtime.values.open_specs import OpenSpec
from ..importing.inputs import Inputs
from ..importing.state import State
from .expressions import lone_symbol, parse_expression
from .schema import TensorMeta
from .tensors import dtype_of

_UNBOUNDED = 1 << 60
"""From here on, the greatest value of a symbol stands for none."""


@dataclass(frozen=True)
class Symbol:
    """A symbol of the exporter."""

    called: str
    input: str
    axis: int
    """The first input and axis whose extent it is."""


def symbols_of(metas: Mapping[str, TensorMeta], dims: Mapping[tuple[str, int], str]) -> dict[str, Symbol]:
    """The symbols that are extents of inputs; `dims` are names of these, by input and axis."""
    result: dict[str, Symbol] = {}
    for name, meta in metas.items():
        for axis, size in enumerate(meta.sizes):
            if isinstance(size, str) and (lone := lone_symbol(size)) is not None and lone not in result:
                called = {symbol.called for symbol in result.values()}
                wanted = dims.get((name, axis), "")
                own = wanted.isidentifier() and wanted not in called and wanted not in RESERVED
                result[lone] = Symbol(wanted if own else identifier(f"{name}_{axis}"), name, axis)
    return result


def limits_of(ranges: Mapping[str, tuple[int, int | None]], lone: str) -> tuple[int, int | None]:
    """The least and greatest value of a symbol; None for no greatest."""
    low, high = ranges.get(lone, (0, None))
    return _least(low), None if high is None or high >= _UNBOUNDED else high


def inputs_of(
    file: str,
    metas: Mapping[str, TensorMeta],
    ranges: Mapping[str, tuple[int, int | None]],
    dims: Mapping[tuple[str, int], str],
    states: Sequence[State],
) -> Inputs:
    """Return the inputs of a program, in order, and then what it keeps from call to call."""
    names = {lone: symbol.called for lone, symbol in symbols_of(metas, dims).items()}
    symbols: dict[str, Size] = {lone: symbol(called) for lone, called in names.items()}
    specs: list[OpenSpec] = []
    for name, meta in metas.items():
        what = f"{file}: input '{name}'"
        sizes = [size if isinstance(size, int) else parse_expression(size, symbols, what) for size in meta.sizes]
        extents = [size if isinstance(size, int) else str(size) for size in sizes]
        specs.append(OpenSpec.of(name, extents, dtype_of(meta.dtype, what)))
    specs += [OpenSpec.of(state.name, state.initial.shape, state.initial.dtype) for state in states]
    return Inputs(file, specs, ranges={called: limits_of(ranges, lone) for lone, called in names.items()})


def _least(low: int) -> int:
    """The least value of a symbol: the exporter's 2 is its own assumption that 0 and 1 are special, as torch has it."""
    return low if low > 2 else min(low, 1)
