"""Type rules of operators whose extents are opened, against what they say of numbers.

    python tests/support/opened_rules.py [--draws 100] [--seed 0]

Each case of the tests that compile operators is one with operands of known sizes. In each draw some of its extents
become symbols, of which equal ones may share one, or `?`. What the rule says of symbols must be what it says of numbers
that take their places: the same types, or an error where it asked for what is not so. What it says of `?` fits all
numbers. The exit code is 1 when there is anything else.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any, Protocol

from operator_cases import Array, Cases
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Block
from xdsl.utils.exceptions import VerifyException

from whence.dialects.element_types import tensor_type
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.signature import Signature, Tensor, requirements
from whence.dialects.relay.types import fits
from whence.dialects.sizes import Size, evaluate, symbol
from whence.dialects.sizes.types import extents_of, tensor_of

_LOWERING = Path(__file__).parents[1] / "lowering"
_TIMES = 6
"""The numbers that are tried in the places of symbols."""


def disagreement(kind: type[Operator], sig: Signature, dice: Random) -> str:
    """Return what a rule says of opened extents that it does not say of numbers; "" where there is nothing."""
    values: dict[str, int] = {}
    modes = {extent: dice.choice(("number", "shared", "own")) for type_ in sig.types for extent in type_.get_shape()}

    def opened(extent: int) -> Size:
        if modes[extent] == "number":
            return extent
        name = f"n{extent}" if modes[extent] == "shared" else f"own{len(values)}"
        values[name] = extent
        return symbol(name)

    types = tuple(tensor_of(type_.element_type, list(map(opened, type_.get_shape()))) for type_ in sig.types)
    return _of_symbols(kind, sig, types, values, dice) or _of_none(kind, sig, types)


def _of_symbols(
    kind: type[Operator], sig: Signature, types: tuple[Tensor, ...], values: dict[str, int], dice: Random
) -> str:
    try:
        with requirements() as required:
            general = kind.infer(replace(sig, types=types))
    except VerifyException:
        return ""
    required = [*required, *(extent for type_ in general for extent in extents_of(type_))]
    for _ in range(_TIMES):
        near = {
            name: dice.choice((n, n, 0, 1, n + 1, abs(n - 1), 2 * n, dice.randrange(9))) for name, n in values.items()
        }
        special = replace(sig, types=_at(types, near))
        refused = any(evaluate(size, near) < 0 for size in required)
        try:
            expected = kind.infer(special)
        except VerifyException as error:
            if not refused:
                return f"{sig.op}: takes {_list(types)}, but of {near} {error}"
            continue
        if refused or list(_at(general, near)) != list(expected):
            wanted = "refused" if refused else _list(general)
            return f"{sig.op}: {_list(types)}: {wanted} at {near}, which gives {_list(expected)}"
    return ""


def _at(types: Sequence[Tensor], values: dict[str, int]) -> tuple[Tensor, ...]:
    return tuple(TensorType(t.element_type, [evaluate(size, values) for size in extents_of(t)]) for t in types)


def _of_none(kind: type[Operator], sig: Signature, types: tuple[Tensor, ...]) -> str:
    """What is wrong with a rule's types of extents without names."""
    shapes = [[size if isinstance(size, int) else DYNAMIC_INDEX for size in extents_of(type_)] for type_ in types]
    bare = tuple(TensorType(type_.element_type, shape) for type_, shape in zip(types, shapes, strict=True))
    try:
        general = kind.inferred(replace(sig, types=bare))
    except VerifyException:
        return ""
    special = kind.infer(sig)
    if len(general) == len(special) and all(map(fits, general, special)):
        return ""
    return f"{sig.op}: {_list(bare)} give {_list(general)}, numbers {_list(special)}"


def _list(types: Sequence[Tensor]) -> str:
    return ", ".join(map(str, types))


class Case(Protocol):
    """An operator to try."""

    @property
    def kind(self) -> type[Operator]: ...
    @property
    def inputs(self) -> Sequence[Array | None]: ...
    @property
    def attributes(self) -> dict[str, Any]: ...


def signature_of(case: Case) -> Signature:
    """What the rule of a case's operator looks at."""
    arguments = iter(Block(arg_types=[tensor_type(x) for x in case.inputs if x is not None]).args)
    op = case.kind(*(None if x is None else next(arguments) for x in case.inputs), **case.attributes)
    return op.signature


def all_cases() -> list[Case]:
    """The cases of all test files that compile operators."""
    cases: list[Case] = []
    for path in sorted([*_LOWERING.glob("operators/test_*.py"), *_LOWERING.glob("test_relay_to_te*.py")]):
        spec = spec_from_file_location(f"tried_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        tried = getattr(module, "CASES", ())
        cases += [case for several in tried.by_kind.values() for case in several] if isinstance(tried, Cases) else tried
    return cases


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    dice, cases = Random(options.seed), all_cases()
    signatures = [(case.kind, signature_of(case)) for case in cases for _ in range(options.draws)]
    wrong = {disagreement(kind, sig, dice) for kind, sig in signatures} - {""}
    print(*sorted(wrong), f"{len(signatures)} draws, {len(wrong)} wrong", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
