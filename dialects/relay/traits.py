"""The facts that passes may use about any operator: fusion pattern, traits, kinds of operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute
from xdsl.traits import OpTrait

from ..element_types import is_integer


class OpPattern(IntEnum):
    """The way an operator may fuse (TVM's TOpPattern, with its numbers)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


@dataclass(frozen=True)
class FusionPattern(OpTrait):
    """The fusion pattern of an operator."""

    kind: OpPattern


ELEMWISE = FusionPattern(OpPattern.ELEMWISE)
BROADCAST = FusionPattern(OpPattern.BROADCAST)
INJECTIVE = FusionPattern(OpPattern.INJECTIVE)
COMM_REDUCE = FusionPattern(OpPattern.COMM_REDUCE)
OUT_ELEMWISE_FUSABLE = FusionPattern(OpPattern.OUT_ELEMWISE_FUSABLE)
OPAQUE = FusionPattern(OpPattern.OPAQUE)


@dataclass(frozen=True)
class Pointwise(OpTrait):
    """Each element of the result depends on the operands' elements at its place, which broadcast as numpy's.

    So it computes in any layout that all operands are brought to, and on the parts of operands that repeat.
    """


@dataclass(frozen=True)
class Stateful(OpTrait):
    """It says something about a run, and is not evaluated at compile time (TVM's TOpIsStateful)."""


@dataclass(frozen=True)
class NonComputational(OpTrait):
    """It says how others are to compute, and passes want to see it: it is not evaluated with them unseen (TVM's
    TNonComputational).
    """


@dataclass(frozen=True)
class Mark(OpTrait):
    """It gives its operand as it is: of a tuple it marks every tensor, of what has none nothing."""


@dataclass(frozen=True)
class Neutral(OpTrait):
    """The number that, as the right operand, leaves the left one as it is; as the left one too, if it `commutes`."""

    value: int
    commutes: bool


@dataclass(frozen=True)
class ScaleEquivariant(OpTrait):
    """f(s * x) = s * f(x) for every s > 0."""


@dataclass(frozen=True)
class Flat(OpTrait):
    """Its results are constant wherever they have a derivative, so that no gradient goes through it.

    It speaks of the only operand: an operator of several has a rule, which says it of each. Operators whose results are
    never floats need not say so: no gradient comes to them.
    """


FLAT = Flat()


@dataclass(frozen=True)
class Selects(OpTrait):
    """Its results are among the elements of its first operand, which the places or the order of those decide.

    So it computes on integers what it does on the numbers that they stand for in one scale.
    """


@dataclass(frozen=True)
class Averages(OpTrait):
    """Its results are averages of elements of its first operand, maybe with weights."""


@dataclass(frozen=True)
class Kind:
    """The element types an operator takes, and what an error calls such an operand."""

    noun: str
    holds: Callable[[Attribute], bool]


ANY = Kind("an operand", lambda element: True)
FLOATS = Kind("a float operand", lambda element: not is_integer(element))
INTEGERS = Kind("an operand of integers or booleans", is_integer)
BOOLEANS = Kind("a boolean operand", lambda element: element == i1)
