"""Every match of a pattern becomes a call of a function of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects.relay.core import FuncOp
from ....support.errors import PipelineError
from ...functions import COMPOSITE, is_closed
from ..analysis.traversal import pre_order
from ..outline import Outliner
from ..symbol_names import SymbolNames
from .groups import Check, Group, find_groups
from .matcher import Pattern

PARTITIONED = "PartitionedFromPattern"


def partition(pattern: Pattern, target: ModuleOp | FuncOp, attrs: Mapping[str, object], check: Check) -> ModuleOp:
    """A copy of a module, or of the module of a function, in which matches are calls; see `DFPattern.partition`."""
    if isinstance(target, ModuleOp):
        copy = target.clone()
        partition_in_place(pattern, copy, attrs, check)
        return copy
    module = target.parent_op()
    if not isinstance(module, ModuleOp):
        raise PipelineError(f"partition: expected a function of a module, got @{target.sym_name.data} outside of any")
    index = list(module.ops).index(target)
    copy = module.clone()
    func = list(copy.ops)[index]
    assert isinstance(func, FuncOp)
    partition_function(pattern, func, SymbolNames(copy), attrs, check)
    return copy


def partition_in_place(pattern: Pattern, module: ModuleOp, attrs: Mapping[str, object], check: Check) -> None:
    """Partition all functions of a module that are neither primitive nor closed."""
    names = SymbolNames(module)
    for func in [op for op in module.ops if isinstance(op, FuncOp) and op.primitive is None and not is_closed(op)]:
        partition_function(pattern, func, names, attrs, check)


def partition_function(
    pattern: Pattern, func: FuncOp, names: SymbolNames, attrs: Mapping[str, object], check: Check
) -> None:
    """Partition one function, in place; the new ones follow it."""
    groups = find_groups(pattern, func, check)
    positions = {op: number for number, op in enumerate(pre_order(func))}
    groups.sort(key=lambda group: positions[group.anchor])
    outliner = Outliner()
    functions: list[FuncOp] = []
    # A value that is a result of an earlier group is one of its call's by now.
    moved: dict[SSAValue, SSAValue] = {}
    for group in groups:
        functions.append(_outline(group, outliner, names, attrs, positions, moved))
    outliner.tidy()
    block = func.parent
    assert block is not None
    if functions:
        block.insert_ops_after(functions, func)


def _outline(
    group: Group,
    outliner: Outliner,
    names: SymbolNames,
    attrs: Mapping[str, object],
    positions: Mapping[Operation, int],
    moved: dict[SSAValue, SSAValue],
) -> FuncOp:
    name = group.name
    hint = re.sub(r"\W", "_", str(attrs.get(COMPOSITE, name.rstrip("_"))))
    results = [value for value in group.results if value.first_use is not None] or list(group.results)
    ops = sorted(group.ops, key=positions.__getitem__)
    arguments: list[Any] = [moved.get(value, value) for value in group.arguments]
    func, call = outliner.outline(names.take(hint), ops, arguments, results, {PARTITIONED: name, **attrs}, "Partition")
    moved.update(zip(results, call.results, strict=True))
    return func
