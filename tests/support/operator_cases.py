"""Operators to try, each with inputs and attributes: compiled, against their meanings in numpy, and through their text.

All cases of an operator are layers of one model, which is compiled once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from whence.dialects.relay import Relay
from whence.dialects.relay.operator import Operator
from whence.support.dtypes import numpy_of

Array = NDArray[Any]
Check = Callable[..., None]
MakeNet = Callable[..., Any]

FLOATS = ("float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
NUMBERS = (*FLOATS, *INTEGERS)
EVERY = (*NUMBERS, "bool")
IN_TURN = (("int8", "uint16", "int32", "uint64"), ("int16", "uint8", "int64", "uint32"))
"""Every other integer, of both signs: for operators in turn that share how they are computed."""
INF, NAN = np.inf, np.nan
SPECIAL = np.array([-INF, -1000, -90.5, -1.5, -0.5, -0.0, 0, 0.5, 1.5, 2.5, 90.5, 1000, INF, NAN], np.float32)


def random(shape: Sequence[int], dtype: str = "float32") -> Array:
    """Numbers of both signs; integers use the whole range of their type."""
    rng = np.random.default_rng(zlib.crc32(f"{shape}{dtype}".encode()))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    numbers = rng.standard_normal(shape) * 2
    return numbers.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else numpy_of(dtype))


class Case(NamedTuple):
    """One operator with its inputs, of which the last `constants` are constants of the model; None is a missing one."""

    kind: type[Operator]
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any]
    constants: int


class Cases:
    """The operators that a test file tries."""

    def __init__(self) -> None:
        self.by_kind: dict[type[Operator], list[Case]] = {}

    def add(
        self, kind: type[Operator], *inputs: str | Array | np.generic | None, constants: int = 0, **attributes: Any
    ) -> None:
        """Inputs are arrays, None for a missing one, or texts such as `3x5 int8`.

        Of texts, the dtype is float32 when none is given; `scalar` has no dimensions.
        """
        arrays = [given if given is None else _array(given) for given in inputs]
        self.by_kind.setdefault(kind, []).append(Case(kind, tuple(arrays), attributes, constants))

    @property
    def kinds(self) -> list[type[Operator]]:
        return list(self.by_kind)

    def check(self, kind: type[Operator], make_net: MakeNet, check_model: Check) -> None:
        """Compile all cases of an operator as one model, run them, and read the model's text back."""
        cases = self.by_kind[kind]
        given = [[x for x in case.inputs[: len(case.inputs) - case.constants] if x is not None] for case in cases]
        net = make_net(*(array for arrays in given for array in arrays))
        values = iter(net.inputs)
        results: list[Any] = []
        for case in cases:
            first = len(case.inputs) - case.constants
            operands = [x if x is None or at >= first else next(values) for at, x in enumerate(case.inputs)]
            results += net.add_all(case.kind, *operands, **case.attributes)
        module = net.finish(*results)
        same_after_printing(module)
        check_model(module, *(array for arrays in given for array in arrays), levels=(3,))


def _array(given: str | Array | np.generic) -> Array:
    if not isinstance(given, str):
        return np.asarray(given)
    shape, _, dtype = given.partition(" ")
    extents = [] if shape == "scalar" else [int(extent) for extent in shape.split("x")]
    return random(extents, dtype or "float32")


def same_after_printing(module: ModuleOp) -> None:
    """The module is what is read from its text, in its own form and in the generic one."""
    for generic in (False, True):
        text = StringIO()
        Printer(text, print_generic_format=generic).print_op(module)
        context = Context()
        context.load_dialect(Builtin)
        context.load_dialect(Relay)
        again = Parser(context, text.getvalue()).parse_module()
        again.verify()
        # Names of pooled constants' data do not survive; their keys do.
        shown = StringIO()
        Printer(shown, print_generic_format=generic).print_op(again)
        assert shown.getvalue() == text.getvalue()
