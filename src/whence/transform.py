"""Passes by TVM's names, and what makes passes of Python functions: `tvm.transform` and `relay.transform` in one.

>>> from whence import transform
>>> passes = transform.Sequential([transform.SimplifyInference(), transform.FoldConstant()])
>>> better = passes(module)

There is a function for each relay pass of the registry, named as in TVM, with the pass's options as keyword arguments:
it makes the pass. `dir(transform)` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from whence.passes.registry import PASSES, Row
from whence.passes.relay.fold_constant import FoldConstantPass
from whence.passes.relay.merge_composite import MergeCompositePass, MergeGivenComposites
from whence.passes.relay.pattern_table import Table
from whence.passes.transform.passes import FunctionPass as FunctionPass
from whence.passes.transform.passes import ModulePass as ModulePass
from whence.passes.transform.passes import Pass as Pass
from whence.passes.transform.passes import PrintIR as PrintIR
from whence.passes.transform.passes import Sequential as Sequential
from whence.passes.transform.passes import function_pass as function_pass
from whence.passes.transform.passes import module_pass as module_pass
from whence.passes.transform.passes import named
from whence.support.context import PassContext as PassContext
from whence.support.errors import PipelineError
from whence.support.instrument import PassInfo as PassInfo


def _name(row: Row) -> str:
    """`FoldConstant`: TVM's name without dots, or the class's without `Pass`."""
    return row.tvm if row.tvm.isidentifier() else row.home.rpartition(":")[2].removesuffix("Pass")


_ROWS = {_name(row): row for row in PASSES if row.name.startswith("relay-")}


def _maker(name: str, row: Row) -> Callable[..., Pass]:
    def make(*arguments: Any, **options: Any) -> Pass:
        kind = row.load()
        known = [field.name for field in fields(kind)]
        given = dict(zip(known, arguments, strict=False))
        wrong = sorted(set(options) - set(known)) or sorted(set(options) & set(given))
        if wrong or len(arguments) > len(known):
            expected, got = ", ".join(known) or "none", ", ".join(wrong) or f"{len(arguments)} values"
            raise PipelineError(f"transform.{name}: expected options among {expected}, got {got}")
        values: dict[str, Any] = {}
        for key, value in (given | options).items():
            # As options of passes are, which have a text form.
            values[key] = tuple(cast("list[object]", value)) if isinstance(value, list) else value
        try:
            return named(kind(**values), name)
        except TypeError as error:
            raise PipelineError(
                f"transform.{name}: expected all of its options, got {', '.join(values) or 'none'}"
            ) from error

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The pass {row.name}: {row.help}."
    return make


def MergeComposite(pattern_table: Table | str) -> Pass:
    """Operators that an external compiler takes together become composite functions.

    pattern_table: (name, pattern) or (name, pattern, check) for each, the first ones tried first; or the name of a
    compiler, whose registered table it is then.
    """
    if isinstance(pattern_table, str):
        return named(MergeCompositePass(pattern_table))
    return named(MergeGivenComposites(pattern_table))


def FoldConstant(fold_qnn: bool = False) -> Pass:
    """What depends on constants only is computed now; with `fold_qnn` operators on quantised tensors, too."""
    return named(FoldConstantPass(fold_qnn))


def __getattr__(name: str) -> Callable[..., Pass]:
    if name in _ROWS:
        return _maker(name, _ROWS[name])
    raise AttributeError(f"module 'whence.transform' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROWS])
