"""Programs as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..support.dtypes import numpy_of
from .index_bounds import IndexBound
from .program import Call, Copy, KernelEntry, Program, Site, Slot
from .sizes import Derived, Number, SizedSpec, Sizes, Solution, Value
from .tensors import TensorSpec

_KINDS = {"io": 0, "param": 1, "arena": 2}
_BY_NUMBER = {number: kind for kind, number in _KINDS.items()}


def saved(program: Program) -> dict[str, object]:
    """Return the data from which `restored` makes the program."""
    return {
        "calls": [
            [
                call.kernel,
                [_saved_slot(slot) for slot in call.inputs],
                [_saved_slot(slot) for slot in call.outputs],
                _saved_slot(call.workspace) if call.workspace is not None else None,
                saved_specs(call.results),
                call.name,
                call.layers,
                call.places,
                *([call.sizes] if program.sizes is not None else []),
            ]
            for call in program.calls
        ],
        "copies": [[_saved_slot(copy.source), _saved_slot(copy.target), copy.nbytes] for copy in program.copies],
        "kernels": [[kernel.symbol, kernel.sites] for kernel in program.kernels],
        "inputs": saved_specs(program.inputs),
        "outputs": saved_specs(program.outputs),
        "arena_bytes": program.arena_bytes,
        **({"indices": list(map(_saved_bound, program.indices))} if program.indices else {}),
        **({} if program.random is None else {"random": program.random}),
        **({} if program.sizes is None else {"sizes": _saved_sizes(program.sizes)}),
    }


def restored(data: Mapping[str, Any]) -> Program:
    """The program that `saved` gave the data of."""
    return Program(
        tuple(
            Call(
                kernel,
                tuple(map(_slot, inputs)),
                tuple(map(_slot, outputs)),
                _slot(workspace) if workspace is not None else None,
                restored_specs(results),
                name,
                tuple(layers),
                tuple(map(tuple, places)),
                *(tuple(map(_number, numbers)) for numbers in sizes),
            )
            for kernel, inputs, outputs, workspace, results, name, layers, places, *sizes in data["calls"]
        ),
        tuple(Copy(_slot(source), _slot(target), _number(nbytes)) for source, target, nbytes in data["copies"]),
        tuple(
            KernelEntry(symbol, tuple(Site(buffer, tuple(slots)) for buffer, slots in sites))
            for symbol, sites in data["kernels"]
        ),
        restored_specs(data["inputs"]),
        restored_specs(data["outputs"]),
        data["arena_bytes"],
        _restored_sizes(data["sizes"]) if "sizes" in data else None,
        tuple(
            IndexBound(at, tuple(map(_number, extents)), tuple(by), *map(tuple, ignored))
            for at, extents, by, *ignored in data.get("indices", ())
        ),
        data.get("random"),
    )


def _saved_bound(bound: IndexBound) -> list[object]:
    return [bound.input, bound.extents, bound.layers, *([] if bound.ignored is None else [bound.ignored])]


def saved_specs(specs: Sequence[TensorSpec]) -> list[list[object]]:
    """Names, shapes and dtypes, which extents are sizes, and which layers take no others."""
    return [
        [
            spec.name,
            spec.shape,
            spec.dtype.name,
            *([spec.numbers, spec.texts] if isinstance(spec, SizedSpec) else []),
            *([spec.layers] if spec.layers else []),
        ]
        for spec in specs
    ]


def restored_specs(data: Sequence[Sequence[Any]]) -> tuple[TensorSpec, ...]:
    """Return the specs whose data `saved_specs` gave."""
    return tuple(_restored_spec(*spec) for spec in data)


def _restored_spec(name: str, shape: Sequence[int], dtype: str, *more: Sequence[Any]) -> TensorSpec:
    *sizes, layers = more if len(more) % 2 else (*more, ())
    by: tuple[tuple[str, ...], ...] = tuple(tuple(names) for names in layers)
    if sizes:
        numbers, texts = sizes
        return SizedSpec(name, tuple(shape), numpy_of(dtype), tuple(map(_number, numbers)), tuple(texts), layers=by)
    return TensorSpec(name, tuple(shape), numpy_of(dtype), layers=by)


def _saved_sizes(sizes: Sizes) -> list[object]:
    return [
        sizes.symbols,
        sizes.ranges,
        [
            [solution.symbol, solution.input, solution.axis, solution.scale, solution.rest]
            for solution in sizes.solutions
        ],
        [[derived.text, derived.layers] for derived in sizes.derived],
        sizes.arena,
    ]


def _restored_sizes(data: Sequence[Any]) -> Sizes:
    symbols, ranges, solutions, derived, arena = data
    return Sizes(
        tuple(symbols),
        tuple((low, high) for low, high in ranges),
        tuple(
            Solution(symbol, number, axis, scale, tuple((c, tuple(factors)) for c, factors in rest))
            for symbol, number, axis, scale, rest in solutions
        ),
        tuple(Derived(text, tuple(layers)) for text, layers in derived),
        arena,
    )


def _saved_slot(slot: Slot) -> list[object]:
    return [_KINDS[slot.kind], slot.at]


def _slot(data: Sequence[Any]) -> Slot:
    return Slot(_BY_NUMBER[data[0]], _number(data[1]))  # pyright: ignore[reportArgumentType]


def _number(data: Any) -> Number:
    """A `Value` is an array of one number in JSON."""
    return data if isinstance(data, int) else Value(*data)
