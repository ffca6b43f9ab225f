"""Expressions evaluated at once, by the names of TVM's conversion to Python."""

from __future__ import annotations

from typing import Any, NoReturn

from whence.relay.builders import TupleWrapper
from whence.relay.execution import create_executor
from whence.relay.module import IRModule
from whence.support.errors import PipelineError, expectation
from whence.syntax.relay.expr import Expr
from whence.target import TargetLike


def run_as_python(expr: Expr | TupleWrapper, mod: IRModule | None = None, target: TargetLike = "llvm") -> Any:
    """Return the value of an expression: of a function a Python function, else an array, an ADT, a reference ..

    mod: the functions and data types around it. The executor "debug" answers, op by op in numpy. Raises FrontendError
    for free variables, and the errors of the program.
    """
    return create_executor("debug", mod, target=target).evaluate(
        expr.astuple() if isinstance(expr, TupleWrapper) else expr
    )


def to_python(expr: Expr, mod: IRModule | None = None, target: TargetLike = "llvm") -> NoReturn:
    """Raise PipelineError: a program has no text in Python here."""
    raise PipelineError(expectation("to_python", "run_as_python, which gives the value without a text", "to_python"))
