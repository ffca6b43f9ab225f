"""Loops written in Python, by TVM's names: expressions, statements, `PrimFunc`, and `ir_builder`.

>>> from whence import te, tir
>>> A, B = tir.decl_buffer((128,), name="A"), tir.decl_buffer((128,), name="B")
>>> i = tir.Var("i")
>>> body = tir.For(i, 0, 128, tir.ForKind.VECTORIZED, tir.BufferStore(B, A[i] + 1.0, [i]))
>>> double = whence.build(tir.PrimFunc([A, B], body))

Expressions are those of `whence.te`; a statement is located where it is created. A `PrimFunc` becomes a
`tir.prim_func`, described in docs/tir.md, which has no pointers or blocks of threads.
"""

from __future__ import annotations

import typing
from importlib import import_module

from whence.support.errors import ScheduleError as ScheduleError
from whence.support.names import did_you_mean
from whence.support.rooms import homes_in, name_in
from whence.syntax.relay.type_view import Any as Any
from whence.te.language.blocks import Block as Block
from whence.te.language.blocks import BlockRealize as BlockRealize
from whence.te.language.blocks import BufferRegion as BufferRegion
from whence.te.language.blocks import MatchBufferRegion as MatchBufferRegion
from whence.te.language.expr import Expr as Expr
from whence.te.language.expr import Range as Range
from whence.te.language.externs import call_packed as call_packed
from whence.te.language.intrinsics import CallEffectKind as CallEffectKind
from whence.te.language.intrinsics import call_intrin as call_intrin
from whence.te.language.math import FUNCTIONS
from whence.te.language.statements import Allocate as Allocate
from whence.te.language.statements import AssertStmt as AssertStmt
from whence.te.language.statements import Buffer as Buffer
from whence.te.language.statements import BufferStore as BufferStore
from whence.te.language.statements import Evaluate as Evaluate
from whence.te.language.statements import For as For
from whence.te.language.statements import ForKind as ForKind
from whence.te.language.statements import IfThenElse as IfThenElse
from whence.te.language.statements import LetStmt as LetStmt
from whence.te.language.statements import SeqStmt as SeqStmt
from whence.te.language.statements import Stmt as Stmt
from whence.te.language.statements import StringImm as StringImm
from whence.te.language.statements import While as While
from whence.te.language.statements import decl_buffer as decl_buffer
from whence.tir.function import PrimFunc as PrimFunc
from whence.tir.kinds import KINDS
from whence.tir.tensor_intrin import TensorIntrin as TensorIntrin

call_cpacked = call_packed_lowered = call_cpacked_lowered = call_packed
"""A call of a registered function is one, however TVM lowers it."""
_MODULES = ("analysis", "ir_builder", "schedule", "stmt_functor", "transform")
PrimExpr = Expr
_RENAMED = {"min": "minimum", "max": "maximum"}
_SHARED = tuple(f"whence.te.language.{name}" for name in ("math", "reducers", "externs", "intrinsics"))
"""The modules of te whose names are tir's, too: functions of expressions."""


def __getattr__(name: str) -> typing.Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in homes_in(__name__):
        return name_in(__name__, name)
    if name == "IndexMap":
        return import_module(f"{__name__}.index_map").IndexMap
    if name in ("expr", "op", "stmt"):
        return import_module(__name__)
    if (kind := KINDS.get(name)) is not None:
        return kind
    if name.startswith("__"):
        raise AttributeError(name)
    shared = _RENAMED.get(name, name)
    if shared in FUNCTIONS or homes_in("whence.te").get(shared, "").partition(":")[0] in _SHARED:
        return getattr(import_module("whence.te"), shared)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'{did_you_mean(name, __dir__())}")


def __dir__() -> list[str]:
    shared = [name for name, home in homes_in("whence.te").items() if home.partition(":")[0] in _SHARED]
    own = [name for name in globals() if not name.startswith("_")]
    return sorted({*own, *homes_in(__name__), *_MODULES, *KINDS, *FUNCTIONS, *shared, "IndexMap"})
