"""The words of TVMScript: functions of numbers, loops, statements, and those that mean a machine that is no CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from whence.script.vectors import choice
from whence.support.dtypes import NAMES, is_float
from whence.te.language import math
from whence.te.language.expr import Expr, ExprLike, convert
from whence.te.language.math import FUNCTIONS
from whence.te.language.statements import ForKind
from whence.tir.kinds import KINDS


def _quotient(a: ExprLike, b: ExprLike) -> Expr:
    """The quotient of floats, or that of integers towards zero."""
    return math.divide(a, b) if is_float(convert(a).dtype) else math.truncdiv(a, b)


def _exp10(x: ExprLike) -> Expr:
    """10 to the power of a number."""
    x = convert(x)
    return math.power(convert(10.0).astype(x.dtype), x)


class Word:
    """A word as Python sees it in an annotation: whatever is done with it gives it again."""

    def __init__(self, name: str):
        self._name = name
        self.__name__ = name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Word:
        return self

    def __getitem__(self, index: Any) -> Word:
        return self

    def __repr__(self) -> str:
        return self._name


_NODES = ("Add", "Sub", "Mul", "FloorDiv", "FloorMod", "Mod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE")
CALLS: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    **{name: KINDS[name] for name in (*_NODES, "And", "Or", "Not")},
    "Select": choice,
    "exp10": _exp10,
    "fabs": math.abs,
    "max": math.maximum,
    "min": math.minimum,
    "pow": math.power,
    "Div": _quotient,
    "if_then_else": math.if_then_else,
    "bitwise_not": math.bitwise_not,
    **{
        name: getattr(math, name)
        for name in (
            "abs",
            "all",
            "any",
            "atan2",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "ceildiv",
            "copysign",
            "dot2",
            "dot2_bf16",
            "dot4",
            "floordiv",
            "floormod",
            "fma",
            "fmod",
            "hypot",
            "infinity",
            "isfinite",
            "isinf",
            "isnan",
            "join_bytes",
            "ldexp",
            "likely",
            "max_value",
            "min_value",
            "nextafter",
            "power",
            "shift_left",
            "shift_right",
            "sigmoid",
            "truncdiv",
            "truncmod",
            "widen_pairs",
        )
    },
}
"""Functions of numbers, by the words for them."""
LOOPS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}
BLOCKS = ("block", "sblock")
AXES = {"spatial": 0, "reduce": 2, "scan": 3, "opaque": 4}
LETTERS = {"S": "spatial", "R": "reduce"}
SPECIAL = (
    "Broadcast",
    "Cast",
    "Let",
    "Ramp",
    "Shuffle",
    "address_of",
    "call_extern",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_packed",
    "call_pure_extern",
    "cast",
    "let",
    "masked_load",
    "reinterpret",
    "target",
    "tvm_call_packed",
    "tvm_stack_make_array",
    "tvm_stack_make_shape",
    "undef",
)
"""Functions whose arguments are not all numbers."""
ALLOCATIONS = ("alloc_buffer", "sblock_alloc_buffer")
DECLARATIONS = ("match_buffer", "decl_buffer", "buffer_decl", "allocate", "allocate_const", *ALLOCATIONS)
SIGNATURE = (
    "Buffer",
    "Ptr",
    "handle",
    "func_attr",
    "func_ret",
    "prim_func",
    "macro",
    "var",
    "size_var",
    "meta_var",
    "Var",
    "SizeVar",
)
STATEMENTS = (
    "Assert",
    "LetStmt",
    "assume",
    "attr",
    "axis",
    "bind",
    "block_attr",
    "buffer_store",
    "evaluate",
    "grid",
    "init",
    "masked_store",
    "prefetch",
    "reads",
    "sblock_attr",
    "where",
    "writes",
)
ELSEWHERE = (
    "env_thread",
    "launch_thread",
    "ptx_cp_async",
    "ptx_ldmatrix",
    "ptx_mma",
    "thread_binding",
    "tvm_fill_fragment",
    "tvm_load_matrix_sync",
    "tvm_mma_sync",
    "tvm_storage_sync",
    "tvm_store_matrix_sync",
    "tvm_thread_allreduce",
)
"""Words for the threads and tensor cores of a GPU."""
OTHER_NAMES = {"boolean": "bool", "broadcast": "Broadcast", "buffer": "Buffer", "ramp": "Ramp", "shuffle": "Shuffle"}
"""Words that have a second name."""
WORDS = frozenset(
    (*OTHER_NAMES, *CALLS, *LOOPS, *BLOCKS, *SPECIAL, *DECLARATIONS, *SIGNATURE, *STATEMENTS, *ELSEWHERE, *NAMES)
)
"""All that may follow `T.`, but for dtypes of vectors."""
