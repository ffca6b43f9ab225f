"""Numbers, texts and variables by TVM's names; numbers and variables are te's."""

from __future__ import annotations

from dataclasses import dataclass

from whence.support.dtypes import check_dtype, fail, is_float
from whence.te.language.expr import Const, constant
from whence.te.language.expr import Var as Variable


def IntImm(dtype: str, value: int) -> Const:
    """Return an integer. Raises ScheduleError for a dtype that is not an integer type or cannot hold it."""
    if is_float(check_dtype(dtype, "tir.IntImm")):
        fail(f"tir.IntImm: expected a dtype of integers, got {dtype}")
    return constant(value, dtype)


def FloatImm(dtype: str, value: float) -> Const:
    """A number of a dtype of floats; raises ScheduleError for another dtype."""
    if not is_float(check_dtype(dtype, "tir.FloatImm")):
        fail(f"tir.FloatImm: expected a dtype of floats, got {dtype}")
    return constant(value, dtype)


@dataclass(frozen=True)
class StringImm:
    """A text."""

    value: str
    dtype: str = "handle"

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return self.value


def Var(name: str, dtype: str = "int32") -> Variable:
    """A variable: of a loop, or a value that a `LetStmt` names; elsewhere a size of buffers."""
    return Variable(name, check_dtype(dtype, "tir.Var"))


SizeVar = Var
